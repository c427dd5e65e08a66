import type { PlacedDocument, UploadedProduct } from '../catalog/catalog.ts';
import type { PlacedMemberships } from './member-row.ts';
import { Memberships } from './membership.ts';
import { type FoundGroups, type SearchedRelation, searchRelated } from './related-search.ts';
import type { RelationView, StoredUpload } from './related-view.ts';
import type { RelationDefinition, Side } from './relation.ts';
import { type BoundRule, compileRule } from './rule.ts';

/** How a relation does on a catalog. Source: docs/interface.md §12.6. */
export interface RelationSurvey {
  readonly source: { readonly products: number };
  readonly target: { readonly products: number };
  /** Whether only some of the sources were looked at. */
  readonly sampled: boolean;
  readonly sampledSources: number;
  readonly withResults: number;
  /** Of the sources that were looked at, from 0 to 1. */
  readonly share: number;
  readonly withoutResults: { readonly count: number; readonly identifiers: readonly string[] };
  readonly mostReturned: readonly { readonly identifier: string; readonly count: number }[];
  readonly examples: readonly { readonly source: string; readonly results: readonly (readonly string[])[] }[];
}

/** One state of a catalog, for work that takes long. */
export interface SurveyedCatalog {
  /** Does the work on a view; more than once when the view lacked something. `searches`: what it will do first. */
  read<Result>(
    work: (view: RelationView) => Result,
    searches?: readonly { readonly relation: SearchedRelation; readonly limit: number }[],
  ): Promise<Result>;
  countMembers(build: number, side: Side): Promise<number>;
  /** @returns identifiers of the source side, one in `every`, by id */
  sampleSources(build: number, every: number): Promise<readonly string[]>;
}

/** One state of a catalog, with an empty join index of its own for a rule that is not stored. */
export interface TriedCatalog extends SurveyedCatalog {
  /** @returns products by id, after `after` */
  listUploads(after: number, limit: number): Promise<readonly PresentUpload[]>;
  place(placed: readonly PlacedRow[]): Promise<void>;
  /** Call it when all are placed. */
  endPlacing(): Promise<void>;
}

/** A present product's document. */
export interface PresentUpload extends StoredUpload {
  readonly document: number;
}

export type PlacedRow = PlacedDocument & PlacedMemberships;

/** More sources than this are sampled. */
const SAMPLE = 10_000;
/** Sources looked at in one go. */
const CHUNK = 100;
const LIMIT = 10;
const EXAMPLES = 20;
const MOST_RETURNED = 10;
const PAGE = 1_000;

type Surveyed = Pick<RelationDefinition, 'twoWay' | 'excludeSameGroup'> & { readonly bound: BoundRule };

/** Tries a rule that is not stored on the whole catalog; the catalog stays as it is. */
export async function tryRule(catalog: TriedCatalog, tried: Surveyed): Promise<RelationSurvey> {
  const memberships = new Memberships([{ build: TRIED_BUILD, bound: tried.bound }]);
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    await catalog.place(page.flatMap((upload) => describePlaced(upload, memberships)));
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
  await catalog.endPlacing();
  return surveyRelation(catalog, { ...tried, build: TRIED_BUILD });
}

const TRIED_BUILD = 0;

function describePlaced({ raw, document, productId }: PresentUpload, memberships: Memberships): PlacedRow[] {
  const product = JSON.parse(raw) as UploadedProduct;
  const found = memberships.of(product);
  if (found.length === 0) return [];
  return [{ id: document, productId, group: product.groupIdentifier, memberships: found }];
}

export async function surveyRelation(
  catalog: SurveyedCatalog,
  surveyed: Surveyed & { readonly build: number },
): Promise<RelationSurvey> {
  const { build, bound, twoWay, excludeSameGroup } = surveyed;
  const sources = await catalog.countMembers(build, 'source');
  const every = Math.max(1, Math.ceil(sources / SAMPLE));
  const identifiers = await catalog.sampleSources(build, every);
  const operators = compileRule(bound).comparisons.map(({ operator }) => operator);
  const relation = { build, twoWay, excludeSameGroup, operators };
  const tally = new Tally();
  for (let at = 0; at < identifiers.length; at += CHUNK) {
    const chunk = identifiers.slice(at, at + CHUNK);
    const found = await catalog.read(
      (view) =>
        chunk.map((one) => searchRelated(view, relation, { source: view.findSource(one), limit: LIMIT })),
      [{ relation, limit: LIMIT }],
    );
    for (const [place, { groups }] of found.entries()) tally.add(chunk[place] as string, groups);
  }
  const targets = await catalog.countMembers(build, 'target');
  return {
    source: { products: sources },
    target: { products: targets },
    sampled: every > 1,
    sampledSources: identifiers.length,
    ...(await catalog.read((view) => tally.describe(view, identifiers.length))),
  };
}

/** What came of the sources that were looked at. */
class Tally {
  private readonly returned = new Map<number, number>();
  private readonly without: string[] = [];
  private readonly examples: { source: string; groups: FoundGroups['groups'] }[] = [];

  add(source: string, groups: FoundGroups['groups']): void {
    if (groups.length === 0) this.without.push(source);
    for (const id of groups.flat()) this.returned.set(id, (this.returned.get(id) ?? 0) + 1);
    if (groups.length > 0 && this.examples.length < EXAMPLES) this.examples.push({ source, groups });
  }

  describe(view: RelationView, sources: number) {
    const withResults = sources - this.without.length;
    return {
      withResults,
      share: sources === 0 ? 0 : withResults / sources,
      withoutResults: { count: this.without.length, identifiers: this.without.slice(0, EXAMPLES) },
      mostReturned: [...this.returned]
        .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || a - b)
        .slice(0, MOST_RETURNED)
        .map(([id, count]) => ({ identifier: view.findIdentifier(id), count })),
      examples: this.examples.map(({ source, groups }) => ({
        source,
        results: groups.map((group) => group.map((id) => view.findIdentifier(id))),
      })),
    };
  }
}
