import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import program from '../../../package.json' with { type: 'json' };
import { listReleases } from './packed-store.ts';

/** The program of a release in one file, so that a clone without history has it. It runs beside the new program. */

const pathOf = (release: string) => fileURLToPath(new URL(`./${release}/program.json.br`, import.meta.url));

/** The files that `npm start` needs in a clone, without the console. */
const FILES = [
  'server/dist/**/*.mjs',
  'server/migrations/*/*.sql',
  'server/package.json',
  'docs/openapi.json',
];

export function packProgram(release: string, root: string): string {
  const files = globSync(FILES, { cwd: root }).sort();
  const texts = Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  mkdirSync(dirname(pathOf(release)), { recursive: true });
  writeFileSync(pathOf(release), brotliCompressSync(JSON.stringify(texts)));
  return pathOf(release);
}

/** @returns the release before this program, and the command's parts that run it */
export function unpackLatest(): { release: string; folder: string; main: string } {
  const release = listReleases().findLast((version) => version !== program.version) ?? '';
  const files = JSON.parse(brotliDecompressSync(readFileSync(pathOf(release))).toString()) as Record<
    string,
    string
  >;
  const folder = mkdtempSync(join(tmpdir(), 'relata-program-'));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return { release, folder, main: join(folder, 'server/dist/main.mjs') };
}
