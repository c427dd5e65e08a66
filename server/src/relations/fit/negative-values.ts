import { type ComparedAttribute, readComparable } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Budget } from '../../storage/threads/threads.ts';

/**
 * Whether a catalog has a negative value of an attribute. Only then may a missing value be negative. Source:
 * docs/interface §12.10 rule 11.
 */

/**
 * The documents of one state of a catalog. A document is one version of a product, and document ids only
 * grow.
 */
export interface SearchedVersions {
  readonly version: number;
  /** @returns the id of the newest document; 0 if there is none */
  findNewestDocument(): Promise<number>;
  /** @returns documents that may have a negative value under the key: the first `limit` by id */
  listSigned(page: SignedPage): Promise<readonly SignedDocument[]>;
  /** Whether one of these documents belongs to a present product. */
  hasAnyDocument(documents: readonly number[]): Promise<boolean>;
}

export interface SignedPage {
  /** A key of attributes in uploads. */
  readonly key: string;
  /** The page has ids greater than `after`, up to and including `upTo`. */
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** A document with its upload as JSON. */
export interface SignedDocument {
  readonly document: number;
  readonly raw: string;
}

/** The state of the search for one key in a thread. */
interface KeyState {
  /** The catalog version that `isAny` belongs to. */
  version: number;
  isAny: boolean;
  /** All documents up to this id have been read. */
  readUpTo: number;
  /**
   * Documents with a negative value. Includes documents that no present product has, because undoing a
   * commit brings them back.
   */
  readonly documents: Set<number>;
}

/** How many documents one statement reads, which takes about 10 ms. */
const PAGE = 5_000;
/** How many uploads one statement returns. */
const RETURNED = 50;
const MOST_KEYS = 1_000;
/**
 * The limit of documents for one key. Beyond it the key is forgotten and searched again for each catalog
 * version.
 */
const MOST_DOCUMENTS = 5_000;

/** Caches results by catalog version. A document never changes, so each document is read only once. */
export class NegativeValues {
  private readonly states = new BoundedMap<string, KeyState>({ most: MOST_KEYS });

  /** @throws search_too_long */
  async has(
    projectId: number,
    catalog: SearchedVersions,
    { attribute, limit }: { readonly attribute: ComparedAttribute; readonly limit: Budget },
  ): Promise<boolean> {
    const { keys, unitName, decimal, unitAliases } = attribute;
    // The sign is that of the uploaded value. A computation or the base unit could change it, so neither is
    // applied.
    const { dimension: _, term: __, ...read } = attribute;
    for (const key of keys) {
      const name = JSON.stringify([projectId, key, unitName, decimal, unitAliases]);
      if (await this.hasUnder(name, catalog, { attribute: read, key, limit })) return true;
    }
    return false;
  }

  private async hasUnder(name: string, catalog: SearchedVersions, search: KeySearch): Promise<boolean> {
    const { version } = catalog;
    const state = this.states.getOrInsertComputed(name, () => ({
      version: -1,
      isAny: false,
      readUpTo: 0,
      documents: new Set<number>(),
    }));
    if (state.version === version) return state.isAny;
    const isAny =
      (state.documents.size > 0 && (await catalog.hasAnyDocument([...state.documents]))) ||
      (await readOn(state, catalog, search));
    if (state.documents.size > MOST_DOCUMENTS) this.states.delete(name);
    state.version = version;
    state.isAny = isAny;
    return isAny;
  }
}

interface KeySearch {
  readonly attribute: ComparedAttribute;
  readonly key: string;
  readonly limit: Budget;
}

/** Reads documents until a present product with a negative value is found, or all documents are read. */
async function readOn(
  state: KeyState,
  catalog: SearchedVersions,
  { attribute, key, limit }: KeySearch,
): Promise<boolean> {
  const newest = await catalog.findNewestDocument();
  const isNegative = ({ raw }: SignedDocument) => {
    const { attributes } = JSON.parse(raw) as Pick<UploadedProduct, 'attributes'>;
    return attributes.some(
      (sent) => sent.key === key && Number(readComparable(sent.value, attribute) ?? 0) < 0,
    );
  };
  while (state.readUpTo < newest) {
    limit.check();
    const after = state.readUpTo;
    const upTo = Math.min(after + PAGE, newest);
    const rows = await catalog.listSigned({ key, after, upTo, limit: RETURNED });
    const negative = rows.filter(isNegative).map(({ document }) => document);
    for (const document of negative) state.documents.add(document);
    const last = rows.length < RETURNED ? upTo : (rows.at(-1)?.document ?? upTo);
    // Another question in the same thread may have advanced `readUpTo` in the meantime.
    state.readUpTo = Math.max(state.readUpTo, last);
    if (negative.length > 0 && (await catalog.hasAnyDocument(negative))) return true;
  }
  return false;
}
