// runs: long
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type BookParts,
  bookParts,
  escapeXml,
  writeBook,
  writeZip,
  type ZipPart,
} from '../../../test/support/formats/format-files.ts';
import {
  createTempDir,
  listProblems,
  readAll,
  readInEveryWay,
} from '../../../test/support/formats/format-reading.ts';
import type { InputFormatSettings } from '../input-formats.ts';
import { readRows } from '../input-formats.ts';

const xlsx = { type: 'xlsx' } as const;

async function makeZip(parts: readonly ZipPart[]): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'relata-book-'));
  try {
    await writeZip(join(folder, 'book.xlsx'), parts);
    return readFileSync(join(folder, 'book.xlsx'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const makeBook = (book: BookParts): Promise<Buffer> => makeZip(bookParts(book));
const inline = (reference: string, text: string): string =>
  `<c r="${reference}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`;
const row = (number: number, cells: readonly string[]): string =>
  `<row r="${number}">${cells.join('')}</row>`;
const header = (names: readonly string[]): string =>
  row(
    1,
    names.map((name, index) => inline(`${'ABCDEFGHIJKLMNOP'[index]}1`, name)),
  );

async function readBook(t: TestContext, book: BookParts, format: InputFormatSettings = xlsx) {
  return await readAll(format, await makeBook(book), { tempDir: createTempDir(t) });
}

test('reads shared, inline, formatted and computed texts and plain numbers, and omits empty cells and rows', async (t) => {
  const texts = [
    '<si><t>Cordless drill &amp; case</t></si>',
    '<si><r><rPr><b/></rPr><t xml:space="preserve">bold </t></r><r><t>and not</t></r><rPh sb="0" eb="1"><t>reading</t></rPh></si>',
    '<si><t>line_x000D_\nbreak _x005F_x</t></si>',
    '<si/>',
  ];
  const rows = [
    header(['sku', 'a', 'b', 'c', 'd']),
    row(2, [
      '<c r="A2" t="s"><v>0</v></c>',
      '<c r="B2" t="s"><v>1</v></c>',
      '<c r="C2" t="s"><v>2</v></c>',
      '<c r="D2" t="s"><v>3</v></c>',
    ]),
    row(3, ['<c r="A3"/>', '<c r="B3" s="0"/>']),
    '<row r="4" spans="1:5"/>',
    row(7, [
      '<c r="A7" t="str"><f>A1&amp;"x"</f><v>skux</v></c>',
      '<c r="B7" t="b"><v>1</v></c>',
      '<c r="C7" t="b"><v>0</v></c>',
      inline('E7', ' kept '),
    ]),
    row(8, [
      '<c r="A8"><v>4006381333931</v></c>',
      '<c r="B8"><v>0.30000000000000004</v></c>',
      '<c r="C8"><v>1.5E-7</v></c>',
      '<c r="D8"><v>-1234.5</v></c>',
      '<c r="E8"><f>1+1</f><v>2</v></c>',
    ]),
  ];
  const book = await makeBook({ texts, sheets: [{ name: 'Products', rows }] });
  const read = await readInEveryWay(xlsx, book, createTempDir(t));
  assert.deepEqual(
    read.rows.map(({ number, values }) => ({ number, ...values })),
    [
      { number: 2, sku: 'Cordless drill & case', a: 'bold and not', b: 'line\r\nbreak _x' },
      { number: 7, sku: 'skux', a: 'true', b: 'false', d: ' kept ' },
      { number: 8, sku: '4006381333931', a: '0.3', b: '0.00000015', c: '-1234.5', d: '2' },
    ],
  );
  assert.deepEqual(listProblems(read.rows), []);
  assert.deepEqual(read.columns, ['sku', 'a', 'b', 'c', 'd']);
  assert.equal(read.found.sheet, 'Products');
});

const shown: readonly { style: number | string; number: string; text: string }[] = [
  { style: 14, number: '45443', text: '2024-05-31' },
  { style: 22, number: '45443.604166666664', text: '2024-05-31T14:30:00' },
  { style: 14, number: '1', text: '1900-01-01' },
  { style: 14, number: '59', text: '1900-02-28' },
  { style: 14, number: '61', text: '1900-03-01' },
  { style: 14, number: '2958465', text: '9999-12-31' },
  { style: 20, number: '0.5', text: '12:00:00' },
  { style: 46, number: '1.5', text: '36:00:00' },
  { style: '[h]:mm:ss', number: '1.5', text: '36:00:00' },
  { style: 'dd/mm/yyyy;@', number: '45443', text: '2024-05-31' },
  { style: '[$-407]d. mmmm yyyy', number: '45443', text: '2024-05-31' },
  { style: 'd. "Tag" mmm', number: '45443', text: '2024-05-31' },
  { style: '"days: "0', number: '45443', text: '45443' },
  { style: '[Red]0.00', number: '45443', text: '45443' },
  { style: '0\\d', number: '3', text: '3' },
  { style: '#,##0.00\\ "€"', number: '1299.5', text: '1299.5' },
  { style: '0.00E+00', number: '1.5E+20', text: '150000000000000000000' },
  { style: '0%', number: '0.19', text: '0.19' },
  { style: '0000000000000', number: '12345', text: '0000000012345' },
  { style: '00000', number: '1.5', text: '1.5' },
  { style: '00000', number: '-7', text: '-7' },
  { style: 14, number: '-1', text: '-1' },
  { style: 14, number: '99999999', text: '99999999' },
  { style: 0, number: '12345678901234567890', text: '12345678901234567890' },
  { style: 0, number: '1234.5678901234567', text: '1234.56789012346' },
];

test('dates, times, durations and leading zeros are written as the sheet displays them', async (t) => {
  const styles = shown.map(({ style }) => style);
  const cells = shown.map(({ number }, index) =>
    row(index + 2, [`<c r="A${index + 2}" s="${index + 1}"><v>${number}</v></c>`]),
  );
  const { rows } = await readBook(t, { styles, sheets: [{ name: 'a', rows: [header(['n']), ...cells] }] });
  assert.deepEqual(
    rows.map(({ values }) => values.n),
    shown.map(({ text }) => text),
  );
});

test('a workbook may count days from 1904, and may write dates as text', async (t) => {
  const rows = [
    header(['a']),
    row(2, ['<c r="A2" s="1"><v>43981</v></c>']),
    row(3, ['<c r="A3" t="d"><v>2024-05-31</v></c>']),
    row(4, ['<c r="A4" s="1"><v>0</v></c>']),
  ];
  const read = await readBook(t, { styles: [14], startsIn1904: true, sheets: [{ name: 'a', rows }] });
  assert.deepEqual(
    read.rows.map(({ values }) => values.a),
    ['2024-05-31', '2024-05-31', '1904-01-01'],
  );
});

test('a cell with an error, without a result or with an invalid reference is a problem of its column', async (t) => {
  const cells = [
    '<c r="A2" t="e"><v>#N/A</v></c>',
    '<c r="B2"><f>1+1</f></c>',
    '<c r="C2" t="s"><v>7</v></c>',
    inline('D2', 'x'),
  ];
  const { rows } = await readBook(t, {
    sheets: [{ name: 'a', rows: [header(['a', 'b', 'c', 'd']), row(2, cells)] }],
  });
  assert.deepEqual(listProblems(rows), [
    '2 cell a shows an error: #N/A',
    '2 cell b contains a formula without its result. Please open and save the file in a spreadsheet program',
    '2 cell c refers to a text that does not exist',
  ]);
  assert.deepEqual({ ...rows[0]?.values }, { d: 'x' });
});

test('a sheet is chosen by name or number; by default it is the first that is not hidden', async (t) => {
  const sheet = (name: string, state?: string) => ({
    name,
    rows: [header(['a']), row(2, [inline('A2', name)])],
    ...(state && { state }),
  });
  const book = await makeBook({
    sheets: [sheet('Lists', 'hidden'), sheet('Products'), sheet('More &amp; more')],
  });
  const tempDir = createTempDir(t);
  const read = async (wanted?: string | number) => {
    const format = wanted === undefined ? xlsx : { ...xlsx, sheet: wanted };
    return (await readAll(format, book, { tempDir })).rows[0]?.values.a;
  };
  assert.equal(await read(), 'Products');
  assert.equal(await read('Lists'), 'Lists');
  assert.equal(await read('More & more'), 'More &amp; more');
  assert.equal(await read(1), 'Lists');
  assert.equal(await read('2'), 'Products', 'a number as a form sends it');
  await assert.rejects(read('Nothing'), {
    reason: 'not_found',
    message: /no sheet Nothing. It has "Lists", "Products"/,
  });
  await assert.rejects(read(4), { reason: 'not_found' });
});

test('the header may be in a later row or missing, cells outside it are kept, and names become distinct', async (t) => {
  const rows = [
    row(1, [inline('A1', 'Price list')]),
    row(3, [inline('A3', 'id'), inline('B3', 'Name'), inline('C3', 'Name'), inline('E3', '__proto__')]),
    row(4, [
      inline('A4', '1'),
      inline('C4', 'b'),
      inline('D4', 'c'),
      inline('E4', 'd'),
      inline('AB4', 'far'),
    ]),
  ];
  const book = { sheets: [{ name: 'a', rows }] };
  const { rows: read, columns } = await readBook(t, book, { ...xlsx, headerRow: 2 });
  assert.deepEqual(Object.entries(read[0]?.values ?? {}), [
    ['id', '1'],
    ['Name 2', 'b'],
    ['Column 4', 'c'],
    ['__proto__', 'd'],
    ['Column 28', 'far'],
  ]);
  assert.deepEqual(columns, ['id', 'Name', 'Name 2', 'Column 4', '__proto__', 'Column 28']);
  const bare = await readBook(t, book, { ...xlsx, headerRow: 0 });
  assert.deepEqual({ ...bare.rows[0]?.values }, { 'Column 1': 'Price list' });
});

test('cells and rows may omit their position, and names may have prefixes', async (t) => {
  const cell = (text: string) => `<x:c t="inlineStr"><x:is><x:t>${text}</x:t></x:is></x:c>`;
  const sheet = `<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row>${cell('id')}${cell('name')}</x:row><x:row>${cell('1')}${cell('a')}</x:row></x:sheetData></x:worksheet>`;
  const parts = bookParts({ sheets: [{ name: 'a', rows: [] }] });
  const book = await makeZip(
    parts.map((part) => (part.name.includes('sheet1') ? { ...part, content: [sheet] } : part)),
  );
  const { rows } = await readAll(xlsx, book, { tempDir: createTempDir(t) });
  assert.deepEqual(
    rows.map(({ number, values }) => ({ number, ...values })),
    [{ number: 2, id: '1', name: 'a' }],
  );
});

test('a workbook without shared texts or styles is read', async (t) => {
  const parts = bookParts({
    sheets: [{ name: 'a', rows: [header(['id']), row(2, ['<c r="A2" s="3"><v>7</v></c>'])] }],
  });
  const book = await makeZip(parts.filter(({ name }) => !/styles|sharedStrings|^_rels/.test(name)));
  const { rows } = await readAll(xlsx, book, { tempDir: createTempDir(t) });
  assert.equal(rows[0]?.values.id, '7');
});

test('a file that is cut off anywhere is not a complete workbook', async (t) => {
  const book = await makeBook({
    sheets: [{ name: 'a', rows: [header(['id']), row(2, [inline('A2', '1')])] }],
  });
  const tempDir = createTempDir(t);
  for (let length = 0; length < book.length; length += 61)
    await assert.rejects(
      readAll(xlsx, book.subarray(0, length), { tempDir }),
      { name: 'FormatProblem' },
      `${length}`,
    );
});

test('a file with a wrong byte anywhere is read, refused or reported as damaged, and never causes a crash', async (t) => {
  const book = await makeBook({
    texts: ['<si><t>x</t></si>'],
    sheets: [{ name: 'a', rows: [header(['id']), row(2, ['<c r="A2" t="s"><v>0</v></c>'])] }],
  });
  const tempDir = createTempDir(t);
  for (let offset = 0; offset < book.length; offset += 7) {
    const broken = Buffer.from(book);
    broken[offset] = (broken[offset] ?? 0) ^ 0x55;
    try {
      await readAll(xlsx, broken, { tempDir });
    } catch (error) {
      assert.equal((error as Error).name, 'FormatProblem', `${offset}: ${(error as Error).stack}`);
    }
  }
});

const others = [
  {
    name: 'an old .xls or a file with a password',
    bytes: Buffer.from('d0cf11e0a1b11ae10000', 'hex'),
    error: /old Excel file/,
  },
  { name: 'a text', bytes: Buffer.from('id,name\n1,a\n'), error: /not a complete workbook/ },
  { name: 'nothing', bytes: Buffer.alloc(0), error: /not a complete workbook/ },
];
for (const { name, bytes, error } of others)
  test(`${name} is refused, with the remedy`, async (t) => {
    await assert.rejects(readAll(xlsx, bytes, { tempDir: createTempDir(t) }), error);
  });

test('another zip and a binary workbook are refused', async (t) => {
  const tempDir = createTempDir(t);
  const text = await makeZip([{ name: 'products.csv', content: ['id,name\n'] }]);
  await assert.rejects(readAll(xlsx, text, { tempDir }), /not a workbook/);
  const links =
    '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>';
  const binary = await makeZip([
    { name: '_rels/.rels', content: [links] },
    { name: 'xl/workbook.bin', content: ['x'] },
  ]);
  await assert.rejects(readAll(xlsx, binary, { tempDir }), /binary workbook/);
});

test('a DTD in any part is refused', async (t) => {
  const parts = bookParts({ sheets: [{ name: 'a', rows: [header(['id'])] }] });
  const withDtd = (part: ZipPart): ZipPart => {
    const xml = [...part.content].join('').replace(/^<\?xml[^>]*>/, '');
    return { name: part.name, content: [`<!DOCTYPE a [<!ENTITY b "c">]>${xml}`] };
  };
  for (const name of [
    'xl/workbook.xml',
    'xl/styles.xml',
    'xl/sharedStrings.xml',
    'xl/worksheets/sheet1.xml',
  ]) {
    const book = await makeZip(parts.map((part) => (part.name === name ? withDtd(part) : part)));
    await assert.rejects(readAll(xlsx, book, { tempDir: createTempDir(t) }), { reason: 'refused' }, name);
  }
});

test('a part that unpacks to far too much is abandoned early, and too many parts are refused', async (t) => {
  const bomb = bookParts({
    sheets: [
      {
        name: 'a',
        rows: [
          header(['id']),
          ...Array.from({ length: 100 }, () => `<row r="2">${' '.repeat(1_000_000)}</row>`),
        ],
      },
    ],
  });
  await assert.rejects(readAll(xlsx, await makeZip(bomb), { tempDir: createTempDir(t) }), {
    reason: 'too_large',
  });
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `part${index}`, content: [''] }));
  await assert.rejects(readAll(xlsx, await makeZip(many), { tempDir: createTempDir(t) }), {
    reason: 'too_large',
  });
});

test('a value of 10 MB, a row of endless cells and a cell of endless runs are refused', async (t) => {
  const long = 'x'.repeat(10_000_000);
  const rows = [
    [header(['id']), row(2, [`<c r="A2"><v>${long}</v></c>`])],
    [
      header(['id']),
      row(
        2,
        Array.from({ length: 500_000 }, () => '<c><v>1</v></c>'),
      ),
    ],
    [header(['id']), row(2, [`<c t="inlineStr"><is>${'<r><t>x</t></r>'.repeat(500_000)}</is></c>`])],
  ];
  for (const sheet of rows)
    await assert.rejects(readBook(t, { sheets: [{ name: 'a', rows: sheet }] }), { reason: 'too_large' });
  await assert.rejects(
    readBook(t, { texts: [`<si><t>${long}</t></si>`], sheets: [{ name: 'a', rows: [] }] }),
    { reason: 'too_large' },
  );
});

test('endless styles, links and names are refused', async (t) => {
  const parts = bookParts({ sheets: [{ name: 'a', rows: [header(['id'])] }] });
  const replaced = {
    'xl/styles.xml': `<styleSheet><cellXfs>${'<xf numFmtId="14"/>'.repeat(70_000)}</cellXfs></styleSheet>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${'<Relationship Id="a"/>'.repeat(10_001)}</Relationships>`,
  };
  for (const [name, xml] of Object.entries(replaced)) {
    const links = parts.filter((part) => part.name !== name);
    const book = await makeZip([...links, { name, content: [xml] }]);
    await assert.rejects(readAll(xlsx, book, { tempDir: createTempDir(t) }), { reason: 'too_large' }, name);
  }
  const long = await makeZip([...parts, { name: 'x'.repeat(3_000), content: [''] }]);
  await assert.rejects(readAll(xlsx, long, { tempDir: createTempDir(t) }), { reason: 'too_large' });
});

test('a part that is larger than the directory states is detected', async (t) => {
  const book = await makeBook({
    sheets: [{ name: 'a', rows: [header(['id']), row(2, [inline('A2', 'y'.repeat(5_000))])] }],
  });
  const unpackedSize = book.lastIndexOf('xl/worksheets/sheet1.xml') - 46 + 24;
  book.writeUInt32LE(10, unpackedSize);
  await assert.rejects(readAll(xlsx, book, { tempDir: createTempDir(t) }), { reason: 'damaged' });
});

test('leaving the loop early leaves no file', async (t) => {
  const tempDir = createTempDir(t);
  const rows = Array.from({ length: 20_000 }, (_, index) =>
    row(index + 2, [inline(`A${index + 2}`, `${index}`)]),
  );
  const path = join(mkdtempSync(join(tmpdir(), 'relata-book-')), 'book.xlsx');
  t.after(() => rmSync(join(path, '..'), { recursive: true }));
  await writeBook(path, { sheets: [{ name: 'a', rows: [header(['id']), ...rows] }] });
  for await (const batch of readRows(xlsx, createReadStream(path), { tempDir })) {
    assert.ok(batch.length > 0);
    break;
  }
});

test('a sheet with a title row has the names below it, and other sheets are listed', async (t) => {
  const titled = [
    row(1, [inline('A1', 'Price list 2026')]),
    row(3, [inline('A3', 'sku'), inline('B3', 'name'), inline('C3', 'price')]),
    row(4, [inline('A4', '1'), inline('B4', 'Drill'), inline('C4', '5')]),
  ];
  const sheets = [
    { name: 'Products', rows: titled },
    { name: 'Prices', rows: titled },
    { name: 'Lists', state: 'hidden', rows: titled },
  ];
  const { rows, columns, found } = await readBook(t, { sheets });
  assert.deepEqual(columns, ['sku', 'name', 'price']);
  assert.deepEqual(
    rows.map(({ number, values }) => [number, { ...values }]),
    [[4, { sku: '1', name: 'Drill', price: '5' }]],
  );
  assert.deepEqual([found.sheet, found.otherSheets, found.headerRow], ['Products', '"Prices"', '3']);
  const chosen = await readBook(t, { sheets }, { type: 'xlsx', sheet: 'Products', headerRow: 3 });
  assert.deepEqual([chosen.rows.length, chosen.found], [1, { sheet: 'Products' }]);
});
