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
const MOST_PRODUCTS = 11_500;

// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not read.
type AnyProduct = any;

/** The common part of two catalogs of the same products; each has ids of its own. */
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

/** In parts, as two whole catalogs of answers take most of a gigabyte. */
async function assertSameCatalog(
  projectId: number,
  expected: number,
  identifiers: readonly string[],
): Promise<void> {
  for (let at = 0; at < identifiers.length; at += LOOKUP) {
    const some = identifiers.slice(at, at + LOOKUP);
    const wanted = await describe(expected, some);
    assert.equal(wanted.length, some.length);
    assertSameProducts(await describe(projectId, some), wanted);
  }
}

test('a catalog as csv, xml and xlsx is the same catalog as the upload (§13.1)', async (t) => {
  const { products: all } = readCatalog();
  // From all over the catalog, several batches of them; real-catalog.test.ts writes all of it.
  const step = Math.ceil(all.length / MOST_PRODUCTS);
  const products = all.filter((_, at) => at % step === 0);
  const identifiers = products.map(({ identifier }) => identifier);
  const table: CatalogTable = toTable(products);
  const uploaded = await service().createProject('Uploaded');
  await service().loadCatalog(products, uploaded);

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
      await assertSameCatalog(pipeline.projectId, uploaded, identifiers);
    });
  }
});
