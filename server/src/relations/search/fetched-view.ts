import type { Membership } from '../memberships/memberships.ts';
import {
  type Candidate,
  expectCandidates,
  type FoundSource,
  growPage,
  type LinkedProduct,
  type RelationView,
  type StoredUpload,
  type Variant,
  type Wanted,
  type WantedLinks,
} from './related-view.ts';

/** The next candidates of a list. */
export interface WantedPage extends Wanted {
  readonly size: number;
  /** Where the page before ended. */
  readonly after: RankedPlace | undefined;
}

export interface RankedPlace {
  /** In hexadecimal. */
  readonly rank: string;
  readonly productId: number;
}

/** Candidates as far as they are read. */
interface ReadList {
  readonly candidates: Candidate[];
  readonly last: RankedPlace | undefined;
  readonly size: number;
  readonly isComplete: boolean;
}

/** What a view lacked. */
export class Missing {
  readonly sources = new Set<string>();
  readonly pages = new Map<Membership, WantedPage>();
  /** `WantedLinks` as JSON. */
  readonly links = new Set<string>();
  readonly groups = new Set<string>();
  readonly raws = new Set<number>();
  readonly identifiers = new Set<number>();
  readonly uploads = new Set<string>();
  readonly categories = new Set<string>();

  get count(): number {
    return Object.values(this).reduce((sum: number, { size }: { size: number }) => sum + size, 0);
  }
}

/**
 * A view of what was fetched of one state of a catalog that lies elsewhere. It is made with nothing: run the work on
 * it, fetch what it lacked, and run the work again, until it lacks nothing.
 */
export class FetchedView implements RelationView {
  missing = new Missing();
  /** How often the work asked for what was not there. */
  private lacks = 0;
  private readonly made = new Map<string, unknown>();
  private readonly sources = new Map<string, FoundSource | undefined>();
  private readonly lists = new Map<Membership, ReadList>();
  private readonly links = new Map<string, readonly LinkedProduct[]>();
  private readonly variants = new Map<string, readonly Variant[]>();
  private readonly raws = new Map<number, string>();
  private readonly identifiers = new Map<number, string>();
  private readonly uploads = new Map<string, StoredUpload | undefined>();
  private readonly categories = new Map<string, number>();

  once<Result>(key: string, make: () => Result): Result {
    if (this.made.has(key)) return this.made.get(key) as Result;
    const before = this.lacks;
    const made = make();
    if (this.lacks === before) this.made.set(key, made);
    return made;
  }

  findSource(identifier: string): FoundSource | undefined {
    return this.find(this.sources, this.missing.sources, identifier);
  }

  *listCandidates(wanted: Wanted): Generator<Candidate, void> {
    const list = this.lists.get(wanted.opposite);
    yield* list?.candidates ?? [];
    if (list?.isComplete) return;
    const size = list === undefined ? expectCandidates(wanted.limit) : growPage(list.size);
    this.lacks += 1;
    this.missing.pages.set(wanted.opposite, { ...wanted, size, after: list?.last });
  }

  listVariants(group: string): readonly Variant[] {
    return this.find(this.variants, this.missing.groups, group) ?? [];
  }

  listLinked(wanted: WantedLinks): readonly LinkedProduct[] {
    return this.find(this.links, this.missing.links, describeLinks(wanted)) ?? [];
  }

  findRaw(productId: number): string | undefined {
    return this.find(this.raws, this.missing.raws, productId);
  }

  findCategoryId(path: string): number | undefined {
    return this.find(this.categories, this.missing.categories, path);
  }

  findIdentifier(productId: number): string {
    return this.find(this.identifiers, this.missing.identifiers, productId) ?? '';
  }

  findUpload(identifier: string): StoredUpload | undefined {
    return this.find(this.uploads, this.missing.uploads, identifier);
  }

  addSource(identifier: string, source: FoundSource): void {
    this.sources.set(identifier, source);
  }

  /** Adds the page to what was read of its list. */
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

  addVariants(group: string, variants: readonly Variant[]): void {
    this.variants.set(group, variants);
  }

  addLinked(wanted: WantedLinks, linked: readonly LinkedProduct[]): void {
    this.links.set(describeLinks(wanted), linked);
  }

  addRaw(productId: number, raw: string): void {
    this.raws.set(productId, raw);
  }

  addIdentifier(productId: number, identifier: string): void {
    this.identifiers.set(productId, identifier);
  }

  addCategoryId(path: string, id: number): void {
    this.categories.set(path, id);
  }

  addUpload(identifier: string, upload: StoredUpload): void {
    this.uploads.set(identifier, upload);
  }

  /** @returns what is known under the key; takes note of it when nothing is */
  private find<Key, Value>(known: ReadonlyMap<Key, Value>, missing: Set<Key>, key: Key): Value | undefined {
    const value = known.get(key);
    if (value !== undefined || known.has(key)) return value;
    missing.add(key);
    this.lacks += 1;
    return undefined;
  }

  /**
   * All that was missing has been looked for: what did not come is not there.
   * @throws Error for a product that the view itself named
   */
  settle(): void {
    const { sources, uploads, groups, links, raws, identifiers, categories } = this.missing;
    fillAbsent(sources, this.sources, undefined);
    fillAbsent(uploads, this.uploads, undefined);
    fillAbsent(groups, this.variants, []);
    fillAbsent(links, this.links, []);
    fillAbsent(categories, this.categories, 0);
    for (const [asked, found] of [
      [raws, this.raws],
      [identifiers, this.identifiers],
    ] as const) {
      expectAll(asked, found);
    }
    this.missing = new Missing();
  }
}

const describeLinks = ({ build, side, identifier }: WantedLinks) =>
  JSON.stringify({ build, side, identifier } satisfies WantedLinks);

function fillAbsent<Key, Value>(asked: ReadonlySet<Key>, found: Map<Key, Value>, absent: Value): void {
  for (const key of asked) if (!found.has(key)) found.set(key, absent);
}

function expectAll(asked: ReadonlySet<number>, found: ReadonlyMap<number, unknown>): void {
  for (const id of asked) {
    if (!found.has(id)) throw new Error(`the product ${id} is in the join index and not in the catalog`);
  }
}
