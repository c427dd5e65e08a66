import { type Budget, type Operation, Passed } from '../../storage/threads/threads.ts';
import { AnswerWriter, type Fact, indexByKey, listFacts } from '../ontology/ontology.ts';
import type { AnswerOrder, CatalogSnapshot, CatalogSnapshots, Frame, MeasuredDocument } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import { createPathIds } from './cached-writer.ts';
import { type MadeAnswer, type MadeAnswers, refuseLarge, tooLarge, writeAround } from './lookup-answers.ts';

/** A lookup that would delay the serving thread, so another thread makes the whole answer. */
export interface MadeOrder extends AnswerOrder {
  /** Memory for the answer, with the size of the largest possible answer. */
  readonly room: Uint8Array<SharedArrayBuffer>;
}

const COMMA = Buffer.from(',');
/** Bytes of uploads that are read together. A larger upload is read alone. */
const READ_AT_ONCE_BYTES = 2 * 1024 * 1024;

/** The operations of the thread that makes long answers. */
export function madeAnswerOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  return {
    makeAnswers: async ({ projectId, ...order }: MadeOrder, budget: Budget) => {
      const answers = await snapshots.read(projectId, budget, (snapshot) => makeAnswers(snapshot, order));
      return new Passed(answers, answers.bytes.length);
    },
  };
}

/** A product as uploaded, with its facts. */
export interface ReadProduct {
  readonly product: UploadedProduct;
  readonly facts: readonly Fact[];
}

/**
 * Reads products in a thread. It parses each upload once and has only one in memory, because an upload has up to 2
 * MB. When ten uploads were written as an answer and parsed again, other lookups waited 149 ms instead of 50 ms.
 * @returns the products that exist, one after another, in the order of the request
 */
export async function* readProducts(
  snapshot: CatalogSnapshot,
  identifiers: readonly string[],
): AsyncGenerator<ReadProduct, void> {
  const { attributes } = await snapshot.readOntology();
  const byKey = indexByKey(attributes);
  for (const portion of portionsOf(await findInOrder(snapshot, identifiers))) {
    const rows = await listByDocument(snapshot, portion);
    for (const { document } of portion) {
      const product = JSON.parse(requireRow(rows, document).text) as UploadedProduct;
      yield { product, facts: listFacts(product.attributes, byKey, true) };
    }
  }
}

/**
 * @throws answer_too_large if the uploads together are too large, before it reads them, or if the answers together are
 * too large
 */
async function makeAnswers(
  snapshot: CatalogSnapshot,
  { identifiers, frame, room }: Omit<MadeOrder, 'projectId'>,
): Promise<MadeAnswers> {
  const documents = await findInOrder(snapshot, identifiers);
  refuseLarge(
    documents.reduce((sum, { bytes }) => sum + bytes, 0),
    documents.length,
  );
  const unknownKeys = new Set<string>();
  const joined = joinProducts(frame, room, documents.length === 1);
  for await (const { about, parts } of writeEach(snapshot, documents, unknownKeys)) joined.add(about, parts);
  const version = await snapshot.readCatalogVersion();
  return { version, unknownKeys, ...joined.end() };
}

/**
 * @param unknownKeys receives the keys without an attribute
 * @returns the parts of each answer, valid until the next one
 */
async function* writeEach(
  snapshot: CatalogSnapshot,
  documents: readonly MeasuredDocument[],
  unknownKeys?: Set<string>,
) {
  const { attributes } = await snapshot.readOntology();
  const paths = createPathIds();
  const writer = new AnswerWriter(attributes, paths.idOf, unknownKeys);
  for (const portion of portionsOf(documents)) {
    const rows = await listByDocument(snapshot, portion);
    for (const { document, identifier } of portion) {
      const row = requireRow(rows, document);
      const { head, tail } = writeAround(row);
      const about = { identifier, document, updatedAt: row.updatedAt };
      const raw = Buffer.from(row.text);
      const make = () => {
        writer.begin();
        return writer.write(raw);
      };
      const answer = await paths.complete(make, snapshot.findCategories);
      yield { about, parts: [Buffer.from(head), answer, Buffer.from(tail)] };
    }
  }
}

/** Joins products in a room. @param isAlone whether there is only one product, which may be larger than the room */
function joinProducts({ head, tail }: Frame, firstRoom: MadeOrder['room'], isAlone: boolean) {
  const products: MadeAnswer[] = [];
  let room = firstRoom;
  let offset = 0;
  function copy(part: Uint8Array): void {
    room.set(part, offset);
    offset += part.length;
  }
  copy(head);
  return {
    /** @throws answer_too_large */
    add(about: Omit<MadeAnswer, 'length'>, parts: readonly Uint8Array[]): void {
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      const whole = offset + 1 + length + tail.length;
      if (whole > room.length) {
        if (!isAlone) throw tooLarge();
        room = new Uint8Array(new SharedArrayBuffer(whole));
        room.set(head);
      }
      if (products.length > 0) copy(COMMA);
      for (const part of parts) copy(part);
      products.push({ ...about, length });
    },
    end(): Pick<MadeAnswers, 'bytes' | 'products'> {
      copy(tail);
      return { bytes: room.subarray(0, offset), products };
    },
  };
}

/** @returns the products that exist, each once, in the order of their identifiers in the list */
async function findInOrder(snapshot: CatalogSnapshot, identifiers: readonly string[]) {
  const each = [...new Set(identifiers)];
  const documentByIdentifier = new Map(
    (await snapshot.measureDocuments(each)).map((document) => [document.identifier, document]),
  );
  return each.flatMap((identifier) => documentByIdentifier.get(identifier) ?? []);
}

/** @returns the rows of a portion by their documents */
async function listByDocument(snapshot: CatalogSnapshot, portion: readonly MeasuredDocument[]) {
  const rows = await snapshot.listDocuments(portion.map(({ document }) => document));
  return new Map(rows.map((row) => [row.document, row]));
}

function requireRow<Row>(rows: ReadonlyMap<number, Row>, document: number): Row {
  const row = rows.get(document);
  if (row === undefined) throw new Error(`a snapshot lost its document ${document}`);
  return row;
}

function* portionsOf(documents: readonly MeasuredDocument[]): Generator<MeasuredDocument[], void> {
  let portion: MeasuredDocument[] = [];
  let bytes = 0;
  for (const document of documents) {
    if (portion.length > 0 && bytes + document.bytes > READ_AT_ONCE_BYTES) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(document);
    bytes += document.bytes;
  }
  if (portion.length > 0) yield portion;
}
