// runs: long, slow (not on postgres: the files of formats; real-catalog.test.ts stores as many products)
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type CatalogTable,
  toCsv,
  toTable,
  toXml,
  toXmlMapping,
  writeXlsx,
} from '../support/catalogs/catalog-files.ts';
import { assertSameProducts } from '../support/compare-products.ts';
import { createPipeline } from '../support/pipelines/pipeline-under-test.ts';
import { readCatalog } from '../support/real-products.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();
const LOOKUP = 1_000;
/**
 * A sample from the whole catalog, several batches long. real-catalog.test.ts writes the whole catalog. Generated
 * products are more alike.
 */
const MOST_PRODUCTS = 11_500;

// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not read.
type AnyProduct = any;

/** The fields that two catalogs of the same products share, because each has its own ids. */
async function describe(projectId: number, identifiers: readonly string[]): Promise<AnyProduct[]> {
  const products: AnyProduct[] = await service().lookUp(identifiers, projectId);
  return products.map(({ identifier, groupId, name, link, images, categories, facts }) => ({
    identifier,
    groupId,
    name,
    link,
    images,
    categories: categories.map(({ path }: AnyProduct) => path),
    facts: facts
      .map(({ attribute, value, type, userGroups = [] }: AnyProduct) =>
        [attribute, value, type, ...userGroups].join(' '),
      )
      .sort(),
  }));
}

/**
 * Compares in parts, because two whole catalogs of answers take most of a gigabyte. @param texts  the expected text of
 * each part
 */
async function assertSameCatalog(
  projectId: number,
  texts: readonly string[],
  identifiers: readonly string[],
): Promise<void> {
  for (const [index, text] of texts.entries()) {
    const described = await describe(projectId, partOf(identifiers, index));
    if (JSON.stringify(described) !== text) assertSameProducts(described, JSON.parse(text));
  }
}

const partOf = (identifiers: readonly string[], index: number) =>
  identifiers.slice(index * LOOKUP, (index + 1) * LOOKUP);

test('a catalog imported as csv, xml or xlsx equals the same catalog uploaded (§13.1)', async (t) => {
  const { products } = readCatalog(3_000, MOST_PRODUCTS);
  const identifiers = products.map(({ identifier }) => identifier);
  const table: CatalogTable = toTable(products);
  const uploaded = await service().createProject('Uploaded');
  await service().loadCatalog(products, uploaded);
  const texts: string[] = [];
  for (let index = 0; index * LOOKUP < identifiers.length; index += 1) {
    const some = partOf(identifiers, index);
    const wanted = await describe(uploaded, some);
    assert.equal(wanted.length, some.length);
    texts.push(JSON.stringify(wanted));
  }

  const folder = mkdtempSync(join(tmpdir(), 'relata-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const book = join(folder, 'catalog.xlsx');
  await writeXlsx(book, table);
  const files = [
    { type: 'csv', mapping: table.mapping, content: () => toCsv(table) },
    { type: 'xml', mapping: toXmlMapping(table), content: () => toXml(table) },
    { type: 'xlsx', mapping: table.mapping, content: () => readFileSync(book) },
  ];
  for (const { type, mapping, content } of files) {
    await t.test(type, async () => {
      const pipeline = await createPipeline(service(), { format: { type }, mapping });
      const task = await pipeline.upload(content(), `catalog.${type}`);
      assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task.error));
      assert.deepEqual((await pipeline.counts()).created, products.length);
      await assertSameCatalog(pipeline.projectId, texts, identifiers);
    });
  }
});
