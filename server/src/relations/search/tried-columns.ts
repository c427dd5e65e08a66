import { COMPARISONS, type Operator } from '../../catalog/filters/filters.ts';
import type { BoundRule, RelationSurvey, Side } from '../definitions/definitions.ts';
import {
  comparedAt,
  ENTRIES_PER_PRODUCT,
  type Membership,
  Memberships,
  packMembership,
} from '../memberships/memberships.ts';
import { type CatalogColumns, findEdge } from './catalog-columns.ts';
import type { SearchedRelation } from './related-search.ts';
import {
  type Candidate,
  type CandidateSearch,
  FetchedView,
  type FoundSource,
  mergeRanked,
  type RelationView,
  type ShareLists,
  SORTED_AT_MOST,
  SQL_OPERATORS,
  type Variant,
} from './related-view.ts';
import {
  type SurveyedCatalog,
  type SurveyTime,
  surveyRelation,
  TRIED_BUILD,
  type TriedCatalog,
} from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** A rule that is not stored, tried on what is in memory of a catalog. */

interface ReadCatalog {
  readonly columns: CatalogColumns;
  /** Where uploads are fetched: the state that the columns are of. */
  readonly catalog: Pick<TriedCatalog, 'findUploads'>;
  readonly share: ShareLists;
  /** Of members in the catalog, where the columns have a part of them. */
  readonly counts?: Readonly<Record<Side, number>>;
}

/** Products between two looks at the time. */
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

function surveyColumns(read: ReadCatalog, bound: BoundRule, whole: WorkLimit): SurveyedCatalog {
  const { columns, catalog } = read;
  const members = listMembers(columns, bound, whole);
  const { counts = { source: members.source.length, target: members.target.length } } = read;
  const known: Known = { ...read, members, lists: new MemberLists(members), variants: new Map() };
  return {
    async read(work, _, limit = whole) {
      const view = new ColumnView(known, limit);
      for (;;) {
        const result = work(view);
        if (view.isComplete) return result;
        for (const upload of await catalog.findUploads([...view.uploads.missing]))
          view.uploads.add(columns.identifierAt(columns.placeOfId(upload.productId)), upload);
        view.settle();
      }
    },
    countMembers: async (_, side) => counts[side],
    async listCut() {
      const isCut = ({ membership }: Member) => membership.keys.length >= ENTRIES_PER_PRODUCT;
      const cut = [...members.source, ...members.target].filter(isCut);
      const ids = [...new Set(cut.map(({ productId }) => productId))].sort((a, b) => a - b);
      return ids.map((id) => columns.identifierAt(columns.placeOfId(id)));
    },
    async sampleMembers(_, side, every) {
      const step = Math.max(1, Math.round((every * members[side].length) / counts[side]));
      return members[side]
        .filter((_, at) => at % step === 0)
        .map(({ productId }) => columns.identifierAt(columns.placeOfId(productId)));
    },
  };
}

/** By id. */
type Sides = Readonly<Record<Side, Member[]>>;

interface Known extends ReadCatalog {
  readonly members: Sides;
  readonly lists: MemberLists;
  /** By group: many sources lead to the same ones. */
  readonly variants: Map<string, readonly Variant[]>;
}

function listMembers(columns: CatalogColumns, bound: BoundRule, limit: WorkLimit): Sides {
  const memberships = new Memberships([{ build: TRIED_BUILD, bound }]);
  const members: Sides = { source: [], target: [] };
  const view = columns.view();
  for (let place = 0; place < columns.count; place += 1) {
    if (place % CHECKED === 0) limit.check();
    view.place = place;
    for (const membership of memberships.ofView(view)) {
      const member = { productId: columns.idAt(place), group: columns.groupAt(place), membership };
      members[membership.side].push(member);
    }
  }
  return members;
}

function findMembership(members: readonly Member[], productId: number): Membership | undefined {
  const found = members[findEdge(members, (member) => member.productId < productId)];
  return found?.productId === productId ? found.membership : undefined;
}

/** Only uploads are fetched. */
class ColumnView extends FetchedView implements RelationView {
  readonly share: ShareLists;
  private readonly known: Known;
  private readonly limit: WorkLimit;

  constructor(known: Known, limit: WorkLimit) {
    super();
    this.known = known;
    this.limit = limit;
    this.share = known.share;
  }

  override findSource(identifier: string): FoundSource | undefined {
    this.limit.check();
    const { columns } = this.known;
    const place = columns.placeOf(identifier);
    if (place === undefined) return undefined;
    const productId = columns.idAt(place);
    return { productId, group: columns.groupAt(place), memberships: this.listMemberships(productId) };
  }

  override *listCandidates(search: CandidateSearch): Generator<Candidate, void> {
    let seen = 0;
    for (const candidate of this.known.lists.listCandidates(search)) {
      seen += 1;
      if (seen % CHECKED === 0) this.limit.check();
      yield candidate;
    }
  }

  override listVariants(group: string): readonly Variant[] {
    const { columns, variants } = this.known;
    const known = variants.get(group);
    if (known !== undefined) return known;
    const listed = columns.placesOfGroup(group).map((place) => {
      const productId = columns.idAt(place);
      return { productId, packed: this.listMemberships(productId).map(packMembership) };
    });
    variants.set(group, listed);
    return listed;
  }

  override findIdentifier(productId: number): string {
    const { columns } = this.known;
    return columns.identifierAt(columns.placeOfId(productId));
  }

  override findRaw(productId: number): string | undefined {
    return this.findUpload(this.findIdentifier(productId))?.raw;
  }

  private listMemberships(productId: number): Membership[] {
    const { members } = this.known;
    return [members.source, members.target].flatMap((side) => findMembership(side, productId) ?? []);
  }
}

/** A product on a side of the one rule that is looked at. */
interface Member extends Candidate {
  readonly membership: Membership;
}

/** A member with one of its keys. */
interface KeyedMember {
  readonly member: Member;
  /** The place of the key. */
  readonly at: number;
}

/** Bytes as text that sorts as they do. */
interface ReadMember extends Candidate {
  readonly rank: string;
  readonly compared: readonly (string | null)[];
}

/** Those of a side with one key. */
interface KeyedList {
  readonly members: readonly ReadMember[];
  /** The same by the value of the first comparison; made when it is needed first. */
  byFirst?: readonly ReadMember[];
}

/** The join index of one rule in memory: it gives the same lists as the tables of a store do. */
class MemberLists {
  private readonly members: Readonly<Record<Side, readonly Member[]>>;
  /** By key; made when they are needed first, as most rules are asked one way only. */
  private readonly byKey = new Map<Side, Map<string, KeyedMember[]>>();
  private readonly lists = new Map<string, KeyedList>();
  private readonly decoded = new Map<string, string>();

  constructor(members: Readonly<Record<Side, readonly Member[]>>) {
    this.members = members;
  }

  *listCandidates({ side, opposite, operators }: CandidateSearch): Generator<Candidate, void> {
    const conditions = this.describeConditions(opposite, operators, side);
    const found = opposite.keys.map((key) => listInReach(this.listOf(side, key), conditions));
    yield* mergeRanked(found);
  }

  private listOf(side: Side, key: string): KeyedList {
    const name = `${side} ${key}`;
    const known = this.lists.get(name);
    if (known !== undefined) return known;
    const members = (this.keysOf(side).get(key) ?? []).map((one) => this.readMember(one)).sort(byRank);
    const made = { members };
    this.lists.set(name, made);
    return made;
  }

  private keysOf(side: Side): Map<string, KeyedMember[]> {
    const known = this.byKey.get(side);
    if (known !== undefined) return known;
    const made = new Map<string, KeyedMember[]>();
    for (const member of this.members[side]) {
      for (const [at, key] of member.membership.keys.entries()) {
        const list = made.get(key);
        if (list === undefined) made.set(key, [{ member, at }]);
        else list.push({ member, at });
      }
    }
    this.byKey.set(side, made);
    return made;
  }

  private readMember({ member: { productId, group, membership }, at }: KeyedMember): ReadMember {
    return {
      ...{ productId, group, rank: this.decode(membership.rank) },
      compared: comparedAt(membership, at).map((value) => (value === null ? null : this.decode(value))),
    };
  }

  /** Most values stand for several products. */
  private decode(base64: string): string {
    const known = this.decoded.get(base64);
    if (known !== undefined) return known;
    const decoded = Buffer.from(base64, 'base64').toString('latin1');
    this.decoded.set(base64, decoded);
    return decoded;
  }

  private describeConditions(
    { compared }: Membership,
    operators: readonly Operator[],
    side: Side,
  ): Condition[] {
    return operators.flatMap((operator, at): Condition[] => {
      const encoded = compared[at] ?? null;
      if (encoded === null) return [];
      const value = this.decode(encoded);
      const sign = side === 'target' ? 1 : -1;
      const holds = (one: string) => COMPARISONS[operator](sign * compare(one, value));
      return [{ at, holds, reach: SQL_OPERATORS[operator as 'less'][side] }];
    });
  }
}

/** What the value of a comparison must be. */
interface Condition {
  readonly at: number;
  holds(value: string): boolean;
  /** As SQL writes it. */
  readonly reach: string;
}

/** @returns those for which all holds, by rank; few in reach of the first comparison are sorted rather than all looked at */
function* listInReach(list: KeyedList, conditions: readonly Condition[]): Generator<ReadMember, void> {
  const [first, ...others] = conditions;
  const near = first === undefined ? undefined : findNear(list, first);
  const rest = near === undefined ? conditions : others;
  for (const member of near ?? list.members) if (holdsAll(rest, member)) yield member;
}

/** Of an inequality a member has none when it has several values: one of them differs. */
const holdsAll = (conditions: readonly Condition[], { compared }: ReadMember) =>
  conditions.every(({ at, holds }) => {
    const value = compared[at] ?? null;
    return value === null || holds(value);
  });

/** @returns those in reach, by rank; undefined where they are many, or the values are in no order that helps */
function findNear(list: KeyedList, { at, holds, reach }: Condition): ReadMember[] | undefined {
  if (at !== 0 || reach === '<>') return undefined;
  list.byFirst ??= list.members.toSorted((a, b) => compare(firstOf(a), firstOf(b)));
  const { byFirst } = list;
  const isBelow = reach.startsWith('<');
  const edge = findEdge(byFirst, (member) => holds(firstOf(member)) === isBelow);
  const near = isBelow ? [0, edge] : [edge, byFirst.length];
  if ((near[1] as number) - (near[0] as number) >= SORTED_AT_MOST) return undefined;
  return byFirst.slice(...near).sort(byRank);
}

const firstOf = ({ compared }: ReadMember): string => compared[0] ?? '';

const byRank = (a: ReadMember, b: ReadMember): number => compare(a.rank, b.rank) || a.productId - b.productId;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
