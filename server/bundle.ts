import { globSync } from 'node:fs';
import http from 'node:http';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown';

export type { Plugin };

/** Bundles the program into few files instead of 1,300, which start in a quarter of the processor time. */

export const SOURCE = fileURLToPath(new URL('src/', import.meta.url));
const CLIENT = fileURLToPath(new URL('../client/src/client.ts', import.meta.url));
/** The entry points: the program, its threads and the writer of the control database. */
const STARTED = ['main.ts', 'app/threads/*.ts', 'storage/sqlite/control-writer.ts'];

/** @returns the files that a process or a thread runs */
export const listStarted = (): string[] =>
  globSync(STARTED, { cwd: SOURCE }).map((path) => join(SOURCE, path));

/** Leaves out the native modules of ssh2, which works without them. */
export const leaveNative: Plugin = {
  name: 'leave-native',
  resolveId: (id) => (id === 'cpu-features' || id.endsWith('.node') ? { id, external: true } : null),
};

/** The exports of `node:http` that are plain values. The others are getters that load `fetch` and web sockets. */
const HTTP_NAMES = Object.entries(Object.getOwnPropertyDescriptors(http))
  .filter(([, { value }]) => value !== undefined)
  .map(([name]) => name);

/**
 * Replaces imports of `node:http` with `require`. An import reads all exports, and so loads Node's client of web
 * sockets: 40 ms of processor time and megabytes in each thread, although no thread uses it.
 */
const requireHttp: Plugin = {
  name: 'require-http',
  resolveId: (id, _importer, { kind }) =>
    id === 'node:http' && kind === 'import-statement' ? '\0required-http' : null,
  load: (id) =>
    id === '\0required-http'
      ? `import { createRequire } from 'node:module';
const http = createRequire(import.meta.url)('node:http');
export default http;
export const { ${HTTP_NAMES.join(', ')} } = http;`
      : null,
};

/**
 * CommonJS names that ES modules do not have. Only undeclared uses are renamed, so that a chunk shows where they are.
 */
const FREE_NAMES = { __dirname: 'RELATA_FREE_DIRNAME', __filename: 'RELATA_FREE_FILENAME' };

/** Modules of packages that use such a name although they do not need it, with the reason. */
const NEEDLESS: readonly { readonly module: RegExp; readonly why: string }[] = [
  { module: /\/ssh2\/lib\/protocol\/crypto\/poly1305\.js$/, why: 'its WebAssembly is within the module' },
  { module: /\/ssh2\/lib\/agent\.js$/, why: 'a program for Pageant on Windows; no setting chooses an agent' },
  {
    module: /\/(?:thread-stream\/index|pino\/lib\/transport)\.js$/,
    why: 'workers of transports of the log, which the service does not use',
  },
];

/** Defines the names in these modules as paths that do not exist. */
const nameNoFolder: Plugin = {
  name: 'name-no-folder',
  transform: (code, id) =>
    NEEDLESS.some(({ module }) => module.test(id))
      ? `var __dirname = '/nowhere', __filename = '/nowhere/module.js';${code}`
      : undefined,
};

/** Modules outside the bundle that a package tries to load and does not need. */
const OPTIONAL = /^(?:pg-native|cpu-features|.*\.node)$/;
/** A use of `import.meta` outside of comments. */
const OWN_PLACE = /^(?!\s*(?:\*|\/\/)).*\bimport\.meta\./m;
const REQUIRED = /\b__require\((?:"([^"]*)"|'([^']*)'|`([^`]*)`)?/g;

/**
 * Finds code that works from the source but not from a bundle: names that an ES module does not have, missing modules,
 * and files in the folder of a package's module. Such code fails only when it runs, such as at the first SFTP
 * connection.
 * @returns a line for each problem, with the module
 */
export function listUnbundled(chunks: readonly OutputChunk[]): string[] {
  const problems = chunks.flatMap(({ modules, imports, dynamicImports }) => [
    ...Object.entries(modules).flatMap(([id, { code }]) => listInModule(id, code ?? '')),
    ...[...imports, ...dynamicImports]
      .filter((name) => !name.endsWith('.mjs') && !isThere(name))
      .map((name) => `an import of ${name}, which is not in the bundle`),
  ]);
  return [...new Set(problems)].sort();
}

function listInModule(id: string, code: string): string[] {
  const say = (what: string) => `${id.split('node_modules/').at(-1)}: ${what}`;
  const names = Object.entries(FREE_NAMES).filter(([, mark]) => code.includes(mark));
  const required = [...code.matchAll(REQUIRED)].map(([, ...texts]) =>
    texts.find((text) => text !== undefined),
  );
  return [
    ...names.map(([name]) => say(`uses ${name}, which an ES module does not have`)),
    ...required
      .filter((name) => name === undefined || !isThere(name))
      .map((name) => say(`requires ${name ?? 'a module by a computed name'}, which is not in the bundle`)),
    ...(id.includes('node_modules/') && OWN_PLACE.test(code)
      ? [say('uses import.meta, which is that of the chunk')]
      : []),
  ];
}

const isThere = (name: string) => isBuiltin(name) || OPTIONAL.test(name);

export interface Bundle {
  readonly folder: string;
  readonly entries: readonly string[];
  readonly plugins: readonly Plugin[];
  readonly banner?: OutputOptions['banner'];
  readonly minify?: OutputOptions['minify'];
}

/** Writes the entries at the same paths as below `src/`, and the chunks that they share. */
export async function bundle({ folder, entries, plugins, banner, minify }: Bundle): Promise<OutputChunk[]> {
  const input = Object.fromEntries(
    entries.map((path) => [path.slice(SOURCE.length).replace(/\.ts$/, ''), path]),
  );
  const bundled = await rolldown({
    // Uses the source of the client, because its package may not be built yet when the first tests run.
    resolve: { alias: { '@relata/client': CLIENT } },
    // Our modules have no side effects, so a thread loads only the modules of a room that it uses.
    treeshake: { moduleSideEffects: (id) => !id.startsWith(SOURCE) || entries.includes(id) },
    input,
    platform: 'node',
    plugins: [requireHttp, nameNoFolder, ...plugins],
    transform: { define: FREE_NAMES },
    external: ['pg-native'],
    logLevel: 'silent',
  });
  const { output } = await bundled.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    // Node would have to detect the module syntax in each `.js` file.
    chunkFileNames: '[name]-[hash].mjs',
    strictExecutionOrder: true,
    ...(banner !== undefined && { banner }),
    ...(minify !== undefined && { minify }),
  });
  await bundled.close();
  return output.filter((file) => file.type === 'chunk');
}

/** Writes a bundle as a single file. */
export async function bundleAlone(input: string, file: string): Promise<OutputChunk[]> {
  const bundled = await rolldown({
    input,
    cwd: import.meta.dirname,
    platform: 'node',
    transform: { define: FREE_NAMES },
    logLevel: 'silent',
  });
  const { output } = await bundled.write({ file, format: 'esm' });
  await bundled.close();
  return output.filter((file) => file.type === 'chunk');
}
