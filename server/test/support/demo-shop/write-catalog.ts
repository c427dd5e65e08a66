import { writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import { generateDemoCatalog } from './demo-shop.ts';

/** `npm run demo-catalog` writes the file that `relata demo` loads. */
const lines = generateDemoCatalog().map((product) => `${JSON.stringify(product)}\n`);
const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
writeFileSync(
  new URL('../../../demo/catalog.ndjson.br', import.meta.url),
  brotliCompressSync(lines.join(''), { params }),
);
