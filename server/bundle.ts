import { globSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown';

export type { Plugin };

/** The program in few files instead of 1,300, which start in a quarter of the processor time: for tests and for npm. */

export const SOURCE = fileURLToPath(new URL('src/', import.meta.url));
const CLIENT = fileURLToPath(new URL('../client/src/client.ts', import.meta.url));
/** The program, its threads and the writer of the control database. */
const STARTED = ['main.ts', 'app/threads/*.ts', 'storage/sqlite/control-writer.ts'];

/** @returns the files that run in a process or a thread of their own */
export const listStarted = (): string[] =>
  globSync(STARTED, { cwd: SOURCE }).map((path) => join(SOURCE, path));

/** What ssh2 uses where a machine has built it: it does without. */
export const leaveNative: Plugin = {
  name: 'leave-native',
  resolveId: (id) => (id === 'cpu-features' || id.endsWith('.node') ? { id, external: true } : null),
};

/** Of `node:http`, all that is there before it is read: the others are those of `fetch` and of web sockets. */
const HTTP_NAMES = Object.entries(Object.getOwnPropertyDescriptors(http))
  .filter(([, { value }]) => value !== undefined)
  .map(([name]) => name);

/**
 * An import reads everything that a module exports, and of `node:http` that loads Node's client of web sockets: 40 ms of processor time
 * and megabytes in each thread of a process, none of which uses it.
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

export interface Bundle {
  readonly folder: string;
  readonly entries: readonly string[];
  readonly plugins: readonly Plugin[];
  readonly banner?: OutputOptions['banner'];
  readonly minify?: OutputOptions['minify'];
}

/** Writes entries, which keep their places below `src/`, and what they share. */
export async function bundle({ folder, entries, plugins, banner, minify }: Bundle): Promise<OutputChunk[]> {
  const input = Object.fromEntries(
    entries.map((path) => [path.slice(SOURCE.length).replace(/\.ts$/, ''), path]),
  );
  const bundled = await rolldown({
    // The client's package is built beside the first tests.
    resolve: { alias: { '@relata/client': CLIENT } },
    // A module of ours does nothing by being loaded, so that a thread loads of a room what it uses and not what is in it.
    treeshake: { moduleSideEffects: (id) => !id.startsWith(SOURCE) || entries.includes(id) },
    input,
    platform: 'node',
    plugins: [requireHttp, ...plugins],
    external: ['pg-native'],
    logLevel: 'silent',
  });
  const { output } = await bundled.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    // As .js Node would look into each for the syntax of modules.
    chunkFileNames: '[name]-[hash].mjs',
    strictExecutionOrder: true,
    ...(banner !== undefined && { banner }),
    ...(minify !== undefined && { minify }),
  });
  await bundled.close();
  return output.filter((file) => file.type === 'chunk');
}

/** Writes a file that needs no other. @returns the modules in it */
export async function bundleAlone(input: string, file: string): Promise<string[]> {
  const bundled = await rolldown({ input, cwd: import.meta.dirname, platform: 'node', logLevel: 'silent' });
  const { output } = await bundled.write({ file, format: 'esm' });
  await bundled.close();
  return output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
}
