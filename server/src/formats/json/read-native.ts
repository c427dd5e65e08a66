import { defineInputFormat, readAfterPeek } from '../input/input.ts';
import { readJson } from './read-json.ts';
import { readNdjson } from './read-ndjson.ts';

/** The number of characters that suffice to see how the list begins. */
const HEAD_CHARACTERS = 1_024;

/**
 * Products in the form of an upload: `{"products":[…]}`, only the list, or one product per line. Each product is the
 * `source` of its row.
 */
export const native = defineInputFormat({
  type: 'native',
  label: 'Relata',
  description: 'a product in the form of an upload, in a JSON list or one per line; takes no mapping',
  options: {},
  mapping: 'none',
  endings: [],
  open: ({ decode, notes }) =>
    readAfterPeek(decode(), HEAD_CHARACTERS, (head, whole) => {
      if (/^\s*\{\s*"products"\s*:/.test(head)) return readJson(whole, notes, 'products');
      return /^\s*\[/.test(head) ? readJson(whole, notes, '$') : readNdjson(whole);
    }),
});
