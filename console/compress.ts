/** Puts the packed forms beside each built file, so that the service sends them without packing anything. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const DIST = join(import.meta.dirname, 'dist');
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

for (const name of globSync('{index.html,assets/*.{js,css,svg}}', { cwd: DIST })) {
  const path = join(DIST, name);
  const plain = readFileSync(path);
  for (const [suffix, packed] of [
    ['.br', brotliCompressSync(plain, BROTLI)],
    ['.gz', gzipSync(plain, { level: constants.Z_BEST_COMPRESSION })],
  ] as const)
    if (packed.length < plain.length) writeFileSync(path + suffix, packed);
}
