import { createAnswerBuffers } from '../../catalog/lookup/lookup.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { ByteCache, CacheSpace } from '../../storage/storage.ts';
import { countPassedAtOnce } from '../../storage/threads/threads.ts';
import { type RelateInput, type RelateOutput, type RequestedTag, STEP_BYTES } from './relate-request.ts';

/** A part of an answer. */
export interface RelatedBytes {
  readonly bytes: Buffer;
  /** Call it after the bytes are sent. From then on they may be overwritten. */
  release(): void;
}

/** The answer for one product. */
interface FoundAnswer {
  readonly length: number;
  write(joined: Buffer, start: number): void;
}

/**
 * The most request numbers that are remembered. Requests that differ only in their products share a number,
 * because answers are stored by number and product.
 */
const SIGNATURES = 10_000;

/** Caches answers by catalog version, request and product. */
export class AnswerMemory {
  private readonly cache: ByteCache;
  private readonly buffers = createAnswerBuffers();
  private readonly signatures = new BoundedMap<string, number>({ most: SIGNATURES });
  /** The tags of plans as JSON. */
  private readonly texts = new WeakMap<readonly RequestedTag[], string>();
  private lastNumber = 0;

  constructor(cache: ByteCache) {
    this.cache = cache;
  }

  /**
   * @returns the answers of one version for the first products, up to `STEP_BYTES`. Answers that are not
   * cached come from `read`, which may answer fewer products than requested.
   */
  async find(
    whole: RelateInput,
    version: number,
    read: (input: RelateInput) => Promise<RelateOutput>,
  ): Promise<FoundAnswer[]> {
    const space = this.cache.of(`relations of ${whole.projectId}`, version);
    const number = this.numberOf(whole);
    const allKeys = whole.identifiers.map((identifier) => `${number} ${identifier}`);
    const positions = takeFirst(space, space.findAll(allKeys));
    if (!positions.includes(-1)) return Array.from(positions, (position) => cachedAt(space, position));
    const request = { ...whole, identifiers: whole.identifiers.slice(0, positions.length) };
    // Copies the cached answers now, because they may be evicted before all parts are read.
    const cached = Array.from(positions, (position) => (position < 0 ? undefined : copyOut(space, position)));
    const missing = request.identifiers.filter((_, index) => cached[index] === undefined);
    const output = await read({ ...request, identifiers: missing });
    countPassedAtOnce(output.bytes.length);
    // The catalog has changed, or the reader lags. All answers of a step must have the same version, so all
    // are read again.
    if (output.version !== version)
      return splitAnswers(missing.length < cached.length ? await read(request) : output).map(toFound);
    const answers = splitAnswers(output);
    const parts: Uint8Array[] = [];
    let next = 0;
    for (const [partIndex, bytes] of cached.entries()) {
      const part = bytes ?? answers[next++];
      if (part === undefined) break;
      if (bytes === undefined) space.keep(allKeys[partIndex] as string, part);
      parts.push(part);
    }
    return parts.map(toFound);
  }

  /**
   * @returns the answers between `head` and `tail`, separated by commas. In the bulk form, its identifier
   * precedes each answer.
   */
  join(
    answers: readonly FoundAnswer[],
    { identifiers, form }: RelateInput,
    { head, tail }: { head: string; tail: string },
  ): RelatedBytes {
    const labels = identifiers
      .slice(0, answers.length)
      .map((identifier, index) =>
        Buffer.from(form === 'bulk' ? `${index > 0 ? ',' : ''}${JSON.stringify(identifier)}:` : ''),
      );
    const length = [...labels, ...answers].reduce(
      (sum, part) => sum + part.length,
      head.length + tail.length,
    );
    const { buffer, release } = this.buffers.take(length);
    let end = buffer.write(head, 'latin1');
    for (const [position, label] of labels.entries()) {
      end += label.copy(buffer, end);
      const answer = answers[position] as FoundAnswer;
      answer.write(buffer, end);
      end += answer.length;
    }
    buffer.write(tail, end, 'latin1');
    return { bytes: buffer.subarray(0, length), release };
  }

  private numberOf(input: RelateInput): number {
    const { tags, form, explain, assumed, locale, brandAttribute } = input;
    const text = this.texts.getOrInsertComputed(tags, (requestedTags) => JSON.stringify(requestedTags));
    const signature = `${form} ${explain} ${assumed} ${locale} ${text} ${brandAttribute}`;
    return this.signatures.getOrInsertComputed(signature, () => ++this.lastNumber);
  }
}

/**
 * @returns the first positions whose answers take up to `STEP_BYTES`, but at least one position. An answer
 * that is not cached counts as empty.
 */
function takeFirst(space: CacheSpace, positions: Int32Array): Int32Array {
  let bytes = 0;
  const end = positions.findIndex((position) => {
    const isFull = bytes >= STEP_BYTES;
    if (position >= 0) bytes += space.lengthAt(position);
    return isFull;
  });
  return end < 0 ? positions : positions.subarray(0, end);
}

function copyOut(space: CacheSpace, position: number): Uint8Array {
  space.mark(position, 1);
  const bytes = new Uint8Array(space.lengthAt(position));
  space.copy(position, bytes, 0);
  return bytes;
}

const toFound = (bytes: Uint8Array): FoundAnswer => ({
  length: bytes.length,
  write: (joined, start) => joined.set(bytes, start),
});

const cachedAt = (space: CacheSpace, position: number): FoundAnswer => ({
  length: space.lengthAt(position),
  write(joined, start) {
    space.mark(position, 1);
    space.copy(position, joined, start);
  },
});

const splitAnswers = ({ bytes, ends }: RelateOutput): Uint8Array[] =>
  Array.from(ends, (end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
