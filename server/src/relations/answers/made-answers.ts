import { type AnswerForm, makeItem } from '../../catalog/lookup/lookup.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { RelatedReason } from '../definitions/definitions.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import {
  type CatalogMark,
  explainFound,
  explainLinked,
  type FoundGroups,
  type FoundSource,
  type RelationView,
  type SearchedRelation,
  searchRelated,
} from '../search/search.ts';
/** The relations to answer for each product, in this order. */
export interface RequestedTag {
  readonly tag: string;
  readonly relations: readonly { readonly id: number; readonly limit: number }[];
}

export interface RelateInput {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly tags: readonly RequestedTag[];
  readonly form: AnswerForm;
  readonly explain: boolean;
  /** Whether entries name attributes without a value that they were assumed to match by. */
  readonly assumed: boolean;
  /** Of the sentences of explanations. */
  readonly locale: string;
  readonly brandAttribute: string;
}

/** A request, with the state of the catalog that its caller has just seen. */
export type MetRelateInput = RelateInput & CatalogMark;

export interface RelateOutput {
  /** The version of the catalog. */
  readonly version: number;
  /** `{"tags":[…]}` for each of the first identifiers, concatenated. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly ends: Uint32Array;
}

/** What answers need of one version of a catalog besides its products. */
interface CatalogRules {
  readonly version: number;
  readonly attributes: readonly Attribute[];
  /** The well configured, built relations. */
  readonly relations: readonly ServedRelation[];
  /** Whether the target side of a build holds any product. */
  hasTargets(build: number): boolean;
}

interface AnsweringRelation extends SearchedRelation {
  /** The answer's members before `matchType`, and those between it and `searchResult`. */
  readonly head: string;
  readonly localization: string;
}

/** A requested product. */
interface Requested {
  readonly identifier: string;
  readonly source: FoundSource | undefined;
}

/** Reading this many in vain takes three times as long as another round trip. */
const FEW_ITEMS = 200;
/** With this many cached, most of the next ones are among them. */
const MANY_ITEMS = 1_000;
/** A step of an answer ends with the product that makes it this long: products of 2 MB may be related to 5,000. */
export const STEP_BYTES = 8 * 1024 * 1024;
export const HIGHEST_RELEVANCE = 1_000_000;

/** Answers with the relations of one version of a catalog. */
export class CatalogRelations {
  readonly version: number;
  private readonly relations: ReadonlyMap<number, AnsweringRelation>;
  private readonly attributes: ReadonlyMap<string, Attribute>;
  private readonly hasTargets: CatalogRules['hasTargets'];
  private readonly targets = new Map<number, boolean>();
  /** By path, as JSON. */
  private readonly categoryIds = new Map<string, number>();
  private readonly ontology: string;
  private readonly items: CachedItems;

  /** `earlier`: another version of the same catalog, whose items are reused. */
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

  /** @returns those requested relations that give answers, each with its limit */
  listAnswering(tags: readonly RequestedTag[]): { relation: AnsweringRelation; limit: number }[] {
    return tags.flatMap(({ relations }) =>
      relations.flatMap(({ id, limit }) => {
        const relation = this.findAnswering(id);
        return relation === undefined ? [] : [{ relation, limit }];
      }),
    );
  }

  /**
   * Whether an answer will read many products that no earlier answer has read, or so few that reading them again does no harm.
   */
  needsProducts({ identifiers, tags, ...requested }: RelateInput): boolean {
    const limits = this.listAnswering(tags).reduce((sum, { limit }) => sum + limit, 0);
    return identifiers.length * limits <= FEW_ITEMS || this.items.countOf(requested) < MANY_ITEMS;
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
    // Shared: V8 counts transferred memory, and would collect the whole heap of both threads for it.
    const bytes = Buffer.from(new SharedArrayBuffer(length));
    for (const [at, answer] of answers.entries()) bytes.write(answer, ends[at - 1] ?? 0);
    return { version: this.version, bytes, ends: Uint32Array.from(ends) } satisfies RelateOutput;
  }

  /** Omits a relation whose target side is empty (§4.8 rule 5), and a tag without relations. */
  private answer(view: RelationView, requested: Requested, input: RelateInput): string {
    const parts = input.tags.flatMap(({ tag, relations }) => {
      const answered = relations.flatMap(({ id, limit }) => {
        const relation = this.findAnswering(id);
        if (relation === undefined) return [];
        // A view that fetches gets the uploads for answers together with the variants.
        const isBestEnough = input.form !== 'bulk' && view.share !== undefined;
        const found = search(view, relation, { ...requested, limit, isBestEnough });
        return [this.describeRelation(view, relation, { requested, found, input })];
      });
      return answered.length === 0 ? [] : [`{"tag":${JSON.stringify(tag)},"relations":[${chain(answered)}]}`];
    });
    return `{"tags":[${chain(parts)}]}`;
  }

  private findAnswering(id: number): AnsweringRelation | undefined {
    const relation = this.relations.get(id);
    if (relation === undefined) return undefined;
    return this.targets.getOrInsertComputed(relation.build, this.hasTargets) ? relation : undefined;
  }

  private describeRelation(
    view: RelationView,
    relation: AnsweringRelation,
    { requested, found, input }: { requested: Requested; found: FoundGroups; input: RelateInput },
  ): string {
    const { matchType, groups, assumed } = found;
    let relevance = HIGHEST_RELEVANCE;
    const now = { version: this.version, findDocument: view.findDocument };
    const describe = (productId: number) => {
      const known = this.items.find(input, productId, now);
      const missing = input.assumed ? assumed?.get(productId) : undefined;
      const said = missing === undefined ? '' : `,"assumed":${JSON.stringify(missing)}`;
      const item = `${known ?? this.describeProduct(view, productId, input)}${relevance--}${said}`;
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
    const made = makeItem(productId, JSON.parse(raw) as UploadedProduct, settings);
    const item = `${JSON.stringify(made).slice(0, -1)},"relevance":`;
    if (!isWhole) return '';
    const document = view.findDocument?.(productId);
    this.items.keep(input, productId, { text: item, document, version: this.version });
    return item;
  }
}

/** Joins with commas. `join` would copy all characters again on each level. */
const chain = (texts: readonly string[]) =>
  texts.reduce((joined, text) => (joined === '' ? text : `${joined},${text}`), '');

function search(
  view: RelationView,
  relation: AnsweringRelation,
  searched: Requested & { limit: number; isBestEnough: boolean },
) {
  const { identifier, source } = searched;
  const find = () => searchRelated(view, relation, searched);
  // One that is not found may only not be fetched yet: nothing of it is remembered.
  return source === undefined && !relation.isListed
    ? find()
    : view.once(`search ${relation.build} ${identifier}`, find);
}

const toAnswering = (relation: ServedRelation): AnsweringRelation => ({
  ...relation,
  head: `{"name":${JSON.stringify(relation.definition.name)},"id":${relation.id},"matchType":`,
  localization: `"localization":${JSON.stringify({ names: relation.definition.names })},`,
});

/** For a related product: the conditions that held on either side, and by which values (§12.6 rule 1). */
function explainItem(
  view: RelationView,
  relation: AnsweringRelation,
  pair: { identifier: string; productId: number; matchType: FoundGroups['matchType']; locale: string },
): RelatedReason | undefined {
  if (relation.isListed) return explainLinked(view, relation, pair);
  const raws = [view.findUpload(pair.identifier)?.raw, view.findRaw(pair.productId)];
  const [requested, found] = raws.map((raw) => raw && (JSON.parse(raw) as UploadedProduct));
  return requested && found ? explainFound(view, relation, { ...pair, requested, found }) : undefined;
}

type ItemLook = Pick<RelateInput, 'form' | 'brandAttribute'>;

interface CachedItem {
  readonly text: string;
  /** The document that it was made from. */
  readonly document: number | undefined;
  /** The last catalog version in which the product was seen to have this document. */
  version: number;
}

const MOST = 20_000;

/**
 * Items of products that many others lead to, for one ontology. A new version of the catalog leaves most
 * documents unchanged, and checking that takes a twentieth of the time of making an item.
 */
export class CachedItems {
  private readonly looks = new Map<string, Map<number, CachedItem>>();
  private count = 0;

  countOf(look: ItemLook): number {
    return this.of(look).size;
  }

  /** @param now without `findDocument` no item outlives its version of the catalog */
  find(
    look: ItemLook,
    productId: number,
    now: { version: number; findDocument: RelationView['findDocument'] },
  ): string | undefined {
    const cached = this.of(look).get(productId);
    if (cached === undefined || cached.version === now.version) return cached?.text;
    const document = now.findDocument?.(productId);
    if (document === undefined || document !== cached.document) return undefined;
    cached.version = now.version;
    return cached.text;
  }

  keep(look: ItemLook, productId: number, item: CachedItem): void {
    if (this.count >= MOST) {
      this.looks.clear();
      this.count = 0;
    }
    const items = this.of(look);
    if (!items.has(productId)) this.count += 1;
    items.set(productId, item);
  }

  private of({ form, brandAttribute }: ItemLook): Map<number, CachedItem> {
    const key = `${form} ${brandAttribute}`;
    return this.looks.getOrInsertComputed(key, () => new Map<number, CachedItem>());
  }
}
