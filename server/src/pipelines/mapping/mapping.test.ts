// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { readAll } from '../../../test/support/formats/format-reading.ts';
import { checkBody } from '../../catalog/products/product-check.ts';
import { type ColumnValue, createColumns, type SourceRow } from '../../formats/input/source-row.ts';
import { compileMapping, type Mapping, MappingProblem, MappingSchema, type PipelineMode } from './mapping.ts';

function makeRow(cells: Record<string, ColumnValue>, number = 2): SourceRow {
  return { number, values: Object.assign(createColumns<ColumnValue>(), cells), source: cells };
}

const mapOne = (mapping: Mapping, cells: Record<string, ColumnValue>, mode: PipelineMode = 'full') =>
  compileMapping(mapping, mode).mapRow(makeRow(cells));

function productOf(mapping: Mapping, cells: Record<string, ColumnValue>, mode: PipelineMode = 'full') {
  const outcome = mapOne(mapping, cells, mode);
  assert.ok('product' in outcome, JSON.stringify(outcome));
  return outcome.product;
}

function problemsOf(mapping: Mapping, cells: Record<string, ColumnValue>, mode: PipelineMode = 'full') {
  const outcome = mapOne(mapping, cells, mode);
  assert.ok('problems' in outcome, JSON.stringify(outcome));
  return outcome.problems;
}

const base = { identifier: 'sku', name: 'title' } as const;
const drill = { sku: 'A1', title: 'Drill' };

test('a row becomes a product in the form of an upload', () => {
  const mapping: Mapping = {
    ...base,
    groupIdentifier: 'parent',
    productUrl: 'url',
    images: ['image', 'more'],
    categories: { from: 'category', separator: ' > ' },
    attributes: { Length: 'len', Colour: 'color' },
  };
  const cells = {
    ...drill,
    parent: 'A',
    url: 'https://s.example/a1',
    image: 'https://s.example/1.jpg',
    unused: 'x',
  };
  const more = {
    more: ['https://s.example/2.jpg', 'https://s.example/1.jpg'],
    category: 'Tools > Drills',
    len: '12 in',
  };
  assert.deepEqual(productOf(mapping, { ...cells, ...more, color: '' }), {
    identifier: 'A1',
    groupIdentifier: 'A',
    name: 'Drill',
    productUrl: 'https://s.example/a1',
    images: [
      { url: 'https://s.example/1.jpg', type: 'LARGE' },
      { url: 'https://s.example/2.jpg', type: 'ALTERNATIVE' },
    ],
    categories: [{ path: ['Tools', 'Drills'] }],
    attributes: [{ key: 'Length', value: '12 in' }],
  });
});

test('"*" takes the columns of a CSV in the order of the file, even columns with numbers as names', async () => {
  const { rows } = await readAll({ type: 'csv' }, 'sku,title,width,2020\nA1,Drill,5,new\n');
  const mapped = rows.map((row) => compileMapping({ ...base, attributes: '*' }, 'full').mapRow(row));
  assert.deepEqual(
    mapped.map((outcome) => 'product' in outcome && outcome.product.attributes),
    [
      [
        { key: 'width', value: '5' },
        { key: '2020', value: 'new' },
      ],
    ],
  );
});

test('"*" takes all columns that are not used otherwise, also in an object beside named columns', () => {
  const cells = { ...drill, parent: 'A', Colour: 'red', len: '12', weight: ['1', '2'], note: 'x', none: '' };
  const all: Mapping = { ...base, groupIdentifier: 'parent', attributes: '*', ignore: ['note'] };
  assert.deepEqual(productOf(all, cells).attributes, [
    { key: 'Colour', value: 'red' },
    { key: 'len', value: '12' },
    { key: 'weight', value: '1' },
    { key: 'weight', value: '2' },
  ]);
  const renamed: Mapping = {
    ...base,
    attributes: { Length: 'len', Sku: 'sku', '*': '*' },
    ignore: ['note', 'parent'],
  };
  assert.deepEqual(productOf(renamed, cells).attributes, [
    { key: 'Length', value: '12' },
    { key: 'Sku', value: 'A1' },
    { key: 'Colour', value: 'red' },
    { key: 'weight', value: '1' },
    { key: 'weight', value: '2' },
  ]);
  const star: Mapping = { ...base, attributes: { '*': 'len' } };
  assert.deepEqual(productOf(star, cells).attributes, [{ key: '*', value: '12' }], 'a column for the key *');
});

test('columns with names of object members, such as constructor, are columns', () => {
  const cells = JSON.parse('{"sku":"A1","title":"Drill","__proto__":"p","constructor":"c","toString":"t"}');
  assert.deepEqual(productOf({ ...base, attributes: '*' }, cells).attributes, [
    { key: '__proto__', value: 'p' },
    { key: 'constructor', value: 'c' },
    { key: 'toString', value: 't' },
  ]);
  const missing = productOf({ ...base, attributes: { A: 'valueOf', B: '__proto__' } }, drill);
  assert.equal(missing.attributes, undefined);
});

const column = (spec: object) => ({ ...base, attributes: { A: spec } }) as Mapping;
const columns: [object, Record<string, ColumnValue>, string[]][] = [
  [{ constant: 'x' }, {}, ['x']],
  [{ columns: ['a', 'b', 'c'] }, { a: '1', b: '', c: '3' }, ['1 3']],
  [{ columns: ['a', 'b'], join: ' x ' }, { a: '1', b: ['2', '3'] }, ['1 x 2 x 3']],
  [{ columns: ['a', 'b'], join: '' }, { a: '1', b: '2' }, ['12']],
  [{ column: 'a' }, { a: ' b ' }, [' b ']],
  [{ column: 'a', trim: true }, { a: ' \u00a0b\t' }, ['b']],
  [{ column: 'a', trim: true }, { a: '   ' }, []],
  [{ column: 'a', split: ',' }, { a: 'x,,y, z' }, ['x', 'y', ' z']],
  [{ column: 'a', split: ',', trim: true }, { a: ' x , y' }, ['x', 'y']],
  [{ column: 'a', split: ',' }, { a: ['x,y', 'z'] }, ['x', 'y', 'z']],
  [{ column: 'a', replace: [{ from: 'n/a', to: '' }] }, { a: 'n/a' }, []],
  [
    {
      column: 'a',
      replace: [
        { from: '"', to: ' in' },
        { from: ',', to: '.' },
      ],
    },
    { a: '2,5"' },
    ['2.5 in'],
  ],
  [
    { column: 'a', replace: [{ from: '(\\d+)x(\\d+)', to: '$2 x $1', regex: true }] },
    { a: '3x4' },
    ['4 x 3'],
  ],
  [{ column: 'a', case: 'upper' }, { a: 'straße' }, ['STRASSE']],
  [{ column: 'a', case: 'lower' }, { a: 'RED' }, ['red']],
  [{ column: 'a', number: { decimal: 'comma' } }, { a: '1.299,00' }, ['1299.00']],
  [{ column: 'a', number: { decimal: 'comma' }, unit: 'cm' }, { a: '1,5' }, ['1.5 cm']],
  [{ column: 'a', unit: 'cm' }, { a: ['1', '2 cm'] }, ['1 cm', '2 cm']],
  [{ column: 'a', number: { decimal: 'comma' }, unit: 'cm' }, { a: '' }, []],
  [{ column: 'a', default: 'none' }, { a: '' }, ['none']],
  [{ column: 'a', default: 'none' }, {}, ['none']],
  [{ column: 'a', trim: true, default: 'none' }, { a: ' ' }, ['none']],
  [{ column: 'a', default: 'none', unit: 'cm' }, {}, ['none']],
  [{ column: 'a', default: '' }, {}, []],
  [{ column: 'a' }, { a: ['', 'x', ''] }, ['x']],
  [{ constant: '' }, {}, []],
];
for (const [spec, cells, values] of columns) {
  test(`${JSON.stringify(spec)} makes ${JSON.stringify(values)} of ${JSON.stringify(cells)}`, () => {
    const { attributes = [] } = productOf(column(spec), { ...drill, ...cells });
    assert.deepEqual(
      attributes.map(({ value }) => value),
      values,
    );
  });
}

test('values of several columns under one key carry the user groups of their column', () => {
  const mapping = { ...base, attributes: { Price: ['price', { column: 'trade', userGroups: ['trade'] }] } };
  assert.deepEqual(productOf(mapping, { ...drill, price: '9', trade: '7' }).attributes, [
    { key: 'Price', value: '9' },
    { key: 'Price', value: '7', userGroups: ['trade'] },
  ]);
});

test('categories are paths, several in a cell or a list, each once and without empty levels', () => {
  const mapping: Mapping = { ...base, categories: { from: { column: 'c', split: ';' }, separator: '>' } };
  const paths = (c: ColumnValue) => productOf(mapping, { ...drill, c }).categories?.map(({ path }) => path);
  assert.deepEqual(paths('A > B;A>C; A > B ;> D >;;'), [['A', 'B'], ['A', 'C'], ['D']]);
  assert.deepEqual(paths(['A', 'B>C']), [['A'], ['B', 'C']]);
  assert.equal(paths(' > '), undefined);
  const whole = productOf({ ...base, categories: { from: 'c' } }, { ...drill, c: 'A > B' });
  assert.deepEqual(whole.categories, [{ path: ['A > B'] }]);
});

test('a mapping can specify the type of an image', () => {
  const mapping: Mapping = { ...base, images: [{ column: 'small', type: 'THUMB' }, 'large'] };
  const { images } = productOf(mapping, { ...drill, small: 's.jpg', large: 'l.jpg' });
  assert.deepEqual(images, [
    { url: 's.jpg', type: 'THUMB' },
    { url: 'l.jpg', type: 'ALTERNATIVE' },
  ]);
});

test('every problem names its field, column and reason, and the row is not mapped', () => {
  const mapping: Mapping = {
    ...base,
    attributes: { Price: { column: 'price', number: { decimal: 'comma' } } },
  };
  assert.deepEqual(mapOne(mapping, { sku: '', title: ['a', 'b'], price: '12 EUR' }), {
    row: 2,
    problems: [
      { field: 'identifier', column: 'sku', reason: 'is empty' },
      { field: 'name', column: 'title', reason: 'has several values; only one is allowed' },
      { field: 'attributes.Price', column: 'price', reason: '"12 EUR" is not a number with a decimal comma' },
    ],
  });
});

test('a report does not grow with the contents of a row', () => {
  const cells = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`c${index}`, 'x\0'.repeat(1_000)]),
  );
  const problems = problemsOf({ ...base, attributes: '*' }, { ...drill, ...cells });
  assert.equal(problems.length, 20);
  const long = problemsOf(column({ column: 'a', number: { decimal: 'point' } }), {
    ...drill,
    a: 'x'.repeat(10_000),
  });
  assert.ok((long[0]?.reason.length ?? 0) < 150);
});

const list = (count: number, text = 'x') => Array.from({ length: count }, (_, index) => `${text}${index}`);
const limits: [string, Mapping, Record<string, ColumnValue>, RegExp][] = [
  ['an identifier', base, { sku: 'x'.repeat(256) }, /^identifier: is longer than 255 characters$/],
  [
    'a group identifier',
    { ...base, groupIdentifier: 'g' },
    { g: 'x'.repeat(256) },
    /^groupIdentifier: .*255/,
  ],
  ['a name', base, { title: 'x'.repeat(1_001) }, /^name: .*1,000/],
  ['a URL', { ...base, productUrl: 'u' }, { u: 'x'.repeat(4_097) }, /^productUrl: .*4,096/],
  ['an image', { ...base, images: 'i' }, { i: 'x'.repeat(4_097) }, /^images: .*4,096/],
  ['the number of images', { ...base, images: 'i' }, { i: list(201) }, /^images: are more than 200/],
  ['a level', { ...base, categories: { from: 'c' } }, { c: 'x'.repeat(1_001) }, /^categories: .*1,000/],
  [
    'the number of levels',
    { ...base, categories: { from: 'c', separator: '/' } },
    { c: list(21).join('/') },
    /20 levels/,
  ],
  [
    'the number of categories',
    { ...base, categories: { from: 'c' } },
    { c: list(101) },
    /more than 100 paths/,
  ],
  ['a value', { ...base, attributes: '*' }, { a: 'x'.repeat(65_537) }, /^attributes\.a: .*65,536/],
  ['a key', { ...base, attributes: '*' }, { ['k'.repeat(256)]: 'x' }, /longer than 255/],
  [
    'the number of attributes',
    { ...base, attributes: { A: 'a' } },
    { a: list(2_001) },
    /^attributes: are more than 2,000/,
  ],
  ['NUL', { ...base, attributes: '*' }, { a: 'a\0b' }, /contains NUL/],
  ['an unpaired surrogate', base, { title: 'a\ud800' }, /unpaired surrogate/],
  ['pieces', column({ column: 'a', split: ',' }), { a: ','.repeat(10_000) }, /more than 10000 values/],
  [
    'a replacement',
    column({ column: 'a', replace: [{ from: 'a', to: 'b'.repeat(900) }] }),
    { a: 'a'.repeat(9_000) },
    /after a replacement/,
  ],
];
for (const [what, mapping, cells, text] of limits) {
  test(`the limit for ${what} rejects the row and names the field`, () => {
    const [problem] = problemsOf(mapping, { ...drill, ...cells });
    assert.match(`${problem?.field}: ${problem?.reason}`, text);
  });
}

test('characters are counted as JSON Schema counts them', () => {
  assert.equal(productOf(base, { ...drill, sku: '😀'.repeat(255) }).identifier.length, 510);
  problemsOf(base, { ...drill, sku: '😀'.repeat(256) });
});

test('mode partial sends only what is mapped, and empty cells change nothing or remove the attribute', () => {
  const mapping: Mapping = {
    identifier: 'sku',
    name: 'title',
    attributes: { Length: 'len', Colour: 'color' },
  };
  const cells = { sku: 'A1', title: '', len: '', color: 'red' };
  assert.deepEqual(productOf(mapping, cells, 'partial'), {
    identifier: 'A1',
    attributes: [{ key: 'Colour', value: 'red' }],
  });
  const removing: Mapping = { ...mapping, emptyCells: 'remove' };
  assert.deepEqual(productOf(removing, cells, 'partial').attributes, [
    { key: 'Length', value: null },
    { key: 'Colour', value: 'red' },
  ]);
  assert.equal(productOf(removing, { sku: 'A1' }, 'partial').attributes, undefined, 'a missing column');
  const rest = productOf(
    { identifier: 'sku', attributes: '*', emptyCells: 'remove' },
    { sku: 'A1', a: '', b: 'x' },
    'partial',
  );
  assert.deepEqual(rest.attributes, [
    { key: 'a', value: null },
    { key: 'b', value: 'x' },
  ]);
  assert.equal(
    productOf({ ...removing, attributes: { L: 'len' } }, { ...drill, len: '' }).attributes,
    undefined,
    'full',
  );
});

test('mode delete uses only the identifier', () => {
  const mapping: Mapping = { identifier: 'sku', name: 'title', attributes: '*' };
  assert.deepEqual(productOf(mapping, { ...drill, sku: 'A1', x: 'y\0' }, 'delete'), { identifier: 'A1' });
});

test('problems that the reader found reject only the rows in which they matter', () => {
  const damaged = (problem: object, mapping: Mapping) =>
    compileMapping(mapping, 'full').mapRow({
      ...makeRow({ ...drill, note: 'x' }, 9),
      problems: [{ code: 'encoding', message: 'these bytes are not text', ...problem }],
    });
  assert.deepEqual(damaged({}, base), {
    row: 9,
    problems: [{ field: 'row', reason: 'these bytes are not text' }],
  });
  const problem = { field: 'row', column: 'note', reason: 'these bytes are not text' };
  assert.deepEqual(damaged({ column: 'note' }, { ...base, attributes: '*' }), {
    row: 9,
    problems: [problem],
  });
  assert.ok('product' in damaged({ column: 'note' }, base), 'a column that the mapping does not read');
  assert.ok('product' in damaged({ column: 'note' }, { ...base, attributes: '*', ignore: ['note'] }));
});

const bad: [object, PipelineMode, RegExp][] = [
  [{}, 'full', /identifier is needed in mode full/],
  [{ identifier: 'sku' }, 'full', /name is needed in mode full/],
  [{ identifier: 'sku' }, 'incremental', /name is needed/],
  [{ identifier: {}, name: 'n' }, 'full', /identifier needs exactly one of/],
  [{ ...base, name: { column: 'a', constant: 'b' } }, 'full', /name needs exactly one of/],
  [{ ...base, name: { column: 'a', join: 'b' } }, 'full', /name has join without columns/],
  [
    { ...base, attributes: { A: { column: 'a', replace: [{ from: '(', to: '', regex: true }] } } },
    'full',
    /attributes\.A: the pattern \( cannot/,
  ],
];
for (const [mapping, mode, text] of bad) {
  test(`the mapping ${JSON.stringify(mapping)} is refused in mode ${mode}`, () => {
    const refused = (error: unknown) => error instanceof MappingProblem && text.test(error.message);
    assert.throws(() => compileMapping(mapping as Mapping, mode), refused);
  });
}

const keys: Mapping[] = [
  { ...base, attributes: { 'a\0': 'x' } },
  { ...base, attributes: { A: { column: 'x', userGroups: ['\ud800'] } } },
];
for (const mapping of keys) {
  test(`${JSON.stringify(mapping)} contains a text that no store accepts, and is refused`, () => {
    assert.throws(() => compileMapping(mapping, 'full'), /contains NUL or an unpaired surrogate/);
  });
}

const misshapen: object[] = [
  { identifier: 1 },
  { identifier: '' },
  { ...base, colour: 'x' },
  { ...base, name: { column: 'a', colour: 'x' } },
  { ...base, name: { column: 'a', number: { decimal: ';' } } },
  { ...base, name: { column: 'a', replace: [{ from: '', to: '' }] } },
  { ...base, name: { column: 'a', replace: Array.from({ length: 21 }, () => ({ from: 'a', to: 'b' })) } },
  { ...base, name: { expression: 'x'.repeat(4_097) } },
  { ...base, categories: 'c' },
  { ...base, categories: { from: 'c', separator: '' } },
  { ...base, images: [] },
  { ...base, attributes: 'all' },
  { ...base, attributes: { [`${'k'.repeat(256)}`]: 'c' } },
  { ...base, attributes: { A: { column: 'a', userGroups: [] } } },
  { ...base, emptyCells: 'null' },
];
for (const mapping of misshapen) {
  test(`${JSON.stringify(mapping).slice(0, 100)} does not fit the schema`, () => {
    assert.ok(!Value.Check(MappingSchema, mapping));
  });
}

test('every mapping of these tests fits the schema', () => {
  const filter = { all: [{ column: 'a', operator: 'exists' }] };
  const all: object[] = [
    { ...base, filter, emptyCells: 'remove', ignore: ['a'] },
    ...columns.map(([spec]) => column(spec)),
  ];
  for (const mapping of [...all, ...limits.map(([, limitedMapping]) => limitedMapping)])
    assert.deepEqual([...Value.Errors(MappingSchema, mapping)], [], JSON.stringify(mapping));
});

const forms = { full: 'products', incremental: 'products', partial: 'patches' } as const;
for (const [mode, form] of Object.entries(forms) as [keyof typeof forms, 'products' | 'patches'][]) {
  test(`the catalog accepts every product that the mapping makes in mode ${mode}, whatever the row contains`, () => {
    const odd = fc.constantFrom('', ' ', 'a > b', '\0', '\ud800', 'x'.repeat(5_000));
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), odd);
    const plain = fc.stringMatching(/^[a-zA-Z0-9 >äß😀]{1,12}$/u);
    const cell = fc.oneof({ weight: 6, arbitrary: plain }, text, fc.array(text, { maxLength: 4 }));
    const names = ['sku', 'title', 'g', 'u', 'i', 'c', 'A', '__proto__', ''];
    const row = fc.tuple(...names.map(() => fc.option(cell, { nil: undefined })));
    const mapping: Mapping = {
      ...base,
      groupIdentifier: { column: 'g', trim: true },
      productUrl: 'u',
      images: ['i', { column: 'u', split: ' ' }],
      categories: { from: 'c', separator: '>' },
      attributes: { Numbers: { column: 'A', default: '7', unit: 'cm' }, '*': '*' },
      emptyCells: 'remove',
    };
    const compiled = compileMapping(mapping, mode);
    let made = 0;
    fc.assert(
      fc.property(row, (cells) => {
        const given = cells.flatMap((value, index) => (value === undefined ? [] : [[names[index], value]]));
        const outcome = compiled.mapRow(makeRow(Object.fromEntries(given)));
        if (!('product' in outcome)) return;
        made += 1;
        const bytes = Buffer.from(JSON.stringify([outcome.product]));
        assert.equal(checkBody({ bytes, encoding: 'identity', maxMib: 64 }, form).sent, 1);
      }),
      { numRuns: 400 },
    );
    assert.ok(made > 40, `${made} rows made a product`);
  });
}
