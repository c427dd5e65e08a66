// runs: test, own
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { isFaultOfArchive } from '../../formats/streams/zip.ts';
import { SourceProblem } from './source.ts';
import { type UnpackOptions, unpackBytes } from './unpack.ts';

const MIB = 1024 * 1024;
const CSV = Buffer.from('sku;name\nA1;Drill\n');

interface ZipEntry {
  readonly name: string;
  readonly bytes?: Buffer;
  readonly flags?: number;
  /** A false directory entry in the archive. */
  readonly claimedSize?: number;
  readonly claimedCrc?: number;
}

/**
 * Writes an archive in the layout of PKWARE's APPNOTE.TXT: local headers with data, then the central directory and its
 * end.
 */
function makeZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const {
    name,
    bytes = CSV,
    flags = 0,
    claimedSize = bytes.length,
    claimedCrc = crc32(bytes),
  } of entries) {
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(claimedCrc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, tail, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

function makeOptions(t: TestContext): UnpackOptions {
  const tempDir = mkdtempSync(join(tmpdir(), 'relata-unpack-'));
  t.after(() => {
    assert.deepEqual(readdirSync(tempDir), [], 'no file is left');
    rmSync(tempDir, { recursive: true });
  });
  return { tempDir, maxPackedBytes: 64 * MIB, maxUnpackedBytes: 512 * MIB };
}

async function* inChunks(bytes: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size);
}

async function unpack(bytes: Buffer, options: UnpackOptions, chunk = 1_000): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(unpackBytes(inChunks(bytes, chunk), options)));
}

const isProblem = (reason: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SourceProblem, String(error));
  assert.equal(error.reason, reason);
  assert.match(error.message, text);
  return true;
};

test('a file that is not packed passes through, whatever the size of its chunks', async (t) => {
  const options = makeOptions(t);
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 2_000 }),
      fc.integer({ min: 1, max: 700 }),
      async (bytes, size) => {
        const text = Buffer.concat([Buffer.from('x'), bytes]);
        assert.deepEqual(await unpack(text, options, size), text);
      },
    ),
    { numRuns: 50 },
  );
  assert.deepEqual(await unpack(Buffer.alloc(0), options), Buffer.alloc(0));
});

test('gzip and zip are recognised by their first bytes and undone', async (t) => {
  const options = makeOptions(t);
  for (const packed of [gzipSync(CSV), makeZip([{ name: 'a.csv' }])])
    for (const size of [1, 3, 10_000]) assert.deepEqual(await unpack(packed, options, size), CSV);
});

test('folders, hidden files and files that a Mac adds are ignored in an archive', async (t) => {
  const empty = Buffer.alloc(0);
  const zip = makeZip([
    { name: 'in/', bytes: empty },
    { name: 'in/a.csv' },
    { name: 'in/.DS_Store' },
    { name: '__MACOSX/in/._a.csv' },
  ]);
  assert.deepEqual(await unpack(zip, makeOptions(t)), CSV);
});

test('a pattern chooses the file of an archive, and must match only one', async (t) => {
  const options = makeOptions(t);
  const zip = makeZip([
    { name: 'a.csv' },
    { name: 'x/b.csv', bytes: Buffer.from('b') },
    { name: 'readme.txt' },
  ]);
  assert.equal(String(await unpack(zip, { ...options, entry: '**/b.*' })), 'b');
  await assert.rejects(
    unpack(zip, options),
    isProblem('archive', /contains 3 matching files.*"a.csv", "x\/b.csv", "readme.txt"/),
  );
  await assert.rejects(
    unpack(zip, { ...options, entry: '**/*.csv' }),
    isProblem('archive', /2 matching files/),
  );
  await assert.rejects(
    unpack(zip, { ...options, entry: '*.xml' }),
    isProblem('archive', /matches the pattern; it contains/),
  );
  await assert.rejects(unpack(makeZip([]), options), isProblem('archive', /contains no file/));
});

test('a workbook passes unchanged, also out of a zip or gzip', async (t) => {
  const options = makeOptions(t);
  const usual = makeZip([{ name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }]);
  const unusual = makeZip([
    { name: 'mimetype' },
    { name: 'xl/workbook.xml' },
    { name: '[Content_Types].xml' },
  ]);
  assert.deepEqual(await unpack(usual, options), usual);
  assert.deepEqual(await unpack(unusual, options), unusual);
  assert.deepEqual(await unpack(gzipSync(usual), options), usual);
  assert.deepEqual(await unpack(makeZip([{ name: 'a.xlsx', bytes: usual }]), options), usual);
});

test('an archive in an archive, an encrypted archive and other packings are refused', async (t) => {
  const options = makeOptions(t);
  const zip = makeZip([{ name: 'a.csv' }]);
  const tar = Buffer.alloc(1024);
  tar.write('ustar', 257, 'latin1');
  const refused: [Buffer, RegExp][] = [
    [gzipSync(gzipSync(CSV)), /gzip archive inside the gzip/],
    [gzipSync(zip), /zip archive inside the gzip/],
    [gzipSync(tar), /tar archive inside the gzip/],
    [makeZip([{ name: 'a.zip', bytes: zip }]), /zip archive inside the zip/],
    [makeZip([{ name: 'a.csv.gz', bytes: gzipSync(CSV) }]), /gzip archive inside the zip/],
    [makeZip([{ name: 'a.csv', flags: 1 }]), /"a.csv" in the archive is encrypted/],
    [tar, /tar archive/],
    [zstdCompressSync(CSV), /zstd archive/],
    [Buffer.from('7z\xbc\xaf\x27\x1c......', 'latin1'), /7z archive/],
    [Buffer.from('BZh91AY&SY'), /bzip2 archive/],
    [Buffer.from('Rar!\x1a\x07\x01\0', 'latin1'), /rar archive/],
  ];
  for (const [bytes, text] of refused)
    await assert.rejects(unpack(bytes, options), isProblem('archive', text));
});

test('an archive with more than 1,000 entries is refused', async (t) => {
  const options = makeOptions(t);
  const names = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `${index}.csv` }));
  assert.deepEqual(await unpack(makeZip(names(1_000)), { ...options, entry: '7.csv' }), CSV);
  await assert.rejects(
    unpack(makeZip(names(1_001)), { ...options, entry: '7.csv' }),
    isProblem('archive', /1000 files/),
  );
});

test('zip bombs are stopped by their ratio, long before they are unpacked', async (t) => {
  const options = makeOptions(t);
  const zeros = Buffer.alloc(100 * MIB);
  const ratio = isProblem('too_large', /200 times its size/);
  const before = process.memoryUsage().rss;
  await assert.rejects(unpack(gzipSync(zeros), options, 16_384), ratio);
  await assert.rejects(unpack(makeZip([{ name: 'a.csv', bytes: zeros }]), options), ratio);
  assert.ok(process.memoryUsage().rss - before < 300 * MIB, 'memory does not grow with the bomb');
});

test('the packed size and the unpacked size are limited', async (t) => {
  const options = { ...makeOptions(t), maxPackedBytes: 5_000, maxUnpackedBytes: 20_000 };
  const random = Buffer.from(
    Array.from({ length: 6_000 }, (_, index) => (index * 7919 + index * index * 31) % 251),
  );
  const text = Buffer.from('abcdefghij'.repeat(2_001));
  await assert.rejects(
    unpack(
      makeZip([
        { name: 'a', bytes: random },
        ...Array.from({ length: 80 }, (_, index) => ({ name: `${index}` })),
      ]),
      options,
    ),
    isProblem('too_large', /zip archive is larger/),
  );
  await assert.rejects(
    unpack(gzipSync(text), options),
    isProblem('too_large', /gzip file, unpacked, is larger/),
  );
  await assert.rejects(
    unpack(makeZip([{ name: 'a', bytes: text }]), options),
    isProblem('too_large', /"a" in the archive/),
  );
  await assert.rejects(unpack(text, options), isProblem('too_large', /file is larger/));
  const liar = makeZip([{ name: 'a', bytes: text, claimedSize: 10 }]);
  await assert.rejects(unpack(liar, options), isProblem('archive', /too many bytes/));
});

test('a truncated or damaged archive is never accepted as complete', async (t) => {
  const options = makeOptions(t);
  const text = Buffer.from(
    Array.from({ length: 5_000 }, (_, index) => `${index};${index * index}\n`).join(''),
  );
  const gzip = gzipSync(text);
  const zip = makeZip([{ name: 'a.csv', bytes: text }]);
  await assert.rejects(unpack(gzip.subarray(0, -8), options), isProblem('broken_off', /ends too early/));
  await assert.rejects(unpack(gzip.subarray(0, 1_000), options), isProblem('broken_off', /ends too early/));
  await assert.rejects(unpack(zip.subarray(0, -30), options), isProblem('archive', /cannot be read/));
  for (const bytes of [gzip, zip]) {
    const damaged = Buffer.from(bytes);
    damaged.fill(0x55, 2_000, 2_050);
    await assert.rejects(unpack(damaged, options), SourceProblem);
  }
  const other = makeZip([{ name: 'a.csv', bytes: text, claimedCrc: 7 }]);
  await assert.rejects(unpack(other, options), isProblem('damaged', /checksum differs/));
});

test('a problem of the source passes through every packing', async (t) => {
  const options = makeOptions(t);
  async function* broken(bytes: Buffer): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 15);
    throw new SourceProblem('broken_off', 'the line went dead');
  }
  for (const bytes of [CSV, gzipSync(CSV), makeZip([{ name: 'a.csv' }])]) {
    const reading = Array.fromAsync(unpackBytes(broken(bytes), options));
    await assert.rejects(reading, isProblem('broken_off', /the line went dead/));
  }
});

test('leaving the loop early closes the source', async (t) => {
  const options = makeOptions(t);
  const text = Buffer.from('abcdefghij'.repeat(100_000));
  for (const bytes of [text, gzipSync(text), makeZip([{ name: 'a', bytes: text }])]) {
    let isClosed = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        yield* inChunks(bytes, 500);
      } finally {
        isClosed = true;
      }
    }
    for await (const _ of unpackBytes(source(), options)) break;
    for (let turn = 0; turn < 100 && !isClosed; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(isClosed);
  }
});

test('only errors that the libraries throw for an archive count as faults of the archive', () => {
  assert.ok(isFaultOfArchive(new Error('End of central directory record signature not found')));
  assert.ok(isFaultOfArchive(Object.assign(new Error('invalid block type'), { code: 'Z_DATA_ERROR' })));
  assert.equal(isFaultOfArchive(Object.assign(new Error('no space left'), { code: 'ENOSPC' })), false);
  assert.equal(isFaultOfArchive(new TypeError('a bug')), false);
});
