// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  inChunks,
  listProblems,
  readAll,
  readInEveryWay,
} from '../../../test/support/formats/format-reading.ts';
import { decodeText } from './decode-text.ts';
import { ReadingNotes } from './reading-notes.ts';

const TEXT = 'id,name\n1,Mütze – 5 € 😀\n2,東京\n';
const withMark = (mark: number[], bytes: Uint8Array) => Buffer.concat([Buffer.from(mark), bytes]);
const utf16le = Buffer.from(TEXT, 'utf16le');
const utf16be = Buffer.from(utf16le).swap16();

const written = [
  { name: 'UTF-8', bytes: Buffer.from(TEXT), encoding: 'utf-8' },
  {
    name: 'UTF-8 with a byte order mark',
    bytes: withMark([0xef, 0xbb, 0xbf], Buffer.from(TEXT)),
    encoding: 'utf-8',
  },
  { name: 'UTF-16LE with a byte order mark', bytes: withMark([0xff, 0xfe], utf16le), encoding: 'utf-16le' },
  { name: 'UTF-16BE with a byte order mark', bytes: withMark([0xfe, 0xff], utf16be), encoding: 'utf-16be' },
];
for (const { name, bytes, encoding } of written) {
  test(`text in ${name} is read wherever its chunks end`, async () => {
    const { rows, columns, found } = await readInEveryWay({ type: 'csv' }, bytes);
    assert.deepEqual(
      rows.map(({ values }) => ({ ...values })),
      [
        { id: '1', name: 'Mütze – 5 € 😀' },
        { id: '2', name: '東京' },
      ],
    );
    assert.deepEqual(columns, ['id', 'name']);
    assert.equal(found.encoding, encoding);
  });
}

test('text that is not UTF-8 is read as windows-1252, in which the byte 0x80 is the euro sign', async () => {
  const bytes = Buffer.from('id,name\n1,M\xfctze 5 \x80\n', 'latin1');
  const { rows, found } = await readInEveryWay({ type: 'csv' }, bytes);
  assert.equal(rows[0]?.values.name, 'Mütze 5 €');
  assert.equal(found.encoding, 'windows-1252');
});

test('a single byte at the end of a file that is not UTF-8 is decoded too', async () => {
  const { rows } = await readInEveryWay({ type: 'csv' }, Buffer.from('id,name\n1,Caf\xe9', 'latin1'));
  assert.equal(rows[0]?.values.name, 'Café');
});

test("the encoding of the owner is used, but a byte order mark overrides it; the sender's applies if UTF-8 fails", async () => {
  const euro = Buffer.from('id,name\n1,\xa4\n', 'latin1');
  assert.equal((await readAll({ type: 'csv', encoding: 'iso-8859-15' }, euro)).rows[0]?.values.name, '€');
  assert.equal((await readAll({ type: 'csv' }, euro, { charset: 'iso-8859-15' })).rows[0]?.values.name, '€');
  assert.equal((await readAll({ type: 'csv' }, euro, { charset: 'nonsense' })).rows[0]?.values.name, '¤');
  assert.equal(
    (await readAll({ type: 'csv' }, 'id,name\n1,€', { charset: 'iso-8859-1' })).rows[0]?.values.name,
    '€',
  );
  const marked = written[1]?.bytes ?? Buffer.alloc(0);
  assert.equal((await readAll({ type: 'csv', encoding: 'windows-1252' }, marked)).found.encoding, 'utf-8');
});

test('in a UTF-8 file, only rows with bytes that are not UTF-8 are reported', async () => {
  const bytes = Buffer.concat([
    Buffer.from('id,name\n1,Mütze\n2,a'),
    Buffer.from([0xff]),
    Buffer.from('b\n3,Bär\n'),
  ]);
  const { rows } = await readInEveryWay({ type: 'csv' }, bytes);
  assert.deepEqual(listProblems(rows), [
    '3 encoding name these bytes are not text in the encoding of the file',
  ]);
  const sound = await readAll({ type: 'csv' }, 'id,name\n1,Mütze \uFFFD\n');
  assert.deepEqual(listProblems(sound.rows), [], 'U+FFFD in the file itself is not damage');
});

test('a file that ends within a character has one damaged row', async () => {
  const bytes = Buffer.from('id,name\n1,Mütze\n2,€').subarray(0, -1);
  assert.deepEqual(listProblems((await readInEveryWay({ type: 'csv' }, bytes)).rows).length, 1);
});

test('UTF-32 and unknown encodings are refused', async () => {
  await assert.rejects(readAll({ type: 'csv' }, Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])), /UTF-32/);
  const xml = '<?xml version="1.0" encoding="x-nonsense"?><a><b/><b/></a>';
  await assert.rejects(readAll({ type: 'xml' }, xml), /x-nonsense is not known/);
});

test('the encoding in an XML declaration is used, unless the file cannot have it', async () => {
  const read = async (encoding: string, bytes: Buffer) => {
    const declaration = Buffer.from(`<?xml version="1.0" encoding='${encoding}' standalone="yes"?>`);
    const texts: string[] = [];
    const content = Buffer.concat([declaration, bytes]);
    for await (const text of decodeText(inChunks(content, 3), new ReadingNotes(), { isMarkup: true }))
      texts.push(text);
    return texts.join('').slice(declaration.length);
  };
  assert.equal(await read('ISO-8859-1', Buffer.from('<a>\xfc</a>', 'latin1')), '<a>ü</a>');
  assert.equal(await read('windows-1251', Buffer.from('<a>\xef</a>', 'latin1')), '<a>п</a>');
  assert.equal(await read('UTF-8', Buffer.from('<a>ü</a>')), '<a>ü</a>');
  assert.equal(await read('UTF-16', Buffer.from('<a>ü</a>')), '<a>ü</a>');
});
