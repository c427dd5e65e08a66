import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { streamDemoProducts } from './demo-shop/demo-shop.ts';

/** A product in the catalog file, with every field of the upload form that the file uses. */
export type FileProduct = {
  identifier: string;
  groupIdentifier: string;
  name: string;
  productUrl: string;
  images: { url: string; type: string }[];
  categories: { path: string[] }[];
  attributes: { key: string; value: string; userGroups?: string[] }[];
};

const DEMO_PRODUCTS = 25_000;
const MOST_PRODUCTS = Number(process.env.RELATA_TEST_PRODUCTS ?? Number.POSITIVE_INFINITY);

export interface ReadCatalog {
  readonly products: FileProduct[];
  /** Values by attribute. Only the real catalog has them. */
  readonly units: ReadonlyMap<string, string>;
  readonly isReal: boolean;
}

/** @returns the folder of the real catalog, if it is available */
export function findRealCatalog(): string | undefined {
  const folder =
    process.env.RELATA_TEST_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
  return existsSync(join(folder, 'pc-parts.ndjson.gz')) ? folder : undefined;
}

/**
 * The real catalog, or that many generated products. The default makes several batches. `most` and RELATA_TEST_PRODUCTS
 * limit the number. The products are a sample of the whole catalog.
 */
export function readCatalog(generated = DEMO_PRODUCTS, most = Number.POSITIVE_INFINITY): ReadCatalog {
  const folder = findRealCatalog();
  if (folder === undefined)
    return {
      products: [...streamDemoProducts(Math.min(generated, MOST_PRODUCTS))],
      units: new Map(),
      isReal: false,
    };
  const lines = gunzipSync(readFileSync(join(folder, 'pc-parts.ndjson.gz')))
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  const step = Math.max(1, Math.ceil(lines.length / Math.min(most, MOST_PRODUCTS)));
  const units = JSON.parse(readFileSync(join(folder, 'pc-parts.units.json'), 'utf8')) as Record<
    string,
    string
  >;
  return {
    products: lines.filter((_, index) => index % step === 0).map((line) => JSON.parse(line)),
    units: new Map(Object.entries(units)),
    isReal: true,
  };
}
