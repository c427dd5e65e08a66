import { makeItem } from '../../catalog/lookup/lookup.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  explainFound,
  explainLinked,
  type FoundGroups,
  type FoundSource,
  type RelationView,
  type SearchedRelation,
  searchRelated,
} from '../matching/matching.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import { HIGHEST_RELEVANCE, type RelatedReason } from '../relation-definitions/relation-definitions.ts';
import type { CatalogRules, Prefetch } from '../relation-store/relation-store.ts';
import { CachedItems } from './cached-items.ts';
import { type RelateInput, type RelateOutput, type RequestedTag, STEP_BYTES } from './relate-request.ts';

interface AnsweringRelation extends SearchedRelation {
  /**
   * The members of the answer before `matchType`. `localization` has the members between it and
   * `searchResult`.
   */
  readonly head: string;
  readonly localization: string;
}

/** A requested product. */
interface Requested {
  readonly identifier: string;
  readonly source: FoundSource | undefined;
}

/** Reading this many items that are already cached takes three times as long as another round trip. */
const FEW_ITEMS = 200;
/** With this many cached items, most of the items of the next answer are among them. */
const MANY_ITEMS = 1_000;

/** Answers with the relations of one catalog version. */
export class CatalogRelations {
  readonly version: number;
  private readonly relations: ReadonlyMap<number, AnsweringRelation>;
  private readonly attributes: ReadonlyMap<string, Attribute>;
  private readonly hasTargets: CatalogRules['hasTargets'];
  private readonly targets = new Map<number, boolean>();
  /** Category ids by path, as JSON. */
  private readonly categoryIds = new Map<string, number>();
  private readonly ontology: string;
  private readonly items: CachedItems;

  /** @param earlier another version of the same catalog, whose items are reused */
  constructor({ version, attributes, relations, hasTargets }: CatalogRules, earlier?: CatalogRelations) {
    this.ontology = JSON.stringify(attributes);
    this.items = earlier?.ontology === this.ontology ? earlier.items : new CachedItems();
    this.version = version;
    this.hasTargets = hasTargets;
    this.attributes = indexByKey(attributes);
    this.relations = new Map(
      relations
        .filter(({ definition }) => definition.enabled)
        .map((relation) => [relation.id, toAnswering(relation)]),
    );
  }

  describePrefetch(input: RelateInput): Prefetch {
    return { searches: this.listAnswering(input.tags), products: this.needsProducts(input) };
  }

  relate(view: RelationView, input: RelateInput) {
    const answers: string[] = [];
    const ends: number[] = [];
    let length = 0;
    for (const identifier of input.identifiers) {
      if (length >= STEP_BYTES) break;
      const answer = view.once(`answer ${identifier}`, () => {
        const requested = { identifier, source: view.findSource(identifier) };
        return this.answer(view, requested, input);
      });
      answers.push(answer);
      length += Buffer.byteLength(answer);
      ends.push(length);
    }
    // Uses shared memory, because V8 counts transferred memory and would collect the whole heap of both
    // threads for it.
    const bytes = Buffer.from(new SharedArrayBuffer(length));
    for (const [index, answer] of answers.entries()) bytes.write(answer, ends[index - 1] ?? 0);
    return { version: this.version, bytes, ends: Uint32Array.from(ends) } satisfies RelateOutput;
  }

  /** Omits relations with an empty target side (§4.8 rule 5), and tags without relations. */
  private answer(view: RelationView, requested: Requested, input: RelateInput): string {
    const parts = input.tags.flatMap(({ tag, relations }) => {
      const answered = relations.flatMap(({ id, limit }) => {
        const relation = this.findAnswering(id);
        if (relation === undefined) return [];
        // A view of a remote catalog fetches uploads together with the variants, so it must search all
        // variants.
        const isBestEnough = input.form !== 'bulk' && view.share !== undefined;
        const related = search(view, relation, { ...requested, limit, isBestEnough });
        return [this.describeRelation(view, relation, { requested, related, input })];
      });
      return answered.length === 0 ? [] : [`{"tag":${JSON.stringify(tag)},"relations":[${chain(answered)}]}`];
    });
    return `{"tags":[${chain(parts)}]}`;
  }

  /** @returns the requested relations that give answers, each with its limit */
  private listAnswering(tags: readonly RequestedTag[]): { relation: AnsweringRelation; limit: number }[] {
    return tags.flatMap(({ relations }) =>
      relations.flatMap(({ id, limit }) => {
        const relation = this.findAnswering(id);
        return relation === undefined ? [] : [{ relation, limit }];
      }),
    );
  }

  /**
   * Whether to prefetch the products of an answer. True if the answer probably needs many products that are
   * not cached, or so few that reading them again costs little.
   */
  private needsProducts({ identifiers, tags, ...requested }: RelateInput): boolean {
    const limits = this.listAnswering(tags).reduce((sum, { limit }) => sum + limit, 0);
    return identifiers.length * limits <= FEW_ITEMS || this.items.countOf(requested) < MANY_ITEMS;
  }

  private findAnswering(id: number): AnsweringRelation | undefined {
    const relation = this.relations.get(id);
    if (relation === undefined) return undefined;
    return this.targets.getOrInsertComputed(relation.build, this.hasTargets) ? relation : undefined;
  }

  private describeRelation(
    view: RelationView,
    relation: AnsweringRelation,
    { requested, related, input }: { requested: Requested; related: FoundGroups; input: RelateInput },
  ): string {
    const { matchType, groups, assumed } = related;
    let relevance = HIGHEST_RELEVANCE;
    const now = { version: this.version, findDocument: view.findDocument };
    const describe = (productId: number) => {
      const cachedText = this.items.find(input, productId, now);
      const missing = input.assumed ? assumed?.get(productId) : undefined;
      const assumedText = missing === undefined ? '' : `,"assumed":${JSON.stringify(missing)}`;
      const item = `${cachedText ?? this.describeProduct(view, productId, input)}${relevance--}${assumedText}`;
      if (!input.explain) return `${item}}`;
      const explained = explainItem(view, relation, {
        ...{ ...requested, productId, matchType },
        locale: input.locale,
      });
      return `${item},"explain":${JSON.stringify(explained)}}`;
    };
    const results =
      input.form === 'bulk'
        ? groups.map((group) => `[${chain(group.map(describe))}]`)
        : groups.flatMap((group) => group.slice(0, 1).map(describe));
    const names = input.form === 'bulk' ? relation.localization : '';
    return `${relation.head}"${matchType}",${names}"searchResult":[${chain(results)}]}`;
  }

  private describeProduct(view: RelationView, productId: number, input: RelateInput): string {
    const raw = view.findRaw(productId);
    if (raw === undefined) return '';
    const { form, brandAttribute } = input;
    const { attributes } = this;
    let isWhole = true;
    const categoryIdOf = (path: string) => {
      const id = this.categoryIds.get(path) ?? view.findCategoryId(path);
      if (id === undefined) isWhole = false;
      else this.categoryIds.set(path, id);
      return id ?? 0;
    };
    const settings = { form, brandAttribute, attributes, categoryIdOf };
    const described = makeItem(productId, JSON.parse(raw) as UploadedProduct, settings);
    const item = `${JSON.stringify(described).slice(0, -1)},"relevance":`;
    if (!isWhole) return '';
    const document = view.findDocument?.(productId);
    this.items.keep(input, productId, { text: item, document, version: this.version });
    return item;
  }
}

/** Joins with commas but without `join`, which would copy all characters again on each level. */
const chain = (texts: readonly string[]) =>
  texts.reduce((joined, text) => (joined === '' ? text : `${joined},${text}`), '');

function search(
  view: RelationView,
  relation: AnsweringRelation,
  searched: Requested & { limit: number; isBestEnough: boolean },
) {
  const { identifier, source } = searched;
  const find = () => searchRelated(view, relation, searched);
  // Without a source, the result may only be incomplete because the source is not fetched, so nothing is
  // cached.
  return source === undefined && !relation.isListed
    ? find()
    : view.once(`search ${relation.build} ${identifier}`, find);
}

const toAnswering = (relation: ServedRelation): AnsweringRelation => ({
  ...relation,
  head: `{"name":${JSON.stringify(relation.definition.name)},"id":${relation.id},"matchType":`,
  localization: `"localization":${JSON.stringify({ names: relation.definition.names })},`,
});

/** Explains a related product: the conditions that held on both sides, with their values (§12.6 rule 1). */
function explainItem(
  view: RelationView,
  relation: AnsweringRelation,
  pair: { identifier: string; productId: number; matchType: FoundGroups['matchType']; locale: string },
): RelatedReason | undefined {
  if (relation.isListed) return explainLinked(view, relation, pair);
  const raws = [view.findUpload(pair.identifier)?.raw, view.findRaw(pair.productId)];
  const [requested, result] = raws.map((raw) => raw && (JSON.parse(raw) as UploadedProduct));
  return requested && result ? explainFound(view, relation, { ...pair, requested, result }) : undefined;
}
