import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

/** A product in the shape of an upload request. Source: docs/interface.md §2.3. */
export interface DemoProduct {
  identifier: string;
  groupIdentifier: string;
  name: string;
  productUrl: string;
  images: { url: string; type: 'SMALL' | 'LARGE' | 'THUMB' | 'ALTERNATIVE' }[];
  categories: { path: string[] }[];
  attributes: { key: string; value: string; userGroups?: string[] }[];
}

/** Lines of JSON, packed: 7 MB in 145 KB. */
const PACKED = new URL('../../../demo/catalog.ndjson.br', import.meta.url);

/**
 * @returns the 6,200 products of the demo shop, the variants of a group in a row, each relation of the demo with partners on
 * both sides. server/test/support/demo-shop/ has the generator that made them.
 */
export function readDemoCatalog(): DemoProduct[] {
  const lines = brotliDecompressSync(readFileSync(PACKED)).toString().trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as DemoProduct);
}
