import { ProductPacker } from '../../catalog/products/documents/documents.ts';
import { findEdge } from '../../kernel/find-edge.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import {
  type Candidate,
  type CandidateSearch,
  type Comparison,
  FetchedView,
  type FoundSource,
  holdsFor,
  listComparisons,
  mergeRanked,
  type RelationView,
  type SearchedRelation,
  type ShareLists,
  SORTED_AT_MOST,
  type Variant,
} from '../matching/matching.ts';
import {
  type GroupedDocument,
  isMember,
  type MemberRow,
  Memberships,
  placeMembers,
  sideNumber,
  splitDerived,
  unpackMemberships,
} from '../memberships/memberships.ts';
import type { RelationSurvey, Side } from '../relation-definitions/relation-definitions.ts';
import type { BoundRule } from '../rules/rules.ts';
import type { CatalogColumns } from './catalog-columns.ts';
import { surveyRelation } from './relation-survey.ts';
import { type SurveyedCatalog, type SurveyTime, TRIED_BUILD, type TriedCatalog } from './surveyed-catalog.ts';

/** Tries an unstored rule on the products of a catalog that are in memory. */

interface ReadCatalog {
  readonly columns: CatalogColumns;
  /** Fetches uploads from the state that the columns belong to. */
  readonly catalog: Pick<TriedCatalog, 'findUploads'>;
  readonly share: ShareLists;
  /** The numbers of members in the whole catalog, if the columns have only a part of them. */
  readonly counts?: Readonly<Record<Side, number>>;
}

/** How many products or entries are processed between two checks of the time. */
const CHECKED = 1_000;

/** @throws search_too_long */
export async function tryOnColumns(
  read: ReadCatalog,
  tried: Omit<SearchedRelation, 'build' | 'isListed'>,
  time: SurveyTime,
): Promise<RelationSurvey> {
  const catalog = surveyColumns(read, tried.bound, time.limit);
  return surveyRelation(catalog, { ...tried, isListed: false, build: TRIED_BUILD }, time);
}

function surveyColumns(read: ReadCatalog, bound: BoundRule, whole: Budget): SurveyedCatalog {
  const { columns, catalog } = read;
  const members = deriveMembers(columns, bound, whole);
  const { indexes, cut } = members;
  const { counts = { source: indexes.source.length, target: indexes.target.length } } = read;
  const membersInMemory: TriedMembers = { ...read, ...members, variants: new Map() };
  return {
    async read(work, _, limit = whole) {
      const view = new ColumnView(membersInMemory, limit);
      for (;;) {
        const result = work(view);
        if (view.isComplete) return result;
        for (const upload of await catalog.findUploads([...view.uploads.missing]))
          view.uploads.add(columns.identifierAt(columns.indexOfId(upload.productId)), upload);
        view.settle();
      }
    },
    countMembers: async (_, side) => counts[side],
    listCut: async () => cut,
    async sampleMembers(_, side, every) {
      const step = Math.max(1, Math.round((every * indexes[side].length) / counts[side]));
      return indexes[side]
        .filter((_, position) => position % step === 0)
        .map((index) => columns.identifierAt(index));
    },
  };
}

/** The join index of one rule in memory, with the same lists as in the tables of a store. */
interface Members {
  readonly indexes: Readonly<Record<Side, number[]>>;
  /** By index, the memberships in the form stored beside a document; '' for a product on no side. */
  readonly packed: readonly string[];
  /** The identifiers of products with more combinations of values than the limit. */
  readonly cut: readonly string[];
  readonly lists: ReadonlyMap<string, KeyedList>;
}

interface TriedMembers extends ReadCatalog, Members {
  /** Variants by group, because many sources lead to the same groups. */
  readonly variants: Map<string, readonly Variant[]>;
}

function deriveMembers(columns: CatalogColumns, bound: BoundRule, limit: Budget): Members {
  const cut: string[] = [];
  const rules = new Memberships([{ build: TRIED_BUILD, bound }]);
  const batch = rules.openBatch(columns, (identifier) => cut.push(identifier));
  const packer = new ProductPacker();
  const packed: string[] = [];
  const documents: GroupedDocument[] = [];
  const members: number[] = [];
  for (let index = 0; index < columns.count; index += 1) {
    if (index % CHECKED === 0) limit.check();
    batch.add(index, index, packer);
    const text = splitDerived(packer.takeText()).packed;
    packed.push(text);
    if (text === '') continue;
    members.push(index);
    const id = columns.idAt(index);
    documents[index] = { id, productId: id, group: columns.groupAt(index) };
  }
  const listOn = (side: Side) =>
    members.filter((index) => isMember(packed[index] as string, TRIED_BUILD, side));
  const indexes = { source: listOn('source'), target: listOn('target') };
  const derived = batch.finish();
  return {
    indexes,
    packed,
    cut,
    lists: listByKey(derived ? placeMembers(derived, documents) : [], limit),
  };
}

function listByKey(rows: Iterable<MemberRow>, limit: Budget): Map<string, KeyedList> {
  const texts = new Map<Buffer, string>();
  const lists = new Map<string, KeyedList>();
  // Caches texts by buffer, because most bytes are the same object in several rows.
  const textOf = (bytes: Buffer): string => texts.getOrInsertComputed(bytes, toLatin1);
  let read = 0;
  for (const { side, key, rank, productId, group, compared } of rows) {
    if (read % CHECKED === 0) limit.check();
    read += 1;
    lists
      .getOrInsertComputed(`${side} ${textOf(key)}`, () => ({ members: [] }))
      .members.push({
        productId,
        group,
        rank: textOf(rank),
        compared: compared.map((value) => value && textOf(value)),
      });
  }
  return lists;
}

const toLatin1 = (bytes: Buffer): string => bytes.toString('latin1');

/** A view in which only uploads are fetched; everything else is in memory. */
class ColumnView extends FetchedView implements RelationView {
  readonly share: ShareLists;
  private readonly tried: TriedMembers;
  private readonly limit: Budget;

  constructor(tried: TriedMembers, limit: Budget) {
    super();
    this.tried = tried;
    this.limit = limit;
    this.share = tried.share;
  }

  override findSource(identifier: string): FoundSource | undefined {
    this.limit.check();
    const { columns, packed } = this.tried;
    const index = columns.indexOf(identifier);
    if (index === undefined) return undefined;
    const memberships = unpackMemberships(packed[index] || '[]');
    return { productId: columns.idAt(index), group: columns.groupAt(index), memberships };
  }

  override *listCandidates(search: CandidateSearch): Generator<Candidate, void> {
    const conditions = listComparisons(search, 'latin1');
    const lists = search.opposite.keys.map((key) => {
      const text = Buffer.from(key, 'base64').toString('latin1');
      const list = this.tried.lists.get(`${sideNumber(search.side)} ${text}`);
      return list === undefined ? [] : listInReach(list, conditions);
    });
    let candidates = 0;
    for (const candidate of mergeRanked(lists)) {
      candidates += 1;
      if (candidates % CHECKED === 0) this.limit.check();
      yield candidate;
    }
  }

  override listVariants(group: string): readonly Variant[] {
    const { columns, packed, variants } = this.tried;
    return variants.getOrInsertComputed(group, () =>
      columns
        .indexesOfGroup(group)
        .map((index) => ({ productId: columns.idAt(index), packed: JSON.parse(packed[index] || '[]') })),
    );
  }

  override findIdentifier(productId: number): string {
    const { columns } = this.tried;
    return columns.identifierAt(columns.indexOfId(productId));
  }

  override findRaw(productId: number): string | undefined {
    return this.findUpload(this.findIdentifier(productId))?.raw;
  }
}

/** A member of a list, with its bytes as text that sorts like them. */
interface ListedMember extends Candidate {
  readonly rank: string;
  readonly compared: readonly (string | null)[];
}

/** The members of one side with the same key, by rank. */
interface KeyedList {
  readonly members: ListedMember[];
  /** The same members by the value of the first comparison, sorted on demand. */
  byFirst?: readonly ListedMember[];
}

/**
 * @returns the members for which all conditions hold, by rank. If few are within reach of the first
 * condition, only these are sorted and checked.
 */
function* listInReach(list: KeyedList, conditions: readonly Comparison[]): Generator<ListedMember, void> {
  const [first, ...others] = conditions;
  const near = first === undefined ? undefined : findNear(list, first);
  const rest = near === undefined ? conditions : others;
  for (const member of near ?? list.members)
    if (rest.every((condition) => holdsFor(condition, member.compared[condition.index] ?? null)))
      yield member;
}

/**
 * @returns the members within reach, by rank. Undefined if there are many, or if the order of values does not
 * help.
 */
function findNear(list: KeyedList, comparison: Comparison): ListedMember[] | undefined {
  if (comparison.index !== 0 || comparison.sql === '<>') return undefined;
  list.byFirst ??= list.members.toSorted((a, b) => compare(firstOf(a), firstOf(b)));
  const { byFirst } = list;
  const isBelow = comparison.sql.startsWith('<');
  const edge = findEdge(byFirst, (member) => holdsFor(comparison, firstOf(member)) === isBelow);
  const near = isBelow ? [0, edge] : [edge, byFirst.length];
  if ((near[1] as number) - (near[0] as number) >= SORTED_AT_MOST) return undefined;
  return byFirst.slice(...near).sort(byRank);
}

const firstOf = ({ compared }: ListedMember): string => compared[0] ?? '';

const byRank = (a: ListedMember, b: ListedMember): number =>
  compare(a.rank, b.rank) || a.productId - b.productId;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
