import { join } from 'node:path';
import {
  bundle,
  bundleAlone,
  leaveNative,
  listStarted,
  listUnbundled,
  type Plugin,
  SOURCE,
} from '../server/bundle.ts';

/** The folder for expressions, which run in a process that may read only named files. */
const EXPRESSIONS = 'pipelines/mapping/expressions';

/** Files beside a module are found at the place of its source, below the folder of the bundle. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  transform: (code, id) =>
    id.startsWith(SOURCE)
      ? code
          .replaceAll(
            'import.meta.url',
            `new URL('${id.slice(SOURCE.length).replace(/\.ts$/, '.mjs')}', RELATA_SOURCE).href`,
          )
          .replaceAll(
            /import\.meta\.resolve\('(\w+)'\)/g,
            `new URL('${EXPRESSIONS}/$1.mjs', RELATA_SOURCE).href`,
          )
      : undefined,
};

const sourceAt = ({ fileName }: { fileName: string }) =>
  `const RELATA_SOURCE = new URL('./${'../'.repeat(fileName.split('/').length - 1)}', import.meta.url);`;

/**
 * Writes the program, its threads and the process of expressions into a folder that replaces `server/src`. Files beside
 * it, such as migrations, are found from there.
 * @returns the modules in the folder
 * @throws Error that names each module that works only at its own place
 */
export async function bundleServer(folder: string): Promise<string[]> {
  const plugins = [keepPlaces, leaveNative];
  const chunks = await bundle({ folder, entries: listStarted(), plugins, banner: sourceAt });
  const at = (name: string) => join(folder, EXPRESSIONS, `${name}.mjs`);
  const alone = [
    await bundleAlone(join(SOURCE, EXPRESSIONS, 'expression-process.ts'), at('expression-process')),
    await bundleAlone('jsonata', at('jsonata')),
    await bundleAlone('re2js', at('re2js')),
  ];
  const all = [...chunks, ...alone.flat()];
  const unbundled = listUnbundled(all);
  if (unbundled.length > 0)
    throw new Error(`The bundle would fail at run time (server/bundle.ts):\n${unbundled.join('\n')}`);
  return all.flatMap(({ moduleIds }) => moduleIds);
}
