import { COMPARISONS, type Operator } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import type { Membership } from '../memberships/memberships.ts';
import { findEdge } from './catalog-columns.ts';
import { type Candidate, SORTED_AT_MOST, SQL_OPERATORS, type Wanted } from './related-view.ts';

/** A product on a side of the one rule that is looked at. */
export interface Member extends Candidate {
  readonly membership: Membership;
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
export class MemberLists {
  private readonly members: Readonly<Record<Side, readonly Member[]>>;
  /** By key; made when they are needed first, as most rules are asked one way only. */
  private readonly byKey = new Map<Side, Map<string, Member[]>>();
  private readonly lists = new Map<string, KeyedList>();
  private readonly decoded = new Map<string, string>();

  constructor(members: Readonly<Record<Side, readonly Member[]>>) {
    this.members = members;
  }

  *listCandidates({ side, opposite, operators }: Wanted): Generator<Candidate, void> {
    const conditions = this.describeConditions(opposite, operators, side);
    const found = opposite.keys.map((key) => listInReach(this.listOf(side, key), conditions));
    if (found.length === 1) yield* found[0] as Iterable<ReadMember>;
    else yield* merge(found);
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

  private keysOf(side: Side): Map<string, Member[]> {
    const known = this.byKey.get(side);
    if (known !== undefined) return known;
    const made = new Map<string, Member[]>();
    for (const member of this.members[side]) {
      for (const key of member.membership.keys) {
        const list = made.get(key);
        if (list === undefined) made.set(key, [member]);
        else list.push(member);
      }
    }
    this.byKey.set(side, made);
    return made;
  }

  private readMember({ productId, group, membership: { rank, compared } }: Member): ReadMember {
    return {
      ...{ productId, group, rank: this.decode(rank) },
      compared: compared.map((value) => (value === null ? null : this.decode(value))),
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

function* merge(lists: readonly Generator<ReadMember, void>[]): Generator<ReadMember, void> {
  const heads = lists.flatMap((rest) => {
    const { value: next } = rest.next();
    return next === undefined ? [] : [{ rest, next }];
  });
  while (heads.length > 0) {
    const best = heads.reduce((first, head) => (byRank(head.next, first.next) < 0 ? head : first));
    yield best.next;
    const { value: next } = best.rest.next();
    if (next === undefined) heads.splice(heads.indexOf(best), 1);
    else best.next = next;
  }
}

const byRank = (a: ReadMember, b: ReadMember): number => compare(a.rank, b.rank) || a.productId - b.productId;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
