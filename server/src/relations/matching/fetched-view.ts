import type { Membership } from '../memberships/memberships.ts';
import {
  type Candidate,
  type CandidateSearch,
  expectCandidates,
  type FoundSource,
  growPage,
  type LinkedProduct,
  type LinkSearch,
  type RankedPlace,
  type RelationView,
  type StoredUpload,
  type Variant,
  type VariantSearch,
} from './related-view.ts';

/** The part of a list of candidates that has been read. */
interface ReadList {
  readonly candidates: Candidate[];
  readonly last: RankedPlace | undefined;
  readonly size: number;
  readonly isComplete: boolean;
}

/** The values of one kind that a view has fetched. */
class Fetched<Key, Value> {
  /** Keys that the work requested and that are not fetched yet. */
  readonly missing = new Set<Key>();
  /** The number of requests for keys that were not fetched. */
  misses = 0;
  private readonly values = new Map<Key, Value>();
  private readonly absent: (key: Key) => Value;

  /** @param absent returns the value for a key that the catalog does not have */
  constructor(absent: (key: Key) => Value) {
    this.absent = absent;
  }

  add(key: Key, value: Value): void {
    this.values.set(key, value);
  }

  find(key: Key): Value | undefined {
    const value = this.values.get(key);
    if (value !== undefined || this.values.has(key)) return value;
    this.missing.add(key);
    this.misses += 1;
    return undefined;
  }

  settle(): void {
    for (const key of this.missing) if (!this.values.has(key)) this.values.set(key, this.absent(key));
    this.missing.clear();
  }
}

function refuseAbsent(productId: number): never {
  throw new Error(`the product ${productId} is in the join index but not in the catalog`);
}

/**
 * A view of the fetched part of one state of a remote catalog. It begins empty. The caller runs its work on
 * the view, fetches the missing parts and repeats the work until nothing is missing.
 */
export class FetchedView implements RelationView {
  readonly sources = new Fetched<string, FoundSource | undefined>(() => undefined);
  readonly variants = new Fetched<string, readonly Variant[]>(() => []);
  /** The keys are `LinkSearch` as JSON. */
  readonly links = new Fetched<string, readonly LinkedProduct[]>(() => []);
  readonly raws = new Fetched<number, string>(refuseAbsent);
  readonly identifiers = new Fetched<number, string>(refuseAbsent);
  readonly uploads = new Fetched<string, StoredUpload | undefined>(() => undefined);
  readonly categories = new Fetched<string, number>(() => 0);
  /** The next pages of lists that the work has read to the end. */
  readonly pages = new Map<Membership, VariantSearch>();
  private readonly lists = new Map<Membership, ReadList>();
  private readonly results = new Map<string, unknown>();
  private missedPages = 0;

  once<Result>(key: string, make: () => Result): Result {
    if (this.results.has(key)) return this.results.get(key) as Result;
    const before = this.misses;
    const result = make();
    if (this.misses === before) this.results.set(key, result);
    return result;
  }

  findSource(identifier: string): FoundSource | undefined {
    return this.sources.find(identifier);
  }

  *listCandidates(search: CandidateSearch): Generator<Candidate, void> {
    const list = this.lists.get(search.opposite);
    yield* list?.candidates ?? [];
    if (list?.isComplete) return;
    const size = list === undefined ? expectCandidates(search.limit) : growPage(list.size);
    this.missedPages += 1;
    this.pages.set(search.opposite, { ...search, size, after: list?.last });
  }

  listVariants(group: string): readonly Variant[] {
    return this.variants.find(group) ?? [];
  }

  listLinked({ build, side, identifier }: LinkSearch): readonly LinkedProduct[] {
    return this.links.find(JSON.stringify({ build, side, identifier } satisfies LinkSearch)) ?? [];
  }

  findRaw(productId: number): string | undefined {
    return this.raws.find(productId);
  }

  findCategoryId(path: string): number | undefined {
    return this.categories.find(path);
  }

  findIdentifier(productId: number): string {
    return this.identifiers.find(productId) ?? '';
  }

  findUpload(identifier: string): StoredUpload | undefined {
    return this.uploads.find(identifier);
  }

  /** Appends a page to the part of the list that has been read. */
  addPage(
    opposite: Membership,
    { page, last, size }: { page: readonly Candidate[]; last: RankedPlace | undefined; size: number },
  ): void {
    const before = this.lists.get(opposite);
    this.lists.set(opposite, {
      candidates: [...(before?.candidates ?? []), ...page],
      last: last ?? before?.last,
      size,
      isComplete: page.length < size,
    });
  }

  get isComplete(): boolean {
    return this.pages.size === 0 && this.kinds.every(({ missing }) => missing.size === 0);
  }

  /**
   * Marks everything that is still missing as nonexistent. Call it after everything missing was fetched.
   * @throws Error for a missing product that the view itself named
   */
  settle(): void {
    for (const kind of this.kinds) kind.settle();
    this.pages.clear();
  }

  private get kinds() {
    const { sources, variants, links, raws, identifiers, uploads, categories } = this;
    return [sources, variants, links, raws, identifiers, uploads, categories];
  }

  private get misses(): number {
    return this.kinds.reduce((sum, { misses }) => sum + misses, this.missedPages);
  }
}
