/** The first allocation for a piece. Most streams are small, so its memory grows from this size. */
const FIRST_BYTES = 64 * 1024;

/**
 * Cuts a stream into pieces, all full except the last.
 * @returns pieces; each is valid until the next one is taken
 */
export async function* cutPieces(
  bytes: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array, undefined> {
  let piece = Buffer.allocUnsafeSlow(Math.min(size, FIRST_BYTES));
  let filled = 0;
  for await (const chunk of bytes) {
    for (let offset = 0; offset < chunk.length; ) {
      const copied = Math.min(size - filled, chunk.length - offset);
      if (filled + copied > piece.length) {
        const length = Math.min(size, Math.max(filled + copied, 2 * piece.length));
        piece = Buffer.concat([piece.subarray(0, filled)], length);
      }
      piece.set(chunk.subarray(offset, offset + copied), filled);
      filled += copied;
      offset += copied;
      if (filled < size) continue;
      yield piece;
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}
