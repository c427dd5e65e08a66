import { SourceProblem } from './source.ts';
import { defineSource } from './source-record.ts';

/** A file that somebody sends in is meant to be read, whether or not it was sent before. */
export const upload = defineSource({
  type: 'upload',
  title: 'UploadSource',
  label: 'A file that is sent in',
  description: 'A file that is sent in; each file starts a run',
  options: {},
  takesFile: true,
  check: () => ({}),
  async open(_, { upload: file }) {
    if (file === undefined) throw new SourceProblem('no_file', 'No file has been sent in for this run');
    return { files: [file], stamp: undefined, close: async () => {} };
  },
  describe: () => 'the file that was sent in',
});
