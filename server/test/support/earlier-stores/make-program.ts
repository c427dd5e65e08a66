import { fileURLToPath } from 'node:url';
import program from '../../../package.json' with { type: 'json' };
import { packProgram } from './packed-program.ts';

/** Keeps the program of this release, as `npm run build` has made it: CONTRIBUTING.md, "Releases". */
process.stdout.write(
  `${packProgram(program.version, fileURLToPath(new URL('../../../../', import.meta.url)))}\n`,
);
