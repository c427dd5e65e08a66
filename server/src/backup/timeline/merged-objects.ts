import type { Entry, EntryHead } from '../target/target.ts';

/** The combined effect of several objects, without the states between them. */

interface MergedFile {
  /** By page, the last object that contains the page. */
  last: Uint32Array;
  /** The last objects that give the size of the file (`end`), begin it and remove it. */
  end: number;
  begin: number;
  gone: number;
}

/**
 * @returns the combined effect of all objects: the last state of each page. It needs 4 bytes of memory for each page of
 * the changed files.
 */
export async function* mergeObjects(read: (at: number) => AsyncIterable<Entry>, count: number) {
  const files = new Map<string, MergedFile>();
  for (let at = 0; at < count; at += 1) for await (const { head } of read(at)) noteHead(files, head, at);
  for (let at = 0; at < count; at += 1)
    for await (const entry of read(at)) {
      const file = files.get(entry.head.file);
      const left = file && leaveLast(entry, file, at);
      if (left !== undefined) yield left;
    }
}

function noteHead(files: Map<string, MergedFile>, head: EntryHead, at: number): void {
  const unseen = () => ({ last: new Uint32Array(64), end: -1, begin: -1, gone: -1 });
  const file = files.getOrInsertComputed(head.file, unseen);
  if (head.kind === 'pages') notePages(file, head.pages, at);
  else if (head.kind === 'end' || head.kind === 'gone') file[head.kind] = at;
  else if (head.kind === 'begin' || head.at === 0) file.begin = at;
}

function notePages(file: MergedFile, pages: readonly number[], at: number): void {
  const most = Math.max(...pages);
  if (most >= file.last.length) {
    const grown = new Uint32Array(Math.max(most + 1, 2 * file.last.length));
    grown.set(file.last);
    file.last = grown;
  }
  for (const page of pages) file.last[page] = at;
}

function leaveLast(entry: Entry, file: MergedFile, at: number): Entry | undefined {
  const { head, bytes } = entry;
  if (head.kind === 'gone') return entry;
  if (at < file.begin || at < file.gone) return undefined;
  if (head.kind === 'end') return at === file.end ? entry : undefined;
  if (head.kind !== 'pages') return entry;
  const { pageSize } = head;
  const left = head.pages.flatMap((page, index) => (file.last[page] === at ? [{ page, index }] : []));
  if (left.length === head.pages.length) return entry;
  if (left.length === 0) return undefined;
  const parts = left.map(({ index }) => bytes.subarray(index * pageSize, (index + 1) * pageSize));
  return { head: { ...head, pages: left.map(({ page }) => page) }, bytes: Buffer.concat(parts) };
}
