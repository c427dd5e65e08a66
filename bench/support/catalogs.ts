import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { streamDemoProducts } from '../../server/test/support/demo-shop/demo-shop.ts';
import type { Bench } from './measurement.ts';
import { describeBatch, FIRST_VERSION, identifierOf, type SyntheticVersion } from './synthetic-products.ts';

/** A catalog as request bodies, ready to send. */
export interface BenchCatalog {
  readonly name: string;
  readonly count: number;
  readonly identifiers: readonly string[];
  readonly bodies: readonly Buffer[];
  /** The same products, one in a hundred of them changed. */
  readonly slightlyChanged: readonly Buffer[];
}

export const PRODUCTS_PER_BATCH = 10_000;
/** One product in this many is changed. */
const CHANGED_EVERY = 100;
const DEMO_PRODUCTS = 60_000;

interface AnyProduct {
  identifier: string;
  name: string;
}

/** A real catalog if RELATA_TEST_DATA has one, otherwise that of the demo. */
export function openRealCatalog(bench: Bench): Promise<BenchCatalog> {
  return bench.share('real catalog', async () => {
    const folder = process.env.RELATA_TEST_DATA ?? resolve(import.meta.dirname, '../../../shared/data');
    const path = resolve(folder, 'pc-parts.ndjson.gz');
    const isThere = existsSync(path);
    const lines = isThere ? gunzipSync(readFileSync(path)).toString().trimEnd().split('\n') : listDemo();
    return describeCatalog(isThere ? 'pc-parts' : 'demo', lines);
  });
}

function listDemo(): string[] {
  return Array.from(streamDemoProducts(DEMO_PRODUCTS), (product) => JSON.stringify(product));
}

function describeCatalog(name: string, lines: readonly string[]): BenchCatalog {
  const changed = lines.map((line, at) => (at % CHANGED_EVERY === 0 ? changeName(line) : line));
  return {
    name,
    count: lines.length,
    identifiers: lines.map((line) => (JSON.parse(line) as AnyProduct).identifier),
    bodies: toBodies(lines),
    slightlyChanged: toBodies(changed),
  };
}

function changeName(line: string): string {
  const product = JSON.parse(line) as AnyProduct;
  return JSON.stringify({ ...product, name: `${product.name} (new)` });
}

function toBodies(lines: readonly string[]): Buffer[] {
  const bodies: Buffer[] = [];
  for (let at = 0; at < lines.length; at += PRODUCTS_PER_BATCH) {
    bodies.push(Buffer.from(`{"products":[${lines.slice(at, at + PRODUCTS_PER_BATCH).join(',')}]}`));
  }
  return bodies;
}

export function openSyntheticCatalog(bench: Bench): Promise<BenchCatalog> {
  return bench.share('synthetic catalog', async () => {
    const count = bench.sizes.synthetic;
    return {
      name: `synthetic ${count / 1_000}k`,
      count,
      identifiers: Array.from({ length: count }, (_, index) => identifierOf(index)),
      bodies: [...streamBodies(count, FIRST_VERSION)],
      slightlyChanged: [...streamBodies(count, { version: 2, every: CHANGED_EVERY })],
    };
  });
}

/** Bodies that are made one by one, for catalogs that do not fit into memory. */
export function* streamBodies(count: number, version: SyntheticVersion): Generator<Buffer, void> {
  for (let from = 0; from < count; from += PRODUCTS_PER_BATCH) {
    yield describeBatch({ from, count: Math.min(PRODUCTS_PER_BATCH, count - from), ...version });
  }
}

export const bytesOf = (bodies: readonly Buffer[]) => bodies.reduce((sum, { length }) => sum + length, 0);
