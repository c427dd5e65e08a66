import { isStorableText } from '../../kernel/storable-text.ts';
import type { Operation, StopFlag } from '../../storage/storage.ts';
import { AnswerWriter } from '../ontology/ontology.ts';
import type { AnswerOrder, Frame } from '../port.ts';
import type { CatalogSnapshot, CatalogSnapshots, MeasuredDocument } from '../snapshot.ts';
import { COMMA, refuseLarge, writeAround } from './lookup-answers.ts';

/** The answer of a lookup that would hold up the serving thread: another thread makes all of it. */
export interface MadeAnswers {
  /** Of the catalog. */
  readonly version: number;
  /** The products in their frame, with commas between. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Those that were found, in the order of the request, each with its bytes. */
  readonly products: readonly { readonly identifier: string; readonly length: number }[];
}

/** Uploads that are read at once; a larger one is read alone. */
const READ_AT_ONCE_BYTES = 2 * 1024 * 1024;

/** What the thread that makes long answers can do. */
export function madeAnswerOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  return {
    makeAnswers: async ({ projectId, ...order }: AnswerOrder, stop?: StopFlag) => {
      const output = await snapshots.read(projectId, (snapshot) => makeAnswers(snapshot, order, stop));
      return { output, sharedBytes: output.bytes.length };
    },
  };
}

/** @throws answer_too_large by the sizes of the uploads, before any is read, or once the answers are larger */
async function makeAnswers(
  snapshot: CatalogSnapshot,
  { identifiers, frame }: Omit<AnswerOrder, 'projectId'>,
  stop: StopFlag | undefined,
): Promise<MadeAnswers> {
  const found = await findInOrder(snapshot, identifiers);
  refuseLarge(
    found.reduce((sum, { bytes }) => sum + bytes, 0),
    found.length,
  );
  const write = await openWriter(snapshot);
  const answers: Buffer[] = [];
  let bytes = 0;
  for (const portion of portionsOf(found)) {
    if (stop !== undefined && Atomics.load(stop, 0) !== 0) break;
    const rows = await snapshot.listDocuments(portion.map(({ document }) => document));
    const byDocument = new Map(rows.map((row) => [row.document, row]));
    for (const { document } of portion) {
      const row = byDocument.get(document);
      if (row === undefined) throw new Error(`a snapshot lost its document ${document}`);
      const { head, tail } = writeAround(row);
      const answer = Buffer.concat([Buffer.from(head), await write(row.text), Buffer.from(tail)]);
      bytes += answer.length;
      refuseLarge(bytes, found.length);
      answers.push(answer);
    }
  }
  const products = answers.map(({ length }, at) => ({ identifier: found[at]?.identifier ?? '', length }));
  return { version: await snapshot.readCatalogVersion(), bytes: join(answers, frame), products };
}

/** @returns those of the identifiers that are there, each once */
async function findInOrder(
  snapshot: CatalogSnapshot,
  identifiers: readonly string[],
): Promise<MeasuredDocument[]> {
  const measured = await snapshot.measureDocuments([...new Set(identifiers.filter(isStorableText))]);
  const known = new Map(measured.map((one) => [one.identifier, one]));
  return [...new Set(identifiers)].flatMap((identifier) => known.get(identifier) ?? []);
}

function* portionsOf(found: readonly MeasuredDocument[]): Generator<MeasuredDocument[], void> {
  let portion: MeasuredDocument[] = [];
  let bytes = 0;
  for (const one of found) {
    if (portion.length > 0 && bytes + one.bytes > READ_AT_ONCE_BYTES) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(one);
    bytes += one.bytes;
  }
  if (portion.length > 0) yield portion;
}

/** @returns what writes the answer of an upload, valid until the next one is written */
async function openWriter(snapshot: CatalogSnapshot): Promise<(upload: string) => Promise<Buffer>> {
  const ids = new Map<string, number>();
  let missing: string[] = [];
  const writer = new AnswerWriter((await snapshot.readOntology()).attributes, (path) => {
    const id = ids.get(path);
    if (id === undefined) missing.push(path);
    return id;
  });
  return async (upload) => {
    const raw = Buffer.from(upload);
    missing = [];
    writer.begin();
    const answer = writer.write(raw);
    if (missing.length === 0) return answer;
    for (const [path, id] of await snapshot.findCategories(missing)) ids.set(path, id);
    writer.begin();
    return writer.write(raw);
  };
}

/** In shared memory: the serving thread sends it from there. */
function join(answers: readonly Buffer[], { head, tail }: Frame): Uint8Array<SharedArrayBuffer> {
  const commas = Math.max(answers.length - 1, 0);
  const length = answers.reduce((sum, answer) => sum + answer.length, head.length + commas + tail.length);
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  bytes.set(head);
  let at = head.length;
  for (const answer of answers) {
    if (at > head.length) bytes[at++] = COMMA;
    bytes.set(answer, at);
    at += answer.length;
  }
  bytes.set(tail, at);
  return bytes;
}
