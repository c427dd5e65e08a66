import { readAfterPeek, type TextStream } from '../chunks.ts';
import { defineFormat } from '../format.ts';
import { readJson } from '../json/json.ts';
import { readNdjson } from '../ndjson/ndjson.ts';
import type { ReadingNotes, SourceRow } from '../source-row.ts';

export const native = defineFormat({
  type: 'native',
  label: 'Relata',
  description: 'a product in the shape of an upload, in a JSON list or one a line; takes no mapping',
  options: {},
  mapping: 'none',
  endings: [],
  open: ({ decode, notes }) => readNative(decode(), notes),
});

/** Enough to see how the list begins. */
const HEAD_CHARACTERS = 1_024;
const WRAPPED = /^\s*\{\s*"products"\s*:/;
const LIST = /^\s*\[/;

/** Products as an upload takes them: `{"products":[…]}`, the list alone, or a product on each line. They are the `source` of their rows. */
function readNative(text: TextStream, notes: ReadingNotes): AsyncGenerator<readonly SourceRow[]> {
  return readAfterPeek(text, HEAD_CHARACTERS, (head, whole) => {
    if (WRAPPED.test(head)) return readJson(whole, notes, { path: 'products' });
    return LIST.test(head) ? readJson(whole, notes, { path: '$' }) : readNdjson(whole);
  });
}
