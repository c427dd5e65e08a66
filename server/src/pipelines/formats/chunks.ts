import { type ByteStream, Peekable } from '../streams.ts';

export interface SpoolPlace {
  /** Where files may be put that are gone when reading ends. */
  readonly tempDir: string;
  readonly signal?: AbortSignal | undefined;
}

export type TextStream = AsyncIterable<string>;

/** How much is parsed in one go: what a reader holds and how long it keeps its thread follow from it. */
const CHUNK_BYTES = 64 * 1024;

/** Cuts large chunks, so that a source that hands over a whole file is read like any other. */
export async function* cutChunks(bytes: ByteStream, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES) {
      signal?.throwIfAborted();
      yield chunk.subarray(start, start + CHUNK_BYTES);
    }
  }
}

/** A parser that is fed piece by piece. */
export interface ChunkParser<Part> {
  /** @returns what the chunk completes */
  push(chunk: string): readonly Part[];
  end(): readonly Part[];
}

/** @returns what each chunk of a text completes */
export async function* parseText<Part>(
  text: TextStream,
  parser: ChunkParser<Part>,
): AsyncGenerator<readonly Part[]> {
  for await (const chunk of text) yield parser.push(chunk);
  yield parser.end();
}

/** Reads the beginning of a text and hands the whole of it to the reader that is chosen; lets go if there is none. */
export async function* readAfterPeek<Row>(
  text: TextStream,
  length: number,
  read: (head: string, text: TextStream) => AsyncIterable<Row>,
): AsyncGenerator<Row> {
  const stream = new Peekable(text);
  try {
    const head = (await stream.peek(length)).join('');
    yield* read(head, stream);
  } finally {
    await stream.close();
  }
}
