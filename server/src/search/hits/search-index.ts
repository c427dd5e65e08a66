import type { ListedRow, PlacedRow } from '../../catalog/catalog.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { type SearchedCatalog, TAIL } from '../index-store/index-store.ts';
import type { FoundRow, SearchState } from '../search-port.ts';
import { hasWords, isInTier, listLexemes } from '../words/words.ts';
import type { SearchPlan } from './search-plan.ts';

/**
 * The index of search: the lexemes of every document, made at the first search and updated after every later
 * change, so that updates pay nothing for it before. It follows documents, which never change: entries of
 * removed documents are dead, and a restored product is found by its former document.
 */

const isUpToDate = (state: SearchState): boolean =>
  state.version === state.presentVersion || state.lastDocument >= state.newestDocument;

/** Searches do not wait for an index that is further behind. */
const FAR_BEHIND = 10_000;
/** Nor for the first building of an index of more documents: this many take 250 ms. */
const SOON_MADE = 5_000;

/** Before it was first complete, a search would find an unknown part of the catalog. */
const mayBeIncomplete = (
  { version, newestDocument, lastDocument }: SearchState,
  allowIncomplete: IndexOrder['allowIncomplete'],
): boolean =>
  version > 0 &&
  (allowIncomplete === 'most' || (allowIncomplete === 'far' && newestDocument - lastDocument > FAR_BEHIND));

/** A question to the index, on one state of a catalog, in a thread. */
export interface IndexOrder {
  readonly projectId: number;
  /**
   * Whether an answer may lack products of a change that is not in the index yet: `never`, `far` if the index is far
   * behind, or `most`, once the caller has waited for it. Without an index, as many products are read as time allows.
   */
  readonly allowIncomplete: 'never' | 'far' | 'most';
}

/** Time limits for each part of a search, in ms of the clock beside them. */
export interface SearchLimits {
  readonly longestMs: number;
  now(): number;
}

/** For products that are read one by one, for the count and for the page; everything else uses the index. */
export const LIMITS: SearchLimits = { longestMs: 5_000, now: () => performance.now() };

/** The index of one state of a catalog, with what it does not contain. */
export interface OpenIndex {
  readonly snapshot: SearchedCatalog;
  /** Products that the index lacks, in the order of their documents. */
  readonly tail: readonly TailProduct[];
  /** Documents after this one are found by the former versions of their products. */
  readonly newer: number | undefined;
  readonly isBehind: boolean;
  /** False if there is none yet; `tail` then has the matches in a part of the catalog. */
  readonly isMade: boolean;
  readonly state: SearchState | undefined;
  /** @param what names it, with the state that it is counted in: to count a million products reads 26 MB, and two words in them take 12 ms */
  readonly countOnce: <Count extends object | number>(
    what: string,
    count: () => Promise<Count>,
  ) => Promise<Count>;
  readonly budget: Budget;
  readonly limits: SearchLimits;
}

/**
 * A few documents missing from the index are scanned in addition; if there are many, a search only knows the former versions.
 * @param sought what is looked for without an index; undefined: no answer without one
 */
export async function openIndex(
  snapshot: SearchedCatalog,
  { allowIncomplete, sought }: Pick<IndexOrder, 'allowIncomplete'> & { sought: SearchPlan | undefined },
  parts: Pick<OpenIndex, 'budget' | 'limits' | 'countOnce'>,
): Promise<OpenIndex | { readonly missing: string }> {
  const state = await snapshot.readSearchState();
  if (state !== undefined) {
    const rows = await listUnindexed(snapshot, state);
    const newer = rows === undefined ? state.lastDocument : undefined;
    const found = { tail: (rows ?? []).map(readTail), newer, isBehind: !isUpToDate(state), isMade: true };
    if (rows !== undefined || mayBeIncomplete(state, allowIncomplete))
      return { snapshot, state, ...found, ...parts };
  }
  if (sought !== undefined && (await isScanned(snapshot, state, allowIncomplete)))
    return scanCatalog(snapshot, sought, { state, ...parts });
  const { lastDocument, newestDocument } = state ?? { lastDocument: 0, newestDocument: 'all' };
  return { missing: `${lastDocument} of ${newestDocument} product versions are in the index` };
}

/** @param state of an index that was never complete, or that must be complete */
async function isScanned(
  snapshot: SearchedCatalog,
  state: SearchState | undefined,
  allowIncomplete: IndexOrder['allowIncomplete'],
): Promise<boolean> {
  if (allowIncomplete !== 'far') return allowIncomplete === 'most';
  if (state === undefined) return (await snapshot.readLargestId()) > SOON_MADE;
  return state.version === 0 && state.newestDocument - state.lastDocument > SOON_MADE;
}

/** @returns undefined if there are too many to scan */
async function listUnindexed(snapshot: SearchedCatalog, state: SearchState) {
  if (isUpToDate(state)) return [];
  const { newestDocument, lastDocument } = state;
  return newestDocument - lastDocument <= TAIL ? snapshot.listTail(lastDocument) : undefined;
}

/** How long products are read without an index, and how many hits suffice. */
const SCAN_MS = 150;
const SCANNED_HITS = 1_000;
const SCAN_PAGE = 1_000;

/** Scans products, oldest first, instead of using an index. */
async function scanCatalog(
  snapshot: SearchedCatalog,
  { worded: { words }, tiers: { counted } }: SearchPlan,
  parts: Pick<OpenIndex, 'budget' | 'limits' | 'countOnce' | 'state'>,
): Promise<OpenIndex> {
  const isOver = startPart({ ...parts, limits: { ...parts.limits, longestMs: SCAN_MS } });
  const find = (row: ListedRow) => {
    const one = readTail({ ...row, document: row.id });
    return hasWords(row, words) && counted.some((tier) => isInTier(tier, one.lexemes)) ? one : [];
  };
  const tail: TailProduct[] = [];
  const upTo = await snapshot.readLargestId();
  for (let after = 0; after < upTo && tail.length < SCANNED_HITS && !isOver(); ) {
    const { rows } = await snapshot.listById({ after, upTo, limit: SCAN_PAGE });
    tail.push(...rows.flatMap(find));
    after = rows.at(-1)?.id ?? upTo;
  }
  return { snapshot, tail, newer: undefined, isBehind: true, isMade: false, ...parts };
}

interface TailProduct {
  readonly row: FoundRow;
  readonly lexemes: ReadonlySet<string>;
}

function readTail(row: PlacedRow): TailProduct {
  let lexemes: TailProduct['lexemes'] | undefined;
  return {
    row: { ...row, present: row.document },
    // Computed on demand: it takes most of a product's time, and some answers only need the number of products.
    get lexemes() {
      lexemes ??= listLexemes(JSON.parse(row.text));
      return lexemes;
    },
  };
}

/** @returns a function that tells if the time of the part that begins now is up @throws search_too_long, not_ready once its caller has left */
export function startPart({ budget, limits }: Pick<OpenIndex, 'budget' | 'limits'>): () => boolean {
  const until = limits.now() + limits.longestMs;
  return () => {
    budget.charge();
    return limits.now() > until;
  };
}

/** The number of tiers before a place, and the document there. */
export type HitPlace = readonly [tier: number, document: number];
export const writePlace = (place: HitPlace): string => Buffer.from(place.join(' ')).toString('base64url');

/** @throws query_invalid */
export function readPlace(cursor: string): HitPlace {
  const [, tier, document] = /^(\d{1,9}) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (tier !== undefined && document !== undefined) return [Number(tier), Number(document)];
  throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the page before');
}
