import { BoundedMap } from '../../kernel/bounded-map.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ByteCache, CacheSpace, Origin } from '../../storage/storage.ts';
import {
  type BudgetTerms,
  type BufferPool,
  countPassedAtOnce,
  type Loan,
  type QuestionPool,
} from '../../storage/threads/threads.ts';
import { MOST_UNKNOWN_KEYS } from '../ontology/ontology.ts';
import type { AnswerOrder, Frame, JoinedAnswers } from '../port.ts';
import { createAnswerBuffers } from './answer-buffers.ts';
import type { VersionWriter } from './cached-writer.ts';

const COMMA = 0x2c;
const MIB = 1024 * 1024;
const KNOWN_CATALOGS = 10_000;
/** Source: docs/interface §8. */
const ANSWER_MAX_MIB = 32;
/** Making the longest answer takes a second. */
const MAKING: BudgetTerms = { ms: 60_000, refusal: 'question_too_long' };
/** The largest answer that the serving thread joins from memory; 8 MiB take it 4 ms. */
const JOINED_AT_ONCE_BYTES = 8 * MIB;
/**
 * The largest uploads together from which the serving thread makes answers; this takes about 10 ms. Another thread
 * makes longer lookups.
 */
export const MADE_AT_ONCE_BYTES = 512 * 1024;

/** One version of a catalog. */
export interface AnsweredCatalog {
  readonly projectId: number;
  readonly version: number;
  /** The edition of its ontology. With the same edition and document, an answer is the same in all versions. */
  readonly edition: number;
  readonly grown?: VersionWriter['grown'];
  /**
   * Only the writer owns the keys. 1,000 keys take 70 KiB, and the cache has answers of many more catalogs than have
   * a writer.
   */
  readonly unknownKeys: VersionWriter['unknownKeys'];
}

/** The answer of a store for one product. */
export interface ServedAnswer {
  readonly id: number;
  readonly document: number;
  readonly updatedAt: number;
  /** JSON without id and time. */
  readonly answer: Uint8Array;
}

/** An answer that was not cached: the stored bytes between its id and its time. It is not parsed. */
interface ReadAnswer {
  readonly identifier: string;
  readonly head: string;
  readonly stored: Uint8Array;
  readonly tail: string;
  readonly origin: Origin;
}

/** Finds a product whose present version is not cached. */
interface Finding {
  /** @returns the document and time of a product from its row, if reading the row is fast */
  findOrigin?(identifier: string): Omit<Origin, 'state'> | undefined;
  find(identifier: string): ServedAnswer | 'long' | undefined;
}

/** A lookup that another thread made. */
export interface MadeAnswers {
  readonly version: number;
  /** The products in their frame, separated by commas: in the room, or in separate memory if there was no room. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** The products found, in the order of the request, each with the number of its bytes. */
  readonly products: readonly MadeAnswer[];
  readonly unknownKeys: ReadonlySet<string>;
}

export interface MadeAnswer {
  readonly identifier: string;
  readonly length: number;
  readonly document: number;
  readonly updatedAt: number;
}

export interface LookupParts {
  readonly cache: ByteCache;
  readonly makers: QuestionPool;
  readonly buffers: BufferPool;
}

/** The lookups of one thread, from the cache if possible: docs/interface §4.2. */
export class LookupAnswers {
  private readonly parts: LookupParts;
  private readonly buffers = createAnswerBuffers();
  /** The catalogs in the states that were answered last. */
  private readonly catalogs = new BoundedMap<number, AnsweredCatalog>({ most: KNOWN_CATALOGS });
  /** The keys on which the answers of a space may depend; undefined if several writers made them. */
  private readonly unknownKeys = new WeakMap<CacheSpace, VersionWriter['unknownKeys'] | undefined>();
  private requests = 0;

  constructor(parts: LookupParts) {
    this.parts = parts;
  }

  /**
   * @returns the answer if it is completely cached for this version of the catalog and short enough for the serving
   * thread
   */
  findCached(
    catalog: AnsweredCatalog,
    identifiers: readonly string[],
    frame: Frame,
  ): JoinedAnswers | undefined {
    const space = this.open(catalog);
    this.requests = (this.requests + 1) | 0;
    const positions: number[] = [];
    for (const position of space.findAll(identifiers)) {
      if (position < 0 || space.seenIn(position) !== catalog.version) return undefined;
      if (space.mark(position, this.requests)) positions.push(position);
    }
    return this.join({ space, positions, read: [] }, frame);
  }

  /** @returns the catalog in the state that was answered last; its cached answers are valid if it has not changed */
  findLastAnswered(projectId: number): AnsweredCatalog | undefined {
    return this.catalogs.get(projectId);
  }

  /** @returns whether all products are cached, provided that the catalog still has this version */
  holdsAll(catalog: AnsweredCatalog, identifiers: readonly string[]): boolean {
    return !this.open(catalog).findAll(identifiers).includes(-1);
  }

  /** @returns the origin of each cached answer, for a store that compares origins itself */
  listOrigins(
    catalog: AnsweredCatalog,
    identifiers: readonly string[],
  ): readonly (Omit<Origin, 'state'> | undefined)[] {
    const space = this.open(catalog);
    return Array.from(space.findAll(identifiers), (position) =>
      position < 0 ? undefined : space.originOf(position),
    );
  }

  /**
   * Joins the answers of a lookup, from the cache if a product is unchanged, otherwise from `find`.
   * @returns the answers in the order of the request, each product once, of one version; undefined if `find` or
   * joining would take long
   */
  answer(
    catalog: AnsweredCatalog,
    requested: { identifiers: readonly string[]; frame: Frame },
    store: Finding,
  ): JoinedAnswers | undefined {
    const space = this.open(catalog);
    this.requests = (this.requests + 1) | 0;
    const positions: number[] = [];
    const read: ReadAnswer[] = [];
    for (const identifier of new Set(requested.identifiers)) {
      const position = space.find(identifier);
      if (position >= 0 && isRight(space, position, { identifier, version: catalog.version, store })) {
        space.mark(position, this.requests);
        positions.push(position);
        continue;
      }
      // A lone surrogate would be read as U+FFFD, which may be in the identifier of another product.
      const served = identifier.isWellFormed() ? store.find(identifier) : undefined;
      if (served === undefined) continue;
      if (served === 'long') return undefined;
      positions.push(-1 - read.length);
      const origin = originOf(served, catalog);
      read.push({ identifier, stored: served.answer, origin, ...writeAround(served) });
    }
    return this.join({ space, positions, read }, requested.frame);
  }

  /** Has another thread make the answer; `release` frees its memory. @throws answer_too_large */
  async make(order: AnswerOrder, signal: AbortSignal): Promise<JoinedAnswers> {
    const { projectId, frame } = order;
    let loan: Loan | undefined;
    // Takes the memory only when the question's turn comes.
    const takeRoom = () => {
      loan = this.parts.buffers.take(ANSWER_MAX_MIB * MIB);
      return { ...order, room: loan.bytes };
    };
    const release = () => loan?.giveBack();
    const answers = await this.parts.makers.ask<MadeAnswers>('makeAnswers', takeRoom, {
      key: projectId,
      terms: MAKING,
      signal,
      // The thread may still write into the memory after its caller has disconnected.
      onUnanswered: release,
    });
    return { ...this.keepMade(projectId, frame, answers), release };
  }

  private keepMade(
    projectId: number,
    frame: Frame,
    { version, bytes: answerBytes, products, unknownKeys }: MadeAnswers,
  ) {
    countPassedAtOnce(answerBytes.length);
    const bytes = Buffer.from(answerBytes.buffer, answerBytes.byteOffset, answerBytes.length);
    let offset = frame.head.length;
    const parts = products.map(({ length }) => {
      const part = bytes.subarray(offset, offset + length);
      offset += length + 1;
      return part;
    });
    const catalog = this.findLastAnswered(projectId);
    // Another version may also have another ontology.
    if (bytes.length <= JOINED_AT_ONCE_BYTES && catalog?.version === version) {
      const space = this.open(catalog);
      const writerKeys = catalog.unknownKeys.deref();
      for (const key of unknownKeys)
        if (writerKeys && writerKeys.size < MOST_UNKNOWN_KEYS) writerKeys.add(key);
      for (const [index, product] of products.entries())
        space.keep(product.identifier, parts[index] as Uint8Array, originOf(product, catalog));
    }
    return { bytes, count: parts.length, products: parts };
  }

  private open(catalog: AnsweredCatalog): CacheSpace {
    const { projectId, edition, grown, unknownKeys } = catalog;
    const { cache } = this.parts;
    this.catalogs.set(projectId, { ...catalog, grown: undefined });
    const name = `answers of ${projectId}`;
    if (grown !== undefined)
      cache.keepFor(edition, { name, version: grown.from }, (space) => {
        const keys = this.unknownKeys.get(space)?.deref();
        return (
          keys !== undefined && keys.size < MOST_UNKNOWN_KEYS && keys.isDisjointFrom(new Set(grown.keys))
        );
      });
    const space = cache.of(name, edition);
    if (!this.unknownKeys.has(space)) this.unknownKeys.set(space, unknownKeys);
    else if (this.unknownKeys.get(space) !== unknownKeys) this.unknownKeys.set(space, undefined);
    return space;
  }

  /**
   * Joins answers, and caches the new ones after all are copied, because caching may evict others.
   * @param positions positions in the cache; a negative one is -1 minus the index of an answer that was read
   */
  private join(
    {
      space,
      positions,
      read,
    }: { space: CacheSpace; positions: readonly number[]; read: readonly ReadAnswer[] },
    { head, tail }: Frame,
  ): JoinedAnswers | undefined {
    const sizeAt = (position: number) =>
      position >= 0 ? space.lengthAt(position) : sizeOf(read[-1 - position]);
    let length = head.length + tail.length + Math.max(positions.length - 1, 0);
    for (const position of positions) length += sizeAt(position);
    if (length > JOINED_AT_ONCE_BYTES) return undefined;
    const { buffer, release } = this.buffers.take(length);
    buffer.set(head);
    let offset = head.length;
    const starts: number[] = [];
    for (const position of positions) {
      if (offset > head.length) buffer[offset++] = COMMA;
      if (position < 0) starts.push(offset);
      offset +=
        position >= 0 ? space.copy(position, buffer, offset) : write(read[-1 - position], buffer, offset);
    }
    buffer.set(tail, offset);
    read.forEach((answer, index) => {
      const start = starts[index] as number;
      space.keep(answer.identifier, buffer.subarray(start, start + sizeOf(answer)), answer.origin);
    });
    return { bytes: buffer.subarray(0, length), count: positions.length, release };
  }
}

const originOf = (
  { document, updatedAt }: Pick<ServedAnswer, 'document' | 'updatedAt'>,
  { version }: AnsweredCatalog,
): Origin => ({ document, at: updatedAt, state: version });

/** Compares a cached answer with the row of its product, because a new version changes few products. */
function isRight(
  space: CacheSpace,
  position: number,
  { identifier, version, store }: { identifier: string; version: number; store: Finding },
): boolean {
  if (space.seenIn(position) === version) return true;
  const origin = store.findOrigin?.(identifier);
  if (origin === undefined || !space.isOf(position, { ...origin, state: version })) return false;
  space.see(position, version);
  return true;
}

export const tooLarge = () => new ServiceError('answer_too_large', { values: [ANSWER_MAX_MIB] });

/** Accepts a single product of any size. @throws answer_too_large for several products above the limit */
export function refuseLarge(bytes: number, products: number): void {
  if (products > 1 && bytes > ANSWER_MAX_MIB * MIB) throw tooLarge();
}

/** @returns the texts before and after the stored part of an answer */
export const writeAround = ({ id, updatedAt }: { readonly id: number; readonly updatedAt: number }) => ({
  head: `{"id":${id},`,
  tail: `,"lastUpdateTs":${updatedAt}}`,
});

function sizeOf(answer: ReadAnswer | undefined): number {
  return answer === undefined ? 0 : answer.head.length + answer.stored.length + answer.tail.length;
}

function write(answer: ReadAnswer | undefined, target: Buffer, start: number): number {
  if (answer === undefined) return 0;
  let offset = start + target.write(answer.head, start, 'latin1');
  target.set(answer.stored, offset);
  offset += answer.stored.length;
  offset += target.write(answer.tail, offset, 'latin1');
  return offset - start;
}
