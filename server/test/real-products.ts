import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { streamDemoProducts } from '../src/cli/demo-catalog/demo-catalog.ts';

/** A product of the catalog's file: every field of the upload shape that the file uses. */
export interface FileProduct {
  identifier: string;
  groupIdentifier: string;
  name: string;
  productUrl: string;
  images: { url: string; type: string }[];
  categories: { path: string[] }[];
  attributes: { key: string; value: string; userGroups?: string[] }[];
}

const DEMO_PRODUCTS = 25_000;

/** The real catalog where it is at hand, else as much of the generated one as makes several batches. */
export function readCatalog(): { products: FileProduct[]; units: Map<string, string> } {
  const folder =
    process.env.RELATA_TEST_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url));
  const file = `${folder}/pc-parts.ndjson.gz`;
  if (!existsSync(file)) return { products: [...streamDemoProducts(DEMO_PRODUCTS)], units: new Map() };
  const lines = gunzipSync(readFileSync(file)).toString().split('\n');
  const units = JSON.parse(readFileSync(`${folder}/pc-parts.units.json`, 'utf8')) as Record<string, string>;
  return {
    products: lines.filter((line) => line !== '').map((line) => JSON.parse(line)),
    units: new Map(Object.entries(units)),
  };
}
