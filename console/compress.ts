/**
 * Writes the compressed forms beside each built file, so that the service never has to compress one.
 * `node compress.ts FOLDER` does this for the console and for the documentation.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const FOLDER = resolve(process.argv[2] ?? '');
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

for (const name of globSync('**/*.{html,js,css,svg,json}', { cwd: FOLDER })) {
  const path = join(FOLDER, name);
  const plain = readFileSync(path);
  for (const [suffix, packed] of [
    ['.br', brotliCompressSync(plain, BROTLI)],
    ['.gz', gzipSync(plain, { level: constants.Z_BEST_COMPRESSION })],
  ] as const)
    if (packed.length < plain.length) writeFileSync(path + suffix, packed);
}
