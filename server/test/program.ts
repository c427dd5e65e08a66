import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'rolldown';
import { bundle, listStarted, SOURCE } from '../bundle.ts';
import { listImports } from './runner/test-imports.ts';

/** The bundled program for tests: started and imported sources are redirected to its files. */

const WHERE = { cwd: fileURLToPath(new URL('../', import.meta.url)) };

/** The modules that tests import into their own processes. */
function listImported(): string[] {
  const tests = globSync(['src/**/*.test.ts', '{openapi,test}/**/*.ts'], WHERE).map((path) =>
    join(WHERE.cwd, path),
  );
  return [...new Set(tests.flatMap(listImports).filter((path) => path.startsWith(SOURCE)))];
}

/** Files next to a module, such as migrations, stay with its source. */
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

/**
 * A module without imports, because it is loaded into processes without the test's settings. It redirects imports
 * within the folder directly, which saves a tenth of the load time of a test file.
 */
const redirect = (
  folder: string,
  entries: Record<string, string>,
) => `import { registerHooks } from 'node:module';
const folder = ${JSON.stringify(pathToFileURL(join(folder, '/')).href)};
const entries = ${JSON.stringify(entries)};
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && context.parentURL?.startsWith(folder))
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
    const found = next(specifier, context);
    const url = entries[found.url];
    return url === undefined ? found : { ...found, url };
  },
});`;

/** Packages that are not bundled: one searches its own files, and the others may be built on the machine or absent. */
const leaveOut = {
  name: 'leave-out',
  resolveId: (specifier: string) =>
    specifier === 'ssh2' || /^@opentelemetry\/(?!api)/.test(specifier)
      ? { id: import.meta.resolve(specifier), external: 'absolute' as const }
      : null,
};

/** @returns the URLs of files, by the URLs of their sources */
async function writeBundle(folder: string, entries: readonly string[]): Promise<[string, string][]> {
  const chunks = await bundle({
    folder,
    entries,
    plugins: [keepPlaces, leaveOut],
    // Without comments and spaces, a process starts with a tenth less processor time. Names stay.
    minify: { compress: false, mangle: false, codegen: true },
  });
  return chunks.flatMap(({ isEntry, facadeModuleId, fileName }) =>
    isEntry && facadeModuleId !== null
      ? [[pathToFileURL(facadeModuleId).href, pathToFileURL(join(folder, fileName)).href]]
      : [],
  );
}

/**
 * Writes the program into a folder. Each entry of a process or thread is a separate bundle. Modules that tests import
 * are separate files, about a hundred small ones.
 * @returns the module that Node processes must `--import`, so that the program's processes and threads start from the
 * folder
 */
async function bundleProgram(folder: string): Promise<string> {
  const entries = [
    ...(await writeBundle(join(folder, 'imported'), listImported())),
    ...(await writeBundle(join(folder, 'started'), listStarted())),
  ];
  const hook = join(folder, HOOK);
  writeFileSync(hook, redirect(folder, Object.fromEntries(entries)));
  return pathToFileURL(hook).href;
}

const HOOK = 'redirect.mjs';

/**
 * Hundreds of processes load the same files. Bundled and precompiled, each starts in half the processor time. A runner
 * that is itself tested uses the program that its own runner has made, because making it takes 8 s of processor time.
 * @returns environment variables for Node processes that start while this process runs
 */
export async function prepareProgram(): Promise<{ NODE_COMPILE_CACHE: string; NODE_OPTIONS: string }> {
  const { NODE_COMPILE_CACHE: made, NODE_OPTIONS: options } = process.env;
  if (made !== undefined && options?.includes(pathToFileURL(join(made, 'program', HOOK)).href))
    return { NODE_COMPILE_CACHE: made, NODE_OPTIONS: options };
  const folder = mkdtempSync(join(tmpdir(), 'relata-compiled-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const hook = await bundleProgram(join(folder, 'program'));
  return { NODE_COMPILE_CACHE: folder, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${hook}` };
}
