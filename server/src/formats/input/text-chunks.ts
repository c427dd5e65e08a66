import { type ByteStream, Peekable } from '../streams/streams.ts';

/** A substring retains the whole text, so a text that outlives its chunk has to be copied. */
export function copyText(text: string): string {
  // Converted through UTF-8, plain text takes one byte per character. Only lone surrogates need UTF-16.
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le';
  return Buffer.from(text, encoding).toString(encoding);
}

export type TextStream = AsyncIterable<string>;

/**
 * The amount that is parsed in one step. It determines how much a reader holds, and how long it occupies its thread.
 */
const CHUNK_BYTES = 64 * 1024;

/** Cuts large chunks, so that a source that returns a whole file in one chunk is read like any other. */
export async function* cutChunks(bytes: ByteStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES)
      yield chunk.subarray(start, start + CHUNK_BYTES);
  }
}

/** A parser that receives a text in chunks. */
export interface ChunkParser<Part> {
  /** @returns the parts that the chunk completes */
  push(chunk: string): readonly Part[];
  end(): readonly Part[];
}

/** @returns the parts that each chunk of a text completes */
export async function* parseText<Part>(text: TextStream, parser: ChunkParser<Part>) {
  for await (const chunk of text) yield parser.push(chunk);
  yield parser.end();
}

/**
 * Reads the beginning of a text, and passes the whole text to the reader that is chosen by it. Closes the text if that
 * reader does not finish.
 */
export async function* readAfterPeek<Row>(
  text: TextStream,
  length: number,
  read: (head: string, text: TextStream) => AsyncIterable<Row>,
): AsyncGenerator<Row> {
  await using stream = new Peekable(text);
  const head = (await stream.peek(length)).join('');
  yield* read(head, stream);
}
