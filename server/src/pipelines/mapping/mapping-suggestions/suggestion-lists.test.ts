// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnValue, createColumns, type SourceRow } from '../../../formats/input/source-row.ts';
import { findUnsplit, suggestLinks, suggestMapping } from './mapping-suggestions.ts';

function rowsOf(cells: Readonly<Record<string, readonly string[]>>): SourceRow[] {
  const length = Math.max(...Object.values(cells).map((column) => column.length));
  return Array.from({ length }, (_, index) => {
    const values = Object.assign(createColumns<ColumnValue>(), {
      sku: `A${index}`,
      ...Object.fromEntries(Object.entries(cells).map(([name, column]) => [name, column[index] ?? ''])),
    });
    return { number: index + 1, values, source: values };
  });
}

const SHOP = {
  name: ['Cooler one', 'Cooler two', 'Cooler three', 'Cooler four'],
  Socket: ['AM2|AM3|LGA 1150', 'AM3', 'LGA 1150|AM4', 'AM2|AM4'],
  Note: ['Quiet, strong and small', 'Blue, with a fan', 'For cases, that are low', 'New, in a box'],
  Size: ['1,5', '2,5', '3,0', '1,0'],
  Weight: ['10,5 kg', '11,5 kg', '10,5 kg', '12,5 kg'],
  Fits: ['36,37,38', '37,38,39', '36,38,39', '36,37,39'],
  features: ['LED\nPWM', 'PWM', 'LED\nRGB', 'RGB'],
  category_codes: ['coolers,sales,acme', 'coolers,acme', 'sales,coolers', 'acme,coolers'],
  linked_sku: ['A1,A2', 'A0', 'A3,A1', ''],
};

test('lists in a cell are suggested with their evidence; texts and numbers are not (§13.5 rule 11)', () => {
  const { mapping, reasons } = suggestMapping(['sku', ...Object.keys(SHOP)], rowsOf(SHOP));
  assert.deepEqual(mapping.attributes, {
    Socket: { column: 'Socket', split: '|', trim: true },
    Size: { column: 'Size', number: { decimal: 'comma' } },
    features: { column: 'features', split: '\n', trim: true },
    Fits: { column: 'Fits', split: ',', trim: true },
    category_codes: { column: 'category_codes', split: ',', trim: true },
    '*': '*',
  });
  assert.deepEqual(
    reasons
      .filter(({ field }) => field.startsWith('attributes.'))
      .map(({ field, reason }) => [field, reason]),
    [
      ['attributes.Socket', 'the column contains 4 different values, separated by |'],
      ['attributes.Fits', 'the column contains 4 different values, separated by ,'],
      ['attributes.features', 'the column contains 3 different values, separated by line breaks'],
      ['attributes.category_codes', 'the column contains 3 different values, separated by ,'],
    ],
  );
});

test('several flat categories or several paths in one cell are split (§13.5 rule 11)', () => {
  const flat = { name: SHOP.name, categories: SHOP.category_codes };
  assert.deepEqual(suggestMapping(['sku', ...Object.keys(flat)], rowsOf(flat)).mapping.categories, {
    from: { column: 'categories', split: ',', trim: true },
  });
  const paths = {
    name: SHOP.name,
    categories: ['Men/Tops/Hoodies,Collections/New', 'Men/Tops', 'Women/Tops,Collections/New', 'Men/Bags'],
  };
  assert.deepEqual(suggestMapping(['sku', ...Object.keys(paths)], rowsOf(paths)).mapping.categories, {
    from: { column: 'categories', split: ',', trim: true },
    separator: '/',
  });
});

test('columns that look like lists but are mapped as single values are listed (§13.5 rule 11)', () => {
  const columns = ['sku', ...Object.keys(SHOP)];
  const rows = rowsOf(SHOP);
  assert.deepEqual(
    findUnsplit(
      { identifier: 'sku', name: 'name', attributes: { Socket: 'Socket', '*': '*' } },
      rows,
      columns,
    ).map(({ field, separator, values }) => [field, separator, values]),
    [
      ['attributes.Socket', '|', 4],
      ['attributes.Fits', ',', 4],
      ['attributes.features', '\n', 3],
      ['attributes.category_codes', ',', 3],
    ],
  );
  assert.deepEqual(
    findUnsplit({ source: 'sku', targets: 'category_codes' }, rows, columns).map(({ field }) => field),
    ['targets'],
  );
  assert.deepEqual(
    findUnsplit({ source: 'sku', targets: 'category_codes', separator: ',' }, rows, columns),
    [],
  );
});

test('linked_sku suggests links, with the separator of its targets (§13.9)', () => {
  const cells = { ...SHOP, linked_sku: ['A1|A2', 'A0', 'A3|A1', ''] };
  const columns = ['sku', ...Object.keys(cells)];
  const rows = rowsOf(cells);
  assert.deepEqual(suggestLinks(columns, rows, suggestMapping(columns, rows)).mapping, {
    source: 'sku',
    targets: 'linked_sku',
    separator: '|',
  });
});

test('several pictures in one cell are found in a mapping made by hand, as addresses or file names (§13.5 rule 11)', () => {
  const cells = {
    pictures: ['https://x.test/a.jpg,https://x.test/b.jpg?w=1', 'https://x.test/c.jpg'],
    files: ['a 1.jpg;b.png', 'c.webp'],
    one: ['https://x.test/a,b.jpg', 'https://x.test/c.jpg'],
  };
  const find = (column: string) => findUnsplit({ images: column }, rowsOf(cells), Object.keys(cells));
  const message = (separator: string) => `the column contains 3 different values, separated by ${separator}`;
  const found = { field: 'images', values: 3 };
  assert.deepEqual(find('pictures'), [
    { ...found, column: 'pictures', separator: ',', message: message(',') },
  ]);
  assert.deepEqual(find('files'), [{ ...found, column: 'files', separator: ';', message: message(';') }]);
  assert.deepEqual(find('one'), []);
});
