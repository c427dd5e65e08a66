import { fileURLToPath } from 'node:url';
import program from '../../../package.json' with { type: 'json' };
import { packProgram } from './packed-program.ts';

/** Saves the program of this release as built by `npm run build`: CONTRIBUTING.md, "Releases". */
process.stdout.write(
  `${packProgram(program.version, fileURLToPath(new URL('../../../../', import.meta.url)))}\n`,
);
