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
  write(joined: Buffer, at: number): void;
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
    const places = takeFirst(space, space.findAll(allKeys));
    if (!places.includes(-1)) return Array.from(places, (place) => cachedAt(space, place));
    const request = { ...whole, identifiers: whole.identifiers.slice(0, places.length) };
    // Copies the cached answers now, because they may be evicted before all parts are read.
    const cached = Array.from(places, (place) => (place < 0 ? undefined : copyOut(space, place)));
    const missing = request.identifiers.filter((_, at) => cached[at] === undefined);
    const found = await read({ ...request, identifiers: missing });
    countPassedAtOnce(found.bytes.length);
    // The catalog has changed, or the reader lags. All answers of a step must have the same version, so all
    // are read again.
    if (found.version !== version)
      return splitAnswers(missing.length < cached.length ? await read(request) : found).map(toFound);
    const answers = splitAnswers(found);
    const parts: Uint8Array[] = [];
    let next = 0;
    for (const [at, bytes] of cached.entries()) {
      const part = bytes ?? answers[next++];
      if (part === undefined) break;
      if (bytes === undefined) space.keep(allKeys[at] as string, part);
      parts.push(part);
    }
    return parts.map(toFound);
  }

  /**
   * @returns the answers between `head` and `tail`, separated by commas. In the bulk form, its identifier
   * precedes each answer.
   */
  join(
    found: readonly FoundAnswer[],
    { identifiers, form }: RelateInput,
    { head, tail }: { head: string; tail: string },
  ): RelatedBytes {
    const labels = identifiers
      .slice(0, found.length)
      .map((identifier, at) =>
        Buffer.from(form === 'bulk' ? `${at > 0 ? ',' : ''}${JSON.stringify(identifier)}:` : ''),
      );
    const length = [...labels, ...found].reduce((sum, one) => sum + one.length, head.length + tail.length);
    const { buffer, release } = this.buffers.take(length);
    let end = buffer.write(head, 'latin1');
    for (const [at, label] of labels.entries()) {
      end += label.copy(buffer, end);
      const one = found[at] as FoundAnswer;
      one.write(buffer, end);
      end += one.length;
    }
    buffer.write(tail, end, 'latin1');
    return { bytes: buffer.subarray(0, length), release };
  }

  private numberOf(input: RelateInput): number {
    const { tags, form, explain, assumed, locale, brandAttribute } = input;
    const text = this.texts.getOrInsertComputed(tags, (one) => JSON.stringify(one));
    const signature = `${form} ${explain} ${assumed} ${locale} ${text} ${brandAttribute}`;
    return this.signatures.getOrInsertComputed(signature, () => ++this.lastNumber);
  }
}

/**
 * @returns the places of answers up to `STEP_BYTES`, but at least one. An answer that is not cached counts as
 * empty.
 */
function takeFirst(space: CacheSpace, places: Int32Array): Int32Array {
  let bytes = 0;
  const end = places.findIndex((place) => {
    const isFull = bytes >= STEP_BYTES;
    if (place >= 0) bytes += space.lengthAt(place);
    return isFull;
  });
  return end < 0 ? places : places.subarray(0, end);
}

function copyOut(space: CacheSpace, place: number): Uint8Array {
  space.mark(place, 1);
  const bytes = new Uint8Array(space.lengthAt(place));
  space.copy(place, bytes, 0);
  return bytes;
}

const toFound = (bytes: Uint8Array): FoundAnswer => ({
  length: bytes.length,
  write: (joined, at) => joined.set(bytes, at),
});

const cachedAt = (space: CacheSpace, place: number): FoundAnswer => ({
  length: space.lengthAt(place),
  write(joined, at) {
    space.mark(place, 1);
    space.copy(place, joined, at);
  },
});

const splitAnswers = ({ bytes, ends }: RelateOutput): Uint8Array[] =>
  Array.from(ends, (end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
