import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { listImports } from './test-files.ts';

/**
 * The program in few files instead of 1,300: a process or thread of it, and a test that imports it, starts in a quarter of
 * the processor time, and a run of all tests starts thousands. What is started or imported is redirected to these files.
 */

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));
const CLIENT = fileURLToPath(new URL('../../client/src/client.ts', import.meta.url));
const WHERE = { cwd: fileURLToPath(new URL('../', import.meta.url)) };

/** What runs in a process or a thread of its own, and what tests import. */
function listEntries(): string[] {
  const started = ['src/main.ts', 'src/app/threads/*.ts', 'src/storage/sqlite/control-writer.ts'];
  const tests = globSync(['src/**/*.test.ts', 'test/**/*.ts'], WHERE).map((path) => join(WHERE.cwd, path));
  const imported = tests.flatMap(listImports).filter((path) => path.startsWith(SOURCE));
  return [...new Set([...globSync(started, WHERE).map((path) => join(WHERE.cwd, path)), ...imported])];
}

/** Files beside a module, such as migrations, are where its source is. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  transform: (code, id) =>
    id.startsWith(SOURCE)
      ? code
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
          .replaceAll(/import\.meta\.resolve\('(\w+)'\)/g, (_, name) =>
            JSON.stringify(import.meta.resolve(name)),
          )
      : undefined,
};

/** A module by itself: it is loaded into processes that get no settings of the test. */
const redirect = (entries: Record<string, string>) => `import { registerHooks } from 'node:module';
const entries = ${JSON.stringify(entries)};
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const url = entries[found.url];
    return url === undefined ? found : { ...found, url };
  },
});`;

/** Packages that stay where they are: one looks for its own files, some of which a machine may have built, others may be absent. */
const leaveOut = {
  name: 'leave-out',
  resolveId: (specifier: string) =>
    specifier === 'ssh2' || /^@opentelemetry\/(?!api)/.test(specifier)
      ? { id: import.meta.resolve(specifier), external: 'absolute' as const }
      : null,
};

/**
 * Writes the program into a folder.
 * @returns what a process of Node has to `--import`, so that the program's processes and threads start from there
 */
export async function bundleProgram(folder: string): Promise<string> {
  const input = Object.fromEntries(
    listEntries().map((path) => [path.slice(SOURCE.length).replace(/\.ts$/, ''), path]),
  );
  const bundle = await rolldown({
    // The client's package is built beside the first tests.
    resolve: { alias: { '@relata/client': CLIENT } },
    ...{
      input,
      platform: 'node',
      plugins: [keepPlaces, leaveOut],
      external: ['pg-native'],
      logLevel: 'silent',
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    // As .js Node would look into each for the syntax of modules.
    chunkFileNames: '[name]-[hash].mjs',
    strictExecutionOrder: true,
  });
  await bundle.close();
  const entries = output.flatMap((file) =>
    file.type === 'chunk' && file.isEntry && file.facadeModuleId !== null
      ? [[pathToFileURL(file.facadeModuleId).href, pathToFileURL(join(folder, file.fileName)).href]]
      : [],
  );
  const hook = join(folder, 'redirect.mjs');
  writeFileSync(hook, redirect(Object.fromEntries(entries)));
  return pathToFileURL(hook).href;
}
