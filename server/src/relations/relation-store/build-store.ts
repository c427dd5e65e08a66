import type { Derive, PlacedDocument } from '../../catalog/catalog.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { ChangedCatalog } from '../../catalog/store/store.ts';
import {
  among,
  ask,
  byEngine,
  cell,
  deleteSome,
  own,
  type Program,
  rows,
  run,
  sql,
} from '../../storage/programs/programs.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BuildOrder,
  type BuildPage,
  describeCut,
  listCutBuilds,
  Memberships,
  type PlacedRow,
  unpackMemberships,
  type WalkedPlace,
} from '../memberships/memberships.ts';
import { announceRelation, isUnbuilt, listBuildNumbers, listBuilds } from './relation-definition-store.ts';

/** Writes the join index beside the documents that it is derived from. */

/** A document with all its memberships, and those for which it has no index rows yet. */
export interface ExtendedDocument extends PlacedRow {
  readonly added: PlacedRow['memberships'];
}

/** Adds new memberships to documents, in the way of the engine. */
export type ExtendIndex = (extended: readonly ExtendedDocument[]) => Program<void>;

/** The compiled rules of a list of builds, identified by their numbers. */
export interface OpenedBuilds {
  readonly builds: string;
  readonly derive: Derive;
}

/** @returns `cached` if the builds are unchanged, otherwise newly compiled rules */
export function* openBuilds(cached: OpenedBuilds | undefined): Program<OpenedBuilds> {
  const builds = yield* listBuildNumbers();
  if (cached?.builds === builds) return cached;
  const rules = yield* listBuilds();
  const memberships = new Memberships(rules);
  const relations = new Map(rules.map(({ build, relationId }) => [build, relationId]));
  const derive: Derive = (open, report) => {
    if (memberships.isEmpty) return undefined;
    return memberships.openBatch(open(memberships.keys), (identifier, build) =>
      report(describeCut(identifier, relations.get(build) as number)),
    );
  };
  return { builds, derive };
}

/** @returns the memberships of these documents by document; documents without memberships are missing */
export function* findMemberships(documents: readonly number[]): Program<ReadonlyMap<number, PlacedRow>> {
  const documentRows = yield* rows<
    PlacedDocument & { readonly group: string; readonly packed: string }
  >`select document_id as id, product_id as "productId", group_identifier as "group", memberships as packed
    from relation_document where ${own()} and document_id ${among(documents)}`;
  return new Map(documentRows.map((row) => [row.id, { ...row, memberships: unpackMemberships(row.packed) }]));
}

/** Builds the join index of a rule from older documents, and removes the index after its last use. */

/** A catalog with its join index, open for changes. */
export interface ChangedIndex extends ChangedCatalog {
  readonly extend: ExtendIndex;
  /** Removes some of the data that deleted rows refer to. @returns whether more may remain */
  removeStray(): boolean;
}

/**
 * Processes a page of the documents that are older than the builds. The last page makes these builds the
 * active ones.
 */
export function* buildPage(
  catalog: ChangedIndex,
  { relationIds, after, now, limit }: BuildOrder,
): Program<BuildPage> {
  const walked = chooseWalked(yield* listPlannedBuilds(relationIds), after);
  if (walked.length === 0) return { next: undefined, progress: 100 };
  const last = Math.max(...walked.map((build) => build.last));
  const page = yield* listDocuments({ from: after?.document ?? 0, last, limit });
  const rules = walked.map(({ next: build, rule }) => ({ build, bound: JSON.parse(rule) }));
  const derived = derivePage(page, new Memberships(rules));
  yield* extendDocuments(catalog.extend, derived);
  const described = {
    ...describePage(page, { builds: rules.map(({ build }) => build), last, limit }),
    report: yield* reportCut(derived, walked),
  };
  if (described.next !== undefined) return described;
  for (const { relationId, next } of walked) {
    yield* run`update relation set active_build = ${next} where ${own()} and id = ${relationId}`;
    yield* announceRelation(relationId, now, { change: 'built' });
  }
  catalog.affect('answers');
  return described;
}

/** The build that a relation needs, beside its active one. */
export interface PlannedBuild {
  readonly relationId: number;
  readonly active: number | null;
  readonly next: number;
  /** The bound rule as JSON. */
  readonly rule: string;
  /** The last document that is older than the build. */
  readonly last: number;
}

/**
 * @returns the builds of one walk: the builds that started it, or all unbuilt ones if `after` is undefined
 */
export const chooseWalked = (next: readonly PlannedBuild[], after: WalkedPlace | undefined): PlannedBuild[] =>
  next.filter((build) => isUnbuilt(build) && (after === undefined || after.builds.includes(build.next)));

/** @param walk its `last` is the last document of the walk */
export function describePage(
  page: readonly WalkedDocument[],
  { builds, last, limit }: { builds: readonly number[]; last: number; limit: number },
): BuildPage {
  const document = page.at(-1)?.id ?? last;
  const progress = last === 0 ? 100 : (document / last) * 100;
  return { next: page.length < limit ? undefined : { builds, document }, progress };
}

const listPlannedBuilds = (relationIds: readonly number[]) =>
  rows<PlannedBuild>`select r.id as "relationId", r.active_build as active, b.id as next, b.rule,
    b.last_document as last from relation r join relation_build b on ${own('b')} and b.id = r.wanted_build
    where ${own('r')} and r.id ${among(relationIds)} order by r.id`;

const RAW = byEngine({ sqlite: sql`cast(raw as text) as raw`, postgres: sql`raw` });

interface WalkedDocument extends PlacedDocument {
  /** The upload as JSON. */
  readonly raw: string;
}

const listDocuments = ({ from, last, limit }: { from: number; last: number; limit: number }) =>
  rows<WalkedDocument>`select id, product_id as "productId", ${RAW} from document
    where ${own()} and id > ${from} and id <= ${last} order by id limit ${limit}`;

/** Reports only documents of present products, because older documents exist only for a restore. */
function* reportCut(derived: readonly PlacedRow[], builds: readonly PlannedBuild[]): Program<ReportLine[]> {
  const cut = derived.flatMap(({ id, memberships }) =>
    listCutBuilds(memberships).map((build) => ({ build, id })),
  );
  if (cut.length === 0) return [];
  const presentRows = yield* rows<{ document: number; identifier: string }>`select document_id as document,
    identifier from product where ${own()} and document_id ${among(cut.map(({ id }) => id))} order by id`;
  return presentRows.flatMap(({ document, identifier }) =>
    builds
      .filter(({ next }) => cut.some(({ build, id }) => id === document && build === next))
      .map(({ relationId }) => describeCut(identifier, relationId)),
  );
}

/** @returns the documents that have memberships */
const derivePage = (page: readonly WalkedDocument[], rules: Memberships): PlacedRow[] =>
  page.flatMap(({ id, productId, raw }) => {
    const product = JSON.parse(raw) as UploadedProduct;
    const memberships = rules.of(product);
    return memberships.length === 0 ? [] : [{ id, productId, group: product.groupIdentifier, memberships }];
  });

/** Processing a page again, such as after a crash, adds nothing. Drops the memberships of removed builds. */
function* extendDocuments(extend: ExtendIndex, derived: readonly PlacedRow[]): Program<void> {
  if (derived.length === 0) return;
  const present = yield* findMemberships(derived.map(({ id }) => id));
  const live = new Set((yield* listBuilds()).map(({ build }) => build));
  const extended = derived.flatMap((row): ExtendedDocument[] => {
    const former = (present.get(row.id)?.memberships ?? []).filter(({ build }) => live.has(build));
    const builds = new Set(former.map(({ build }) => build));
    const added = row.memberships.filter(({ build }) => !builds.has(build));
    return added.length === 0 ? [] : [{ ...row, memberships: [...former, ...added], added }];
  });
  if (extended.length > 0) yield* extend(extended);
}

/** @returns a build that no relation uses */
export const findUnusedBuild = (): Program<number | undefined> =>
  cell`select b.id from relation_build b where ${own('b')} and b.kind <> 'staged' and not exists (
    select 1 from relation r where ${own('r')} and b.id in (r.active_build, r.wanted_build)) limit 1`;

const STEP = 5_000;
/** The tables with rows of builds, with the columns of their keys. */
const ROWS_OF_BUILDS = {
  relation_member: 'build_id, side, match_key, rank, product_id, document_id',
  relation_link: 'build_id, line, place',
  relation_link_source: 'build_id, line',
} as const;

/** Removes some rows of unused builds. @returns whether more may remain */
export function* dropBuilds({ removeStray }: ChangedIndex): Program<boolean> {
  const over = yield* findUnusedBuild();
  if (over === undefined) return false;
  for (const [table, key] of Object.entries(ROWS_OF_BUILDS)) {
    const changed = yield* run(deleteSome(table, key, { where: sql`build_id = ${over}`, limit: STEP }));
    if (changed === STEP) return true;
  }
  if (yield* ask(removeStray)) return true;
  yield* run`delete from relation_build where ${own()} and id = ${over}`;
  return true;
}
