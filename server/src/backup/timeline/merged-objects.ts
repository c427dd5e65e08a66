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
export async function* mergeObjects(read: (index: number) => AsyncIterable<Entry>, count: number) {
  const files = new Map<string, MergedFile>();
  for (let objectIndex = 0; objectIndex < count; objectIndex += 1)
    for await (const { head } of read(objectIndex)) noteHead(files, head, objectIndex);
  for (let objectIndex = 0; objectIndex < count; objectIndex += 1)
    for await (const entry of read(objectIndex)) {
      const file = files.get(entry.head.file);
      const left = file && leaveLast(entry, file, objectIndex);
      if (left !== undefined) yield left;
    }
}

function noteHead(files: Map<string, MergedFile>, head: EntryHead, index: number): void {
  const unseen = () => ({ last: new Uint32Array(64), end: -1, begin: -1, gone: -1 });
  const file = files.getOrInsertComputed(head.file, unseen);
  if (head.kind === 'pages') notePages(file, head.pages, index);
  else if (head.kind === 'end' || head.kind === 'gone') file[head.kind] = index;
  else if (head.kind === 'begin' || head.at === 0) file.begin = index;
}

function notePages(file: MergedFile, pages: readonly number[], index: number): void {
  const most = Math.max(...pages);
  if (most >= file.last.length) {
    const grown = new Uint32Array(Math.max(most + 1, 2 * file.last.length));
    grown.set(file.last);
    file.last = grown;
  }
  for (const page of pages) file.last[page] = index;
}

function leaveLast(entry: Entry, file: MergedFile, objectIndex: number): Entry | undefined {
  const { head, bytes } = entry;
  if (head.kind === 'gone') return entry;
  if (objectIndex < file.begin || objectIndex < file.gone) return undefined;
  if (head.kind === 'end') return objectIndex === file.end ? entry : undefined;
  if (head.kind !== 'pages') return entry;
  const { pageSize } = head;
  const left = head.pages.flatMap((page, index) =>
    file.last[page] === objectIndex ? [{ page, index }] : [],
  );
  if (left.length === head.pages.length) return entry;
  if (left.length === 0) return undefined;
  const parts = left.map(({ index }) => bytes.subarray(index * pageSize, (index + 1) * pageSize));
  return { head: { ...head, pages: left.map(({ page }) => page) }, bytes: Buffer.concat(parts) };
}
