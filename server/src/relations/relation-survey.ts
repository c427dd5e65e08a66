import type { UploadedProduct } from '../catalog/catalog.ts';
import type { CatalogFile } from '../storage/storage.ts';
import { Memberships } from './membership.ts';
import { KEPT_TABLES, type MembershipTables, placeMemberships, withTriedTables } from './membership-store.ts';
import { searchRelated } from './related-search.ts';
import {
  countMembers,
  createSearchReader,
  findIdentifier,
  findSource,
  listUploads,
  type StoredUpload,
  sampleMembers,
} from './related-search-store.ts';
import type { RelationDefinition } from './relation.ts';
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

/** More sources than this are sampled. */
const SAMPLE = 10_000;
const LIMIT = 10;
const EXAMPLES = 20;
const MOST_RETURNED = 10;
const PAGE = 1_000;

type Surveyed = Pick<RelationDefinition, 'twoWay' | 'excludeSameGroup'>;

/** Tries a rule that is not stored on the whole catalog; the catalog stays as it is. */
export function tryRule(file: CatalogFile, definition: Surveyed, bound: BoundRule): RelationSurvey {
  return withTriedTables(file, (tables) => {
    const memberships = new Memberships([{ build: TRIED_BUILD, bound }]);
    let page = listUploads(file, 0, PAGE);
    while (page.length > 0) {
      for (const upload of page) placeTried(file, { upload, memberships, tables });
      page = listUploads(file, page.at(-1)?.productId ?? 0, PAGE);
    }
    return surveyRelation(file, { ...definition, build: TRIED_BUILD, bound }, tables);
  });
}

const TRIED_BUILD = 0;

function placeTried(
  file: CatalogFile,
  {
    upload,
    memberships,
    tables,
  }: { upload: StoredUpload; memberships: Memberships; tables: MembershipTables },
): void {
  const product = JSON.parse(upload.raw) as UploadedProduct;
  const found = memberships.of(product);
  if (found.length === 0) return;
  const document = { id: upload.document, productId: upload.productId };
  placeMemberships(file, document, { group: product.groupIdentifier, memberships: found, tables });
}

export function surveyRelation(
  file: CatalogFile,
  { build, bound, twoWay, excludeSameGroup }: Surveyed & { build: number; bound: BoundRule },
  tables: MembershipTables = KEPT_TABLES,
): RelationSurvey {
  const sources = countMembers(file, { build, side: 'source', tables });
  const every = Math.max(1, Math.ceil(sources / SAMPLE));
  const identifiers = sampleMembers(file, { build, side: 'source', tables, every });
  const operators = compileRule(bound).comparisons.map(({ operator }) => operator);
  const reader = createSearchReader(file, tables);
  const returned = new Map<number, number>();
  const without: string[] = [];
  const examples: { source: string; results: readonly (readonly string[])[] }[] = [];
  for (const identifier of identifiers) {
    const source = findSource(file, identifier, tables);
    const relation = { build, twoWay, excludeSameGroup, operators };
    const { groups } = searchRelated(reader, relation, { source, limit: LIMIT });
    if (groups.length === 0) without.push(identifier);
    for (const id of groups.flat()) returned.set(id, (returned.get(id) ?? 0) + 1);
    if (groups.length > 0 && examples.length < EXAMPLES) {
      const results = groups.map((group) => group.map((id) => findIdentifier(file, id)));
      examples.push({ source: identifier, results });
    }
  }
  const withResults = identifiers.length - without.length;
  return {
    source: { products: sources },
    target: { products: countMembers(file, { build, side: 'target', tables }) },
    sampled: every > 1,
    sampledSources: identifiers.length,
    withResults,
    share: identifiers.length === 0 ? 0 : withResults / identifiers.length,
    withoutResults: { count: without.length, identifiers: without.slice(0, EXAMPLES) },
    mostReturned: [...returned]
      .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || a - b)
      .slice(0, MOST_RETURNED)
      .map(([id, count]) => ({ identifier: findIdentifier(file, id), count })),
    examples,
  };
}
