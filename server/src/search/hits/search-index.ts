import type { ListedRow, PlacedRow } from '../../catalog/catalog.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { type SearchedCatalog, TAIL } from '../index-store/index-store.ts';
import type { FoundRow, SearchState } from '../search-port.ts';
import { hasWords, isInTier, listLexemes } from '../words/words.ts';
import type { SearchPlan } from './search-plan.ts';

/**
 * The index of search has the lexemes of every document. The first search makes it, and every later change updates
 * it, so updates before the first search cost nothing for it. It follows documents, which never change: entries of
 * removed documents are dead, and a restored product is found by its former document.
 */

const isUpToDate = (state: SearchState): boolean =>
  state.version === state.presentVersion || state.lastDocument >= state.newestDocument;

/** Searches do not wait for an index that lacks more documents than this. */
const FAR_BEHIND = 10_000;
/**
 * Searches do not wait until an index of more documents than this is built for the first time. Building an index of
 * this many documents takes 250 ms.
 */
const SOON_MADE = 5_000;

/** An index that was never complete must not answer, because it has an unknown part of the catalog. */
const mayBeIncomplete = (
  { version, newestDocument, lastDocument }: SearchState,
  allowIncomplete: IndexOrder['allowIncomplete'],
): boolean =>
  version > 0 &&
  (allowIncomplete === 'most' || (allowIncomplete === 'far' && newestDocument - lastDocument > FAR_BEHIND));

/** A question to the index on one state of a catalog; a thread answers it. */
export interface IndexOrder {
  readonly projectId: number;
  /**
   * Whether an answer may lack products of a change that is not in the index yet: `never`; `far`, if the index is far
   * behind; or `most`, if the caller has waited for it. Without an index, a search reads as many products as its time
   * allows.
   */
  readonly allowIncomplete: 'never' | 'far' | 'most';
}

/** Time limits of each part of a search, in ms of the clock `now`. */
export interface SearchLimits {
  readonly longestMs: number;
  now(): number;
}

/**
 * The limits for products that are read one after another, to count them or to fill the page. All other work uses the
 * index.
 */
export const LIMITS: SearchLimits = { longestMs: 5_000, now: () => performance.now() };

/** The index of one state of a catalog, with the products that it lacks. */
export interface OpenIndex {
  readonly snapshot: SearchedCatalog;
  /** Products that the index lacks, in the order of their documents. */
  readonly tail: readonly TailProduct[];
  /** For documents after this one, the former versions of their products are found. */
  readonly newer: number | undefined;
  readonly isBehind: boolean;
  /** False if there is no index yet; `tail` then has the hits in a part of the catalog. */
  readonly isMade: boolean;
  readonly state: SearchState | undefined;
  /**
   * Caches counts, because counting a million products reads 26 MB, and two words in them take 12 ms.
   * @param name names the count and the state in which it is counted
   */
  readonly countOnce: <Count extends object | number>(
    name: string,
    count: () => Promise<Count>,
  ) => Promise<Count>;
  readonly budget: Budget;
  readonly limits: SearchLimits;
}

/**
 * Opens the index. A search also scans the documents that the index lacks, if they are few. If they are many, it
 * finds only the former versions of their products.
 * @param sought the plan to scan the catalog with, if there is no index; undefined: no answer without an index
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
    const opened = { tail: (rows ?? []).map(readTail), newer, isBehind: !isUpToDate(state), isMade: true };
    if (rows !== undefined || mayBeIncomplete(state, allowIncomplete))
      return { snapshot, state, ...opened, ...parts };
  }
  if (sought !== undefined && (await isScanned(snapshot, state, allowIncomplete)))
    return scanCatalog(snapshot, sought, { state, ...parts });
  const { lastDocument, newestDocument } = state ?? { lastDocument: 0, newestDocument: 'all' };
  return { missing: `${lastDocument} of ${newestDocument} product versions are in the index` };
}

/**
 * @param state of an index that was never complete, or that must be complete
 * @returns whether the catalog is scanned instead
 */
async function isScanned(
  snapshot: SearchedCatalog,
  state: SearchState | undefined,
  allowIncomplete: IndexOrder['allowIncomplete'],
): Promise<boolean> {
  if (allowIncomplete !== 'far') return allowIncomplete === 'most';
  if (state === undefined) return (await snapshot.readLargestId()) > SOON_MADE;
  return state.version === 0 && state.newestDocument - state.lastDocument > SOON_MADE;
}

/** @returns undefined if too many documents are missing to scan them */
async function listUnindexed(snapshot: SearchedCatalog, state: SearchState) {
  if (isUpToDate(state)) return [];
  const { newestDocument, lastDocument } = state;
  return newestDocument - lastDocument <= TAIL ? snapshot.listTail(lastDocument) : undefined;
}

/** How long products are scanned without an index, and how many hits suffice. */
const SCAN_MS = 150;
const SCANNED_HITS = 1_000;
const SCAN_PAGE = 1_000;

/** Scans products without an index, oldest first. */
async function scanCatalog(
  snapshot: SearchedCatalog,
  { worded: { words }, tiers: { counted } }: SearchPlan,
  parts: Pick<OpenIndex, 'budget' | 'limits' | 'countOnce' | 'state'>,
): Promise<OpenIndex> {
  const isOver = startPart({ ...parts, limits: { ...parts.limits, longestMs: SCAN_MS } });
  const find = (row: ListedRow) => {
    const product = readTail({ ...row, document: row.id });
    return hasWords(row, words) && counted.some((tier) => isInTier(tier, product.lexemes)) ? product : [];
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
    // Computed on demand, because it takes most of the time of a product, and some answers need only the number of
    // products.
    get lexemes() {
      lexemes ??= listLexemes(JSON.parse(row.text));
      return lexemes;
    },
  };
}

/**
 * @returns a function that reports whether the time of the part that begins now is used up
 * @throws search_too_long, not_ready when its caller has disconnected
 */
export function startPart({ budget, limits }: Pick<OpenIndex, 'budget' | 'limits'>): () => boolean {
  const until = limits.now() + limits.longestMs;
  return () => {
    budget.charge();
    return limits.now() > until;
  };
}

/** A position among the hits: the number of tiers before it, and the document. */
export type HitPlace = readonly [tier: number, document: number];
export const writePlace = (position: HitPlace): string =>
  Buffer.from(position.join(' ')).toString('base64url');

/** @throws query_invalid */
export function readPlace(cursor: string): HitPlace {
  const [, tier, document] = /^(\d{1,9}) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (tier !== undefined && document !== undefined) return [Number(tier), Number(document)];
  throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the previous page');
}
