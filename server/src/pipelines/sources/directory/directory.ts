import { Type } from 'typebox';
import { GLOB_LENGTH, globProblem } from '../glob.ts';
import { defineSource } from '../source-record.ts';
import { openDirectorySource } from './directory-source.ts';

export const directory = defineSource({
  type: 'directory',
  title: 'DirectorySource',
  label: 'A directory of the service',
  description: 'Files in a folder of the machine that the service runs on',
  options: {
    pattern: Type.String({
      minLength: 1,
      maxLength: GLOB_LENGTH,
      'x-label': 'Files',
      description: 'below RELATA_IMPORT_DIR/<projectId>/, with *, ? and ** for folders, as in **/*.csv',
    }),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching files in the order of their names (default), or the newest one alone',
      }),
    ),
  },
  check: ({ pattern }) => ({ pattern: globProblem(pattern) }),
  open: (source, run, { importDir, maxPackedBytes }) =>
    openDirectorySource(source, { ...run, importDir, maxBytes: maxPackedBytes }),
  describe: ({ pattern }) => `files that match ${pattern}`,
});
