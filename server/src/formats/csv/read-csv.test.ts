// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  listProblems,
  readAll,
  readCutAnywhere,
  readInEveryWay,
  readValues,
} from '../../../test/support/formats/format-reading.ts';
import { FormatProblem } from '../input/reading-limits.ts';
import { splitCsv } from './split-csv.ts';

const csv = { type: 'csv' } as const;

for (const delimiter of [',', ';', '\t', '|'])
  test(`detects the delimiter ${JSON.stringify(delimiter)}`, async () => {
    const text = 'id;name;price\n1;Drill, 18 V;19,90\n2;Saw | blade;5,00\n'.replaceAll(';', delimiter);
    const quoted = text.split('\n').map((line) =>
      line
        .split(delimiter)
        .map((cell) => `"${cell}"`)
        .join(delimiter),
    );
    const { found, columns } = await readAll(
      csv,
      delimiter === ';' ? text : quoted.join('\n').replaceAll('""', ''),
    );
    assert.deepEqual(columns, ['id', 'name', 'price']);
    assert.equal(found.delimiter, delimiter);
  });

test('a first line such as sep=; names the delimiter and is not a row', async () => {
  const { rows, columns } = await readInEveryWay(csv, 'sep=|\r\nid|name\r\n1|a,b;c\r\n');
  assert.deepEqual(columns, ['id', 'name']);
  assert.deepEqual(
    rows.map(({ number, values }) => [number, values.name]),
    [[3, 'a,b;c']],
  );
});

test('options override detection', async () => {
  const text = "id;name\n1;'a;b'\n";
  assert.deepEqual(await readValues({ ...csv, quote: "'" }, text), [{ id: '1', name: 'a;b' }]);
  assert.deepEqual(
    await readValues({ ...csv, delimiter: '\n'.length === 1 ? ';' : ',', quote: '' }, 'id;name\n1;"a"\n'),
    [{ id: '1', name: '"a"' }],
  );
  assert.deepEqual(await readValues({ type: 'tsv' }, 'id\tname\n1\ta,b\n'), [{ id: '1', name: 'a,b' }]);
});

test('single quotes are detected if they surround all values, and are letters otherwise', async () => {
  const quoted = "'id','name'\n'1','a,b'\n'2','it''s'\n";
  assert.deepEqual(await readValues(csv, quoted), [
    { id: '1', name: 'a,b' },
    { id: '2', name: "it's" },
  ]);
  assert.deepEqual(await readValues(csv, "id,name\n1,'t Zand\n2,rock 'n'\n"), [
    { id: '1', name: "'t Zand" },
    { id: '2', name: "rock 'n'" },
  ]);
});

test('the header may be in a later line, or be missing', async () => {
  const text = 'Price list 2024\n\nid,name\n1,a\n';
  assert.deepEqual(await readValues({ ...csv, headerRow: 2, delimiter: ',' }, text), [
    { id: '1', name: 'a' },
  ]);
  assert.deepEqual(await readValues({ ...csv, headerRow: 0 }, '1,a\n2,b\n'), [
    { 'Column 1': '1', 'Column 2': 'a' },
    { 'Column 1': '2', 'Column 2': 'b' },
  ]);
});

test('repeated names are numbered, nameless columns are named by position, and no name is dangerous', async () => {
  const text = ' id ,Name,Name,,Name 2,Name,__proto__,constructor,toString,\n1,a,b,c,d,e,f,g,h,\n';
  const { rows, columns } = await readAll(csv, text);
  const names = [
    'id',
    'Name',
    'Name 3',
    'Column 4',
    'Name 2',
    'Name 4',
    '__proto__',
    'constructor',
    'toString',
  ];
  assert.deepEqual(columns, names);
  assert.deepEqual(
    names.map((name) => rows[0]?.values[name]),
    ['1', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
  );
  assert.deepEqual(Object.keys(rows[0]?.values ?? {}), names);
  assert.equal(rows[0]?.values.hasOwnProperty, undefined);
  assert.equal(({} as Record<string, unknown>).f, undefined);
});

test('quoted values may contain delimiters, quotes and line breaks; a row has the number of its first line', async () => {
  const text = 'id,text\r\n1,"a, ""b""\r\nc\n\nd"\r\n\r\n2,e\r\n';
  const { rows } = await readCutAnywhere(csv, text);
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [
      { number: 2, id: '1', text: 'a, "b"\r\nc\n\nd' },
      { number: 7, id: '2', text: 'e' },
    ],
  );
});

test('lines may end in \\r\\n, \\n or, throughout, in \\r, and the last line may have no end', async () => {
  const expected = [
    { id: '1', name: 'a' },
    { id: '2', name: 'b' },
  ];
  for (const text of [
    'id,name\r\n1,a\r\n2,b\r\n',
    'id,name\r\n1,a\n2,"b"\r\n',
    'id,name\r1,a\r2,b',
    'id,name\n1,a\n2,b',
  ])
    assert.deepEqual(
      (await readCutAnywhere(csv, text)).rows.map(({ values }) => ({ ...values })),
      expected,
    );
});

test('a row with too few or too many values is reported, and the other rows are read', async () => {
  const text = 'id,name,brand\n1,a,b\n2,c\n3,d,e,f\n4,g,h,,\n,,\n5,i,j\n';
  const { rows } = await readInEveryWay(csv, text);
  assert.deepEqual(listProblems(rows), [
    '3 field_count 2 values for 3 columns',
    '4 field_count 4 values for 3 columns',
  ]);
  assert.deepEqual(
    rows.map(({ values }) => values.id),
    ['1', '2', '3', '4', '5'],
  );
});

test('a lone quote invalidates only its own line', async () => {
  const text = [
    'id;name',
    '1;a',
    '2;"5" disk"',
    '3;"open',
    '4;"b"',
    '5;"c;d"',
    '6;3,5" disk',
    '7;"never closed',
    '8;e',
  ];
  const { rows } = await readInEveryWay(csv, `${text.join('\n')}\n`);
  assert.deepEqual(listProblems(rows), [
    '3 quote a quote (") inside a quoted value is not doubled; write it twice',
    '4 quote a quote (") is opened and not closed',
    '8 quote a quote (") is opened and not closed',
  ]);
  assert.deepEqual(
    rows.filter(({ problems }) => problems === undefined).map(({ values }) => [values.id, values.name]),
    [
      ['1', 'a'],
      ['4', 'b'],
      ['5', 'c;d'],
      ['6', '3,5" disk'],
      ['8', 'e'],
    ],
  );
});

test('a lone quote in the header ends the reading, with its line', async () => {
  await assert.rejects(readAll(csv, 'id,"na"me\n1,a\n'), {
    name: 'FormatProblem',
    reason: 'damaged',
    line: 1,
  });
});

test('a file of lone quotes is abandoned before the time becomes quadratic', async () => {
  const lines = '"a\n'.repeat(40_000);
  const before = process.cpuUsage();
  const splitter = splitCsv({ delimiter: ',', quote: '"', newline: '\n' });
  assert.throws(() => {
    for (let size = 0; size < 60; size += 1) splitter.push(lines);
    splitter.end();
  }, /too many quotes/);
  assert.ok(process.cpuUsage(before).user < 30_000_000);
});

test('a value of 10 MB and an unending row are refused; a value over the limit is an error of its row', async () => {
  const long = 'x'.repeat(10_000_000);
  await assert.rejects(readAll(csv, `id,name\n1,${long}\n2,b\n`), { reason: 'too_large', line: 2 });
  const quoted = await readAll(csv, `id,name\n1,"${long}"\n2,b\n`);
  assert.deepEqual(listProblems(quoted.rows), ['2 quote a quote (") is opened and not closed']);
  assert.equal(quoted.rows[1]?.values.id, '2');
  const over = await readAll(csv, `id,name\n1,${'x'.repeat(1_100_000)}\n2,b\n`);
  assert.match(listProblems(over.rows).join(), /^2 too_large /);
});

test('the delimiter and the quote cannot be equal', async () => {
  await assert.rejects(readAll({ ...csv, delimiter: "'", quote: "'" }, 'a'), { reason: 'refused' });
});

test('more than 10,000 columns are refused', async () => {
  await assert.rejects(readAll(csv, `${'a,'.repeat(10_001)}\n`), { reason: 'too_large' });
});

test('an empty file and a file with only a header have no rows', async () => {
  assert.deepEqual((await readAll(csv, '')).rows, []);
  assert.deepEqual((await readAll(csv, '\uFEFF')).rows, []);
  assert.deepEqual((await readAll(csv, 'id,name\n')).columns, ['id', 'name']);
});

test('a byte order mark between concatenated files is dropped', async () => {
  const { rows } = await readInEveryWay(csv, 'id,name\n1,a\n\uFEFF2,b\n3,c\n');
  assert.deepEqual(
    rows.map(({ values }) => values.id),
    ['1', '2', '3'],
  );
});

const value = fc.string({
  unit: fc.constantFrom('a', 'ü', '😀', ' ', '"', ',', ';', '\n', '\r', '\t', "'"),
  maxLength: 8,
});

test('values that were written by RFC 4180 are read back, whatever the chunks', async () => {
  const tables = fc.tuple(
    fc.array(fc.tuple(value, value, value), { minLength: 1, maxLength: 8 }),
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom(',', ';', '\t', '|'),
    fc.integer({ min: 1, max: 40 }),
  );
  await fc.assert(
    fc.asyncProperty(tables, async ([rows, lineEnd, delimiter, chunkBytes]) => {
      const write = (cells: readonly string[]) =>
        cells
          .map((cell) => (/["\r\n]/.test(cell) || cell.includes(delimiter) ? quote(cell) : cell))
          .join(delimiter);
      const text = [['a', 'b', 'c'], ...rows].map(write).join(lineEnd);
      const read = await readAll({ type: 'csv', delimiter, quote: '"' }, text + lineEnd, { chunkBytes });
      assert.deepEqual(
        read.rows.map(({ values, problems }) => [values.a, values.b, values.c, problems]),
        rows.filter((row) => row.some((cell) => cell !== '')).map((row) => [...row, undefined]),
      );
    }),
    { numRuns: 500 },
  );
});

const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

test('any text is read or refused with a FormatProblem, and chunks do not change the rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (lines, chunkBytes) => {
        const text = `id,name\n${lines.join('\n')}`;
        try {
          const whole = await readAll(csv, text);
          assert.deepEqual(await readAll(csv, text, { chunkBytes }), whole);
        } catch (error) {
          assert.ok(error instanceof FormatProblem);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('a title above the header is skipped, and the row of the header is reported', async () => {
  const text = 'Price list 2026;;;\n\nAs of;March;;\nsku;name;price;stock\n1;Drill;5;7\n2;Saw;6;8\n';
  const { rows, columns, found } = await readInEveryWay({ type: 'csv' }, text);
  assert.deepEqual([columns, found.headerRow], [['sku', 'name', 'price', 'stock'], '4']);
  assert.deepEqual(
    rows.map(({ number, values }) => [number, values.sku]),
    [
      [5, '1'],
      [6, '2'],
    ],
  );
  const chosen = await readAll({ type: 'csv', headerRow: 1 }, 'title,,\nsku,name,price\n');
  assert.deepEqual([chosen.columns, chosen.found.headerRow], [['title'], undefined]);
});

test('a header of one or two columns is not taken for a title', async () => {
  for (const text of [
    'sku\n1\n2\n',
    'sku;name\n1;Drill\n2;Saw\n',
    'sku\n1',
    'sku;a;b;c\n1;;;\n2;;;\n3;;;\n',
  ]) {
    const { columns, found } = await readAll({ type: 'csv' }, text);
    assert.deepEqual([columns[0], found.headerRow], ['sku', undefined], text);
  }
});
