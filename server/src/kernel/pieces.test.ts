// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutPieces } from './pieces.ts';

test('cutPieces fills all pieces except the last and keeps all bytes in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }),
      fc.integer({ min: 1, max: 50 }),
      async (chunks, size) => {
        const pieces: Buffer[] = [];
        for await (const piece of cutPieces(stream(chunks), size)) pieces.push(Buffer.from(piece));
        assert.deepEqual(Buffer.concat(pieces), Buffer.concat(chunks));
        assert.ok(pieces.slice(0, -1).every(({ length }) => length === size));
        assert.ok((pieces.at(-1)?.length ?? 1) > 0);
      },
    ),
  );
});

test('a piece grows up to its size without losing bytes', async () => {
  const sent = Buffer.alloc(300_000, 'products ');
  const [first, second] = await Array.fromAsync(
    cutPieces(stream([sent.subarray(0, 9), sent.subarray(9)]), 200_000),
    (piece) => Buffer.from(piece),
  );
  assert.deepEqual([first, second], [sent.subarray(0, 200_000), sent.subarray(200_000)]);
});

async function* stream(chunks: readonly Uint8Array[]) {
  yield* chunks;
}
