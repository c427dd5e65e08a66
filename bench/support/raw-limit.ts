/**
 * The maximum of the machine: JSON.parse of the bodies and one insert of each product's document into node:sqlite, on
 * one thread, durable after each batch. The documents are cut out in advance, so the time to write them as text does
 * not count.
 */
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { answerParent } from './child-process.ts';

export interface RawLoad {
  readonly path: string;
  /** Default: those of the last load. */
  readonly bodies?: readonly Uint8Array[];
}

interface RawBatch {
  readonly body: Buffer;
  readonly documents: readonly string[];
}

interface RawProducts {
  products: { identifier: string }[];
}

let batches: readonly RawBatch[] = [];

answerParent<RawLoad>(({ path, bodies }) => {
  if (bodies !== undefined) batches = bodies.map(prepare);
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal; pragma synchronous = full;');
  database.exec('create table product (identifier text primary key, document text)');
  const insert = database.prepare('insert into product values (?, ?)');
  const start = performance.now();
  for (const { body, documents } of batches) {
    const { products } = JSON.parse(body.toString()) as RawProducts;
    database.exec('begin');
    for (const [at, { identifier }] of products.entries()) insert.run(identifier, documents[at] ?? '');
    database.exec('commit');
  }
  const ms = performance.now() - start;
  database.close();
  return ms;
});

function prepare(bytes: Uint8Array): RawBatch {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { products } = JSON.parse(body.toString()) as RawProducts;
  return { body, documents: products.map((product) => JSON.stringify(product)) };
}
