import { type ComparedAttribute, readComparable } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Budget } from '../../storage/threads/threads.ts';

/**
 * Whether a product of a catalog has a negative value of an attribute: only then may a missing value be negative. Source:
 * docs/interface §12.10 rule 11.
 */

/** Versions of products by their ids, which grow, in one state of a catalog. */
export interface SearchedVersions {
  readonly version: number;
  /** @returns the id of the newest version; 0 without any */
  findNewestDocument(): Promise<number>;
  /** @returns versions that may have a negative value under the key, the first `limit` by id */
  listSigned(page: SignedPage): Promise<readonly SignedDocument[]>;
  /** Whether a product is in one of these versions. */
  hasAnyDocument(documents: readonly number[]): Promise<boolean>;
}

export interface SignedPage {
  /** Of uploads. */
  readonly key: string;
  /** Ids after this one, and up to the other one. */
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** The version of a product, with its upload as JSON. */
export interface SignedDocument {
  readonly document: number;
  readonly raw: string;
}

/** What is known about a key, in a thread. */
interface Known {
  /** The version of the catalog that `isAny` belongs to. */
  version: number;
  isAny: boolean;
  /** Versions of products up to this id have been read. */
  readUpTo: number;
  /** Those with a negative value, whether or not a product is in them: undoing a commit returns to them. */
  readonly documents: Set<number>;
}

/** Versions of products that a statement reads: about 10 ms. */
const PAGE = 5_000;
/** Uploads that a statement returns. */
const RETURNED = 50;
const MOST_KEYS = 1_000;
/** More versions with a negative value of one key are found again in each version of the catalog. */
const MOST_DOCUMENTS = 5_000;

/** Answers are cached by version of the catalog. A version of a product never changes, so each is read once. */
export class NegativeValues {
  private readonly known = new BoundedMap<string, Known>({ most: MOST_KEYS });

  /** @throws search_too_long */
  async has(
    projectId: number,
    catalog: SearchedVersions,
    { attribute, limit }: { readonly attribute: ComparedAttribute; readonly limit: Budget },
  ): Promise<boolean> {
    const { keys, unitName, decimal, unitAliases } = attribute;
    // A value is negative as uploaded: a computation on the attribute or its base unit may have another sign.
    const { dimension: _, term: __, ...read } = attribute;
    for (const key of keys) {
      const name = JSON.stringify([projectId, key, unitName, decimal, unitAliases]);
      if (await this.hasUnder(name, catalog, { attribute: read, key, limit })) return true;
    }
    return false;
  }

  private async hasUnder(name: string, catalog: SearchedVersions, search: KeySearch): Promise<boolean> {
    const { version } = catalog;
    const known = this.known.getOrInsertComputed(name, () => ({
      version: -1,
      isAny: false,
      readUpTo: 0,
      documents: new Set<number>(),
    }));
    if (known.version === version) return known.isAny;
    const isAny =
      (known.documents.size > 0 && (await catalog.hasAnyDocument([...known.documents]))) ||
      (await readOn(known, catalog, search));
    if (known.documents.size > MOST_DOCUMENTS) this.known.delete(name);
    known.version = version;
    known.isAny = isAny;
    return isAny;
  }
}

interface KeySearch {
  readonly attribute: ComparedAttribute;
  readonly key: string;
  readonly limit: Budget;
}

/** Reads versions of products until one with a negative value is in the catalog, or all are read. */
async function readOn(
  known: Known,
  catalog: SearchedVersions,
  { attribute, key, limit }: KeySearch,
): Promise<boolean> {
  const newest = await catalog.findNewestDocument();
  const isNegative = ({ raw }: SignedDocument) => {
    const { attributes } = JSON.parse(raw) as Pick<UploadedProduct, 'attributes'>;
    return attributes.some((one) => one.key === key && Number(readComparable(one.value, attribute) ?? 0) < 0);
  };
  while (known.readUpTo < newest) {
    limit.check();
    const after = known.readUpTo;
    const upTo = Math.min(after + PAGE, newest);
    const rows = await catalog.listSigned({ key, after, upTo, limit: RETURNED });
    const negative = rows.filter(isNegative).map(({ document }) => document);
    for (const document of negative) known.documents.add(document);
    const last = rows.length < RETURNED ? upTo : (rows.at(-1)?.document ?? upTo);
    // Another question of the same thread may have read further meanwhile.
    known.readUpTo = Math.max(known.readUpTo, last);
    if (negative.length > 0 && (await catalog.hasAnyDocument(negative))) return true;
  }
  return false;
}
