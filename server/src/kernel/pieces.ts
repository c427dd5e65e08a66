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
    for (let at = 0; at < chunk.length; ) {
      const taken = Math.min(size - filled, chunk.length - at);
      if (filled + taken > piece.length) {
        const needed = Math.min(size, Math.max(filled + taken, 2 * piece.length));
        piece = Buffer.concat([piece.subarray(0, filled)], needed);
      }
      piece.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < size) continue;
      yield piece;
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}
