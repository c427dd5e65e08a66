import type { BoundRule, Side } from '../definitions/definitions.ts';
import { type Membership, Memberships, packMembership } from '../memberships/memberships.ts';
import { type CatalogColumns, findEdge } from './catalog-columns.ts';
import { FetchedView } from './fetched-view.ts';
import { type Member, MemberLists } from './member-lists.ts';
import type { Candidate, FoundSource, RelationView, ShareLists, Variant, Wanted } from './related-view.ts';
import {
  type RelationSurvey,
  type SurveyedCatalog,
  type SurveyTime,
  surveyRelation,
  TRIED_BUILD,
  type Tried,
  type TriedCatalog,
} from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** A rule that is not stored, tried on what is in memory of a catalog. */

export interface ReadCatalog {
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
  tried: Tried,
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
        if (view.missing.count === 0) return result;
        for (const upload of await catalog.findUploads([...view.missing.uploads]))
          view.addUpload(columns.identifierAt(columns.placeOfId(upload.productId)), upload);
        view.settle();
      }
    },
    countMembers: async (_, side) => counts[side],
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

  override *listCandidates(wanted: Wanted): Generator<Candidate, void> {
    let seen = 0;
    for (const candidate of this.known.lists.listCandidates(wanted)) {
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
