// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTempDir, readAll, readInEveryWay } from '../../../test/support/formats/format-reading.ts';

const FILE = `sku,product_type,categories,name,base_image,additional_images,additional_attributes,configurable_variations
MH01-XS-Gray,simple,"Default Category/Men,Default Category/New",Hoodie XS,/m/h.jpg,"/a.jpg,/b.jpg","color=Gray,size=XS,climate=Cool|Mild,note=wash, then dry",
MH01,configurable,Default Category/Men,Hoodie,/m/h.jpg,,"material=Cotton|Wool","sku=MH01-XS-Gray,size=XS,color=Gray|sku=MH01-S-Gray,size=S,color=Gray"
Solo,simple,,Bag,,,,
`;

test('variants are in the group of the product that lists them, which gets none of their values (§13.7)', async (t) => {
  const { rows, unread } = await readInEveryWay({ type: 'magento-csv' }, FILE, createTempDir(t));
  assert.deepEqual(
    rows.map(({ values: { sku, parent_sku, color, size, climate, note, material, categories } }) => ({
      sku,
      parent_sku,
      color,
      size,
      climate,
      note,
      material,
      categories,
    })),
    [
      {
        sku: 'MH01-XS-Gray',
        parent_sku: 'MH01',
        color: 'Gray',
        size: 'XS',
        climate: ['Cool', 'Mild'],
        note: 'wash, then dry',
        material: undefined,
        categories: ['Default Category/Men', 'Default Category/New'],
      },
      {
        sku: 'MH01',
        parent_sku: 'MH01',
        color: undefined,
        size: undefined,
        climate: undefined,
        note: undefined,
        material: ['Cotton', 'Wool'],
        categories: ['Default Category/Men'],
      },
      {
        sku: 'Solo',
        parent_sku: undefined,
        color: undefined,
        size: undefined,
        climate: undefined,
        note: undefined,
        material: undefined,
        categories: undefined,
      },
    ],
  );
  assert.equal(unread.size, 0);
});

test('bytes that are not text are reported, as in any format (§13.7)', async (t) => {
  const file = Buffer.concat([Buffer.from('sku,name\n1,Käse\n2,'), Buffer.from([0xff]), Buffer.from('\n')]);
  const { rows } = await readAll({ type: 'magento-csv' }, file, { tempDir: createTempDir(t) });
  assert.deepEqual(
    rows.map(({ problems = [] }) => problems.map(({ code, column }) => `${code} ${column}`)),
    [[], ['encoding name']],
  );
});
