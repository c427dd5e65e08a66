import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AnswerForm, createAnswerBuffers } from '../../catalog/lookup/lookup.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ByteCache, CacheSpace } from '../../storage/storage.ts';
import { countPassedAtOnce } from '../../storage/threads/threads.ts';
import type { RelatedReason, Relation } from '../definitions/definitions.ts';
import type { CatalogMark } from '../search/search.ts';
import {
  type MetRelateInput,
  type RelateInput,
  type RelateOutput,
  type RequestedTag,
  STEP_BYTES,
} from './made-answers.ts';

/** The relations that a request names, as sent. */
export interface IncludedRelations {
  readonly includeRelations?: readonly { readonly id: number; readonly limit?: number }[] | undefined;
  readonly includeTags?: readonly { readonly tag: string; readonly limitPerRelation?: number }[] | undefined;
}

export interface RelatedRequest extends IncludedRelations {
  /** Each once. */
  readonly identifiers: readonly string[];
  readonly form: AnswerForm;
  readonly explain?: boolean | undefined;
  readonly assumed?: boolean | undefined;
  /** Of the sentences of explanations; that of the project if it is left out. */
  readonly locale?: string | undefined;
}

/** A part of an answer. */
export interface RelatedBytes {
  readonly bytes: Buffer;
  /** Call it when the bytes are sent; from then on they may be overwritten. */
  release(): void;
}

/** Consecutive parts of an answer. */
export type RelatedSteps = AsyncGenerator<RelatedBytes, void>;

/** A relation with the related products of one product. */
export interface FoundRelation {
  readonly id: number;
  readonly name: string;
  readonly tag: string;
  readonly searchResult: readonly {
    readonly identifier: string;
    readonly name: string;
    readonly brand: string;
    readonly link: string;
    readonly explain?: Pick<RelatedReason, 'match'>;
  }[];
}

/** @returns the whole answer, in memory that it shares with threads */
export async function joinSteps(steps: RelatedSteps): Promise<Uint8Array<SharedArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const { bytes, release } of steps) {
    parts.push(Buffer.from(bytes));
    release();
  }
  const joined = Buffer.concat(parts);
  const shared = new Uint8Array(new SharedArrayBuffer(joined.length));
  shared.set(joined);
  return shared;
}

/** In a thread. @returns the contents of an answer in the form single, by relation */
export function readRelated(answer: Uint8Array): FoundRelation[] {
  const { tags } = JSON.parse(Buffer.from(answer).toString()) as {
    tags: { tag: string; relations: Omit<FoundRelation, 'tag'>[] }[];
  };
  return tags.flatMap(({ tag, relations }) => relations.map((one) => ({ tag, ...one })));
}

/** Where answers come from that are not cached. */
interface AnswerStore {
  open(projectId: number): Promise<{ readonly mark: CatalogMark; readonly relations: readonly Relation[] }>;
  relate(request: MetRelateInput, signal: AbortSignal): Promise<RelateOutput>;
}

export interface RelatedAnswerParts {
  readonly store: AnswerStore;
  readonly cache: ByteCache;
  /** The settings of a project for its answers (§14.2), which every request reads. */
  recallSettings(
    projectId: number,
  ): Promise<{ readonly brandAttribute: string; readonly priceAttribute: string }>;
  /** The locale of a project, for sentences. */
  recallLocale(projectId: number): Promise<string>;
}

/** Groups and products per step; between two steps other requests get their turn. */
const GROUPS_PER_STEP = 5_000;
const SOURCES_PER_STEP = 100;

/**
 * @returns a function that checks a request and answers it step by step: `{"tags":[…]}` for each identifier, in the
 * order of the request. It throws bad_request and query_invalid before the first step, search_too_long in any.
 */
export function createRelatedAnswers({ store, cache, recallSettings, recallLocale }: RelatedAnswerParts) {
  const memory = new AnswerMemory(cache);
  const plans = new Plans();

  return async (
    project: ChosenProject,
    request: RelatedRequest,
    signal: AbortSignal,
  ): Promise<RelatedSteps> => {
    const { identifiers, form, explain = false, assumed = false } = request;
    const { brandAttribute } = await recallSettings(project.id);
    const { mark, relations } = await store.open(project.id);
    const { tags, groups } = plans.find(project.id, request, relations);
    checkSize(identifiers.length, groups);
    const locale = explain ? (request.locale ?? (await recallLocale(project.id))) : '';
    const input = {
      projectId: project.id,
      identifiers,
      tags,
      form,
      explain,
      assumed,
      locale,
      brandAttribute,
    };
    return answerInSteps(input, mark, { store, memory, signal });
  };
}

/** `mark`: the state of the catalog for the first step. */
async function* answerInSteps(
  input: RelateInput,
  mark: CatalogMark,
  { store, memory, signal }: { store: AnswerStore; memory: AnswerMemory; signal: AbortSignal },
): RelatedSteps {
  const { identifiers, projectId } = input;
  const [begin, close] = input.form === 'bulk' ? ['{', '}'] : ['', ''];
  const size = countSources(input.tags);
  let at = 0;
  do {
    // Cached steps end within one turn of the event loop; small requests wait for the next turn.
    if (at > 0) await nextTurn();
    const met = at === 0 ? mark : (await store.open(projectId)).mark;
    const step = { ...input, identifiers: identifiers.slice(at, at + size) };
    const read = (missing: RelateInput) => store.relate({ ...missing, ...met }, signal);
    const found = await memory.find(step, met.version, read);
    const head = at === 0 ? begin : ',';
    at += found.length;
    yield memory.join(found, step, { head, tail: at === identifiers.length ? close : '' });
  } while (at < identifiers.length);
}

export const DEFAULT_LIMIT = 10;
export const LARGEST_LIMIT = 100;
export const SOURCES_PER_REQUEST = 1_000;
const GROUPS_PER_REQUEST = 300_000;

/** @returns the identifiers, each once @throws bad_request if too many were sent, counting repeated ones */
export function checkSources(sent: readonly string[]): readonly string[] {
  if (sent.length <= SOURCES_PER_REQUEST) return [...new Set(sent)];
  const detail = `${sent.length} identifiers, at most ${SOURCES_PER_REQUEST} are answered at once`;
  throw new ServiceError('bad_request', detail);
}

/** @returns how many products a step answers */
function countSources(tags: readonly RequestedTag[]): number {
  const groups = tags.flatMap(({ relations }) => relations).reduce((sum, { limit }) => sum + limit, 0);
  return Math.max(1, Math.min(SOURCES_PER_STEP, Math.floor(GROUPS_PER_STEP / Math.max(groups, 1))));
}

/** @throws bad_request */
export function checkIncluded(included: IncludedRelations): void {
  if ((included.includeRelations ?? []).length + (included.includeTags ?? []).length > 0) return;
  throw new ServiceError('bad_request', 'send includeRelations, includeTags or both');
}

/** The relations to answer for each product. */
interface AnswerPlan {
  readonly tags: readonly RequestedTag[];
  /** The number of groups requested for one product, counting a relation each time that it is mentioned. */
  readonly groups: number;
}

/** Limits of remembered plans, over all projects, and of the characters of the request of each. */
const PLANS = { most: 1_000, longest: 1_000 };

/**
 * Plans of answers. The pages of a shop request the same few things for one product after another: planning
 * each anew took a tenth of the time of a cached answer.
 */
class Plans {
  private readonly known = new Map<string, AnswerPlan & { readonly relations: readonly Relation[] }>();

  /** @param relations of the present version of the catalog @throws bad_request */
  find(
    projectId: number,
    { includeTags, includeRelations }: IncludedRelations,
    relations: readonly Relation[],
  ): AnswerPlan {
    const included = { includeTags, includeRelations };
    const requested = JSON.stringify([projectId, includeTags, includeRelations]);
    const known = this.known.get(requested);
    if (known?.relations === relations) return known;
    checkIncluded(included);
    const plan = planAnswer(included, relations);
    if (requested.length > PLANS.longest) return plan;
    if (this.known.size >= PLANS.most) this.known.clear();
    this.known.set(requested, { ...plan, relations });
    return plan;
  }
}

/**
 * Tags in the order of their first mention, those of `includeTags` first; in a tag relations by id, each once
 * with the larger limit. Source: docs/interface §4.8 rules 12, 13 and 15.
 */
function planAnswer(requested: IncludedRelations, relations: readonly Relation[]): AnswerPlan {
  const included = listIncluded(requested, relations);
  const groups = included.reduce((sum, { limit }) => sum + limit, 0);
  const tags = new Map<string, Map<number, number>>();
  for (const { id, tag, limit } of included) {
    if (tag === undefined) continue;
    const limits = tags.getOrInsertComputed(tag, () => new Map<number, number>());
    limits.set(id, Math.max(limits.get(id) ?? 0, limit));
  }
  const planned = [...tags].map(([tag, limits]) => ({
    tag,
    relations: [...limits].map(([id, limit]) => ({ id, limit })).sort((a, b) => a.id - b.id),
  }));
  return { tags: planned, groups };
}

/** @returns each mention of a relation, by itself or by its tag; a tag without relations that give answers has none */
function listIncluded(
  { includeRelations = [], includeTags = [] }: IncludedRelations,
  relations: readonly Relation[],
): { readonly id: number; readonly tag: string | undefined; readonly limit: number }[] {
  const known = relations.filter(({ definition }) => definition.enabled);
  const tagOf = (id: number) => known.find((one) => one.id === id)?.definition.tag;
  return [
    ...includeTags.flatMap(({ tag, limitPerRelation: limit = DEFAULT_LIMIT }) =>
      known.filter(({ definition }) => definition.tag === tag).map(({ id }) => ({ id, tag, limit })),
    ),
    ...includeRelations.map(({ id, limit = DEFAULT_LIMIT }) => ({ id, tag: tagOf(id), limit })),
  ];
}

/** @throws query_invalid */
function checkSize(identifiers: number, limits: number): void {
  const groups = identifiers * limits;
  if (groups <= GROUPS_PER_REQUEST) return;
  throw new ServiceError(
    'query_invalid',
    `${identifiers} identifiers × limits of ${limits} are ${groups} groups, at most ${GROUPS_PER_REQUEST} are answered at once`,
  );
}

/** The answer of a product. */
interface FoundAnswer {
  readonly length: number;
  write(joined: Buffer, at: number): void;
}

/** Requests that differ only in their products share a number: answers are stored by number and product. */
const SIGNATURES = 10_000;

/** Cached answers, by catalog version, request and product. */
class AnswerMemory {
  private readonly cache: ByteCache;
  private readonly buffers = createAnswerBuffers();
  private readonly signatures = new Map<string, number>();
  /** The tags of plans as JSON. */
  private readonly texts = new WeakMap<readonly RequestedTag[], string>();
  private lastNumber = 0;

  constructor(cache: ByteCache) {
    this.cache = cache;
  }

  /**
   * @returns the answers of one version for the first products, up to `STEP_BYTES`: from the cache if they
   * are there, else from `read`, which may answer fewer than requested
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
    // Copied now, as reads and writes in between may evict it.
    const cached = Array.from(places, (place) => (place < 0 ? undefined : copyOut(space, place)));
    const missing = request.identifiers.filter((_, at) => cached[at] === undefined);
    const found = await read({ ...request, identifiers: missing });
    countPassedAtOnce(found.bytes.length);
    // The catalog has changed, or the reader lags; one answer must be of one version.
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

  /** @returns the answers between `head` and `tail`, separated by commas, in the bulk form each after its identifier */
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
    if (this.signatures.size > SIGNATURES) this.signatures.clear();
    const signature = `${form} ${explain} ${assumed} ${locale} ${text} ${brandAttribute}`;
    return this.signatures.getOrInsertComputed(signature, () => ++this.lastNumber);
  }
}

/** @returns the places of answers up to `STEP_BYTES`, at least one; those that are not cached count as empty */
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
