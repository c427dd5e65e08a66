import { readAfterPeek, type TextStream } from '../chunks.ts';
import { readJson, readNdjson } from '../json/json.ts';
import type { ReadingNotes, SourceRow } from '../source-row.ts';

/** Enough to see how the list begins. */
const HEAD_CHARACTERS = 1_024;
const WRAPPED = /^\s*\{\s*"products"\s*:/;
const LIST = /^\s*\[/;

/** Products as an upload takes them: `{"products":[…]}`, the list alone, or a product on each line. They are the `source` of their rows. */
export function readNative(text: TextStream, notes: ReadingNotes): AsyncGenerator<readonly SourceRow[]> {
  return readAfterPeek(text, HEAD_CHARACTERS, (head, whole) => {
    if (WRAPPED.test(head)) return readJson(whole, notes, { path: 'products' });
    return LIST.test(head) ? readJson(whole, notes, { path: '$' }) : readNdjson(whole);
  });
}
