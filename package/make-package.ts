/**
 * Makes `dist/`: the program as `npm pack` includes it, with the console and the documentation. Run by `npm run
 * package`.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleServer } from './bundle-server.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dist');
const PROGRAM = join(DIST, 'server/src');
interface Licence {
  readonly name: string;
  readonly version: string;
  readonly identifier: string;
  readonly text: string;
}

/** @returns the package of a module. Undefined for the modules of Relata. */
function findLicence(module: string): Licence | undefined {
  const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0];
  if (folder === undefined) return undefined;
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [file] = globSync('{LICEN[CS]E,COPYING}*', { cwd: folder });
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
  return { name, version, identifier: license, text };
}

/** MIT, BSD and Apache require their texts beside every copy. */
function writeLicences(modules: readonly string[]): void {
  const ofConsole: Licence[] = JSON.parse(readFileSync(join(ROOT, 'console/dist/licences.json'), 'utf8'));
  const all = [...modules.map(findLicence).filter((one) => one !== undefined), ...ofConsole];
  const each = new Map(all.map((one) => [`${one.name} ${one.version}`, one]));
  const parts = [...each.keys()].sort().map((key) => {
    const { identifier, text } = each.get(key) as Licence;
    return `## ${key} (${identifier})\n\n${text.trim()}\n`;
  });
  writeFileSync(join(DIST, 'THIRD-PARTY-LICENCES.md'), `# Packages in this program\n\n${parts.join('\n')}`);
}

/** Files for browsers, at the place where the service reads them. */
function copyPages(name: 'console' | 'site'): void {
  const built = join(ROOT, name, 'dist');
  if (!existsSync(join(built, 'index.html'))) throw new Error(`${name}/dist is not there: npm run build`);
  cpSync(built, join(DIST, name, 'dist'), {
    recursive: true,
    filter: (path) => !basename(path).startsWith('licences.json'),
  });
}

rmSync(DIST, { recursive: true, force: true });
mkdirSync(PROGRAM, { recursive: true });
copyPages('console');
copyPages('site');
for (const path of ['server/migrations', 'server/demo', 'clients/web', 'docs/openapi.json'])
  cpSync(join(ROOT, path), join(DIST, path), { recursive: true });
const { name, version } = JSON.parse(readFileSync(join(ROOT, 'server/package.json'), 'utf8'));
writeFileSync(join(DIST, 'server/package.json'), `${JSON.stringify({ name, version, type: 'module' })}\n`);
// The search of the documentation.
writeLicences([...(await bundleServer(PROGRAM)), fileURLToPath(import.meta.resolve('minisearch'))]);
