export type ByteStream = AsyncIterable<Uint8Array>;

/** A stream whose beginning can be read ahead. */
export class Peekable<Chunk extends { readonly length: number }> implements AsyncIterable<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  #peeked: Chunk[] = [];

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** @returns the first chunks, together at least `length` long unless the stream is shorter */
  async peek(length: number): Promise<readonly Chunk[]> {
    let have = this.#peeked.reduce((sum, chunk) => sum + chunk.length, 0);
    while (have < length) {
      const { done, value } = await this.#source.next();
      if (done) break;
      this.#peeked.push(value);
      have += value.length;
    }
    return this.#peeked;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    try {
      for (let chunk = this.#peeked.shift(); chunk !== undefined; chunk = this.#peeked.shift()) yield chunk;
      for (let next = await this.#source.next(); !next.done; next = await this.#source.next())
        yield next.value;
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  /** Call it when a stream is abandoned unread, because the stream may hold a connection or a file. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#peeked = [];
    await this.#source.return?.();
  }
}

/** @returns the first `length` bytes, or fewer if the stream is shorter, and the whole stream */
export async function peekBytes(bytes: ByteStream, length: number) {
  const stream = new Peekable(bytes);
  return { head: Buffer.concat(await stream.peek(length)).subarray(0, length), stream };
}
