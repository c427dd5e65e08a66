import type { PlacedDocument } from '../../catalog/catalog.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BoundRule,
  bindRule,
  isListed,
  type Relation,
  type RelationDefinition,
  type RelationState,
  ruleOf,
  type ValueTable,
} from '../definitions/definitions.ts';
import type { Memberships } from './member-derivation.ts';
import type { Membership, PlacedMemberships } from './membership.ts';

/** What rows of relations and builds mean, and what a change does to them, whichever store keeps them. */

export interface RelationRow {
  readonly id: number;
  /** JSON. */
  readonly definition: string;
  readonly problem: string | null;
  /** The build that answers. */
  readonly active: number | null;
  /** The build of the rule as it is. */
  readonly next: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function toRelation({ id, definition, problem, createdAt, updatedAt, ...row }: RelationRow): Relation {
  return {
    id,
    definition: JSON.parse(definition),
    state: stateOf(problem, row),
    problem: problem ?? undefined,
    createdAt,
    updatedAt,
  };
}

function stateOf(
  problem: string | null,
  { active, next }: Pick<RelationRow, 'active' | 'next'>,
): RelationState {
  if (problem !== null) return 'misconfigured';
  return active !== null && active === next ? 'ready' : 'building';
}

/** Whether a relation wants another index than the one that answers. */
export const isUnbuilt = ({ active, next }: Pick<RelationRow, 'active' | 'next'>) =>
  next !== null && next !== active;

/** A relation that answers, with the rule that its index was made by. */
export interface ServedRelation {
  readonly id: number;
  /** As it is stored; the index may be that of the one before. */
  readonly definition: RelationDefinition;
  /** Those that the index was made for: the definition may have others by now. */
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  /** A person lists what goes with what. */
  readonly isListed: boolean;
  readonly build: number;
  readonly bound: BoundRule;
}

/** A relation without a problem, joined with its active build. */
export interface ServedRow {
  readonly id: number;
  readonly definition: string;
  readonly build: number;
  readonly rule: string;
  readonly twoWay: number;
  readonly excludeSameGroup: number;
}

export function toServed({ definition: text, rule, ...row }: ServedRow): ServedRelation {
  const definition = JSON.parse(text) as RelationDefinition;
  return {
    ...{ ...row, definition, twoWay: row.twoWay === 1, excludeSameGroup: row.excludeSameGroup === 1 },
    ...{ isListed: isListed(definition), bound: JSON.parse(rule) },
  };
}

/** What binding a relation to the ontology does to its row. */
export type Binding =
  | { readonly kind: 'same' }
  | { readonly kind: 'problem'; readonly problem: string }
  | {
      readonly kind: 'build';
      /** One of its builds that has this rule; undefined: it must be made. */
      readonly build: number | undefined;
      readonly rule: string;
      readonly twoWay: 0 | 1;
      readonly excludeSameGroup: 0 | 1;
    };

/** `builds`: those that the relation has now. */
export function planBinding(
  { definition: text, problem, active, next }: RelationRow,
  {
    attributes,
    tables,
  }: { readonly attributes: readonly Attribute[]; readonly tables: readonly ValueTable[] },
  builds: readonly { readonly id: number; readonly rule: string }[],
): Binding {
  const definition = JSON.parse(text) as RelationDefinition;
  const result = bindRule(ruleOf(definition), attributes, tables);
  if ('problem' in result) {
    return result.problem === problem ? { kind: 'same' } : { kind: 'problem', problem: result.problem };
  }
  const rule = JSON.stringify(result.bound);
  const isUsable = (build: { id: number; rule: string }) =>
    build.rule === rule && (build.id === active || build.id === next);
  return {
    kind: 'build',
    build: builds.find(isUsable)?.id,
    rule,
    twoWay: definition.twoWay ? 1 : 0,
    excludeSameGroup: definition.excludeSameGroup ? 1 : 0,
  };
}

/** Builds that are made together: reading the documents takes longer than what a rule finds in them. */
export interface BuildOrder {
  readonly relationIds: readonly number[];
  readonly at: number;
  /** Where the page before ended; absent: all begin. */
  readonly after?: WalkedPlace | undefined;
  readonly limit: number;
}

export interface WalkedPlace {
  /** A relation whose build is none of them was changed meanwhile, and that change builds it. */
  readonly builds: readonly number[];
  readonly document: number;
}

export interface BuildPage {
  /** undefined: the indexes are complete, or none is needed. */
  readonly next: WalkedPlace | undefined;
  /** In percent of the documents. */
  readonly progress: number;
  /** Of the products of which only the first combinations of values count. */
  readonly report?: readonly ReportLine[];
}

/** The build that a relation wants. */
export interface PlannedBuild {
  readonly relationId: number;
  readonly active: number | null;
  readonly next: number;
  /** JSON. */
  readonly rule: string;
  /** The last document that is older than the build. */
  readonly last: number;
}

/** @returns those that are made in one walk from `after` on */
export const chooseWalked = (next: readonly PlannedBuild[], after: WalkedPlace | undefined): PlannedBuild[] =>
  next.filter((one) => isUnbuilt(one) && (after === undefined || after.builds.includes(one.next)));

/** A page of the documents of builds, of which `last` is the last. */
export interface WalkedPage {
  readonly builds: readonly number[];
  readonly last: number;
  readonly limit: number;
  readonly page: readonly WalkedDocument[];
}

export function describePage({ builds, last, limit, page }: WalkedPage): BuildPage {
  const document = page.at(-1)?.id ?? last;
  const progress = last === 0 ? 100 : (document / last) * 100;
  return { next: page.length < limit ? undefined : { builds, document }, progress };
}

export interface WalkedDocument {
  readonly id: number;
  readonly productId: number;
  /** JSON of the upload. */
  readonly raw: string;
}

/** A walked document with what a rule makes of it. */
export interface DerivedDocument {
  readonly document: PlacedDocument;
  readonly derived: PlacedMemberships;
}

/** @returns those for which there is anything */
export function derivePage(page: readonly WalkedDocument[], memberships: Memberships): DerivedDocument[] {
  return page.flatMap(({ id, productId, raw }) => {
    const product = JSON.parse(raw) as UploadedProduct;
    const found = memberships.of(product);
    if (found.length === 0) return [];
    return [{ document: { id, productId }, derived: { group: product.groupIdentifier, memberships: found } }];
  });
}

/** A document with all that is derived for it from now on, and what of that it has no rows for yet. */
export interface ExtendedDocument {
  readonly document: PlacedDocument;
  readonly placed: PlacedMemberships;
  readonly added: PlacedMemberships;
}

/**
 * A page that is walked again, e.g. after a crash, adds nothing. `live`: builds that are there or are being made;
 * memberships of others are left out.
 */
export function planExtension(
  page: readonly DerivedDocument[],
  live: ReadonlySet<number>,
  findPresent: (document: number) => readonly Membership[],
): ExtendedDocument[] {
  return page.flatMap(({ document, derived: { group, memberships } }) => {
    const present = findPresent(document.id).filter(({ build }) => live.has(build));
    const known = new Set(present.map(({ build }) => build));
    const added = memberships.filter(({ build }) => !known.has(build));
    if (added.length === 0) return [];
    const placed = { group, memberships: [...present, ...added] };
    return [{ document, placed, added: { group, memberships: added } }];
  });
}
