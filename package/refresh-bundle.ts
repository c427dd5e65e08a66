/**
 * Makes `server/dist/`, the program that a clone runs, if it is missing or older than a source. It is the program of
 * the package, because the source would start more slowly and take twice the memory. It also makes the API page, like
 * `npm run docs`. Run by `npm start` and `npm run build`.
 */
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refreshApiPage } from '../site/api-page.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUNDLE = join(ROOT, 'server/dist');
const MAIN = 'main.mjs';
/** Includes folders, whose time changes when one of their files is removed. */
const SOURCES = ['server/src/**', 'client/src/**', 'server/package.json', '{server,package}/bundle*.ts'];
/** Not checked once the build packages are pruned, because `npm prune` itself writes the file again. */
const LOCK = 'package-lock.json';
const canBundle = existsSync(join(ROOT, 'node_modules/rolldown'));
const DAY_MS = 24 * 3_600_000;

const writtenAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function isFresh(): boolean {
  const bundledAt = writtenAt(join(BUNDLE, MAIN));
  const sources = globSync(canBundle ? [...SOURCES, LOCK] : SOURCES, {
    cwd: ROOT,
    exclude: ['**/*.test.ts'],
  });
  return sources.every((path) => writtenAt(join(ROOT, path)) < bundledAt);
}

/**
 * Files are replaced one at a time, the program last, so two of these may run at the same time. Files that a service of
 * the previous bundle may still load stay for a day.
 */
function putInPlace(made: string): void {
  const files = globSync('**/*.mjs', { cwd: made }).sort((file) => (file === MAIN ? 1 : -1));
  for (const file of files) {
    mkdirSync(dirname(join(BUNDLE, file)), { recursive: true });
    renameSync(join(made, file), join(BUNDLE, file));
  }
  const present = new Set(files);
  for (const file of globSync('**/*.mjs', { cwd: BUNDLE }))
    if (!present.has(file) && writtenAt(join(BUNDLE, file)) < Date.now() - DAY_MS)
      rmSync(join(BUNDLE, file), { force: true });
}

if (!isFresh()) {
  if (!canBundle) {
    process.stderr.write('The program is not built, or older than its source: run npm ci && npm run build\n');
    process.exit(1);
  }
  const { bundleServer } = await import('./bundle-server.ts');
  const begunAt = new Date();
  const made = mkdtempSync(join(ROOT, 'server/dist.part-'));
  try {
    await bundleServer(made);
    // A source that is changed during the build is newer.
    utimesSync(join(made, MAIN), begunAt, begunAt);
    putInPlace(made);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

try {
  refreshApiPage();
} catch (error) {
  // The user of the service may not be the user who installed it, and an older page is not a reason to refuse the
  // start.
  process.stderr.write(`The API page was not written: ${(error as Error).message}\n`);
}
