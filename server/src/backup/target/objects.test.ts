// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENTRY_BYTES, type Entry, packObject, unpackObject } from './objects.ts';

const NAME = 'segments/one';
const SEAL = { key: Buffer.alloc(32, 'objects'), backup: 'a'.repeat(32) };
const entries: Entry[] = Array.from({ length: 8 }, (_, index) => ({
  head: { kind: 'bytes', file: 'payloads/one', at: index * ENTRY_BYTES },
  bytes: Buffer.alloc(ENTRY_BYTES - index, String(index)),
}));

async function* list(): AsyncGenerator<Entry> {
  yield* entries;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

for (const seal of [undefined, SEAL])
  test(`an object ${seal ? 'with' : 'without'} a key is read back unchanged, and packed in the memory of one entry`, async () => {
    const memories = new Set<ArrayBufferLike>();
    const pieces: Buffer[] = [];
    for await (const piece of packObject(NAME, seal, list())) {
      if (piece.length > ENTRY_BYTES / 2) memories.add(piece.buffer);
      pieces.push(Buffer.from(piece));
    }
    assert.equal(memories.size, 1);
    const read: Entry[] = [];
    for await (const { head, bytes } of unpackObject(NAME, { seal }, once(Buffer.concat(pieces))))
      read.push({ head, bytes: Buffer.from(bytes) });
    assert.deepEqual(read, entries);
  });
