/** From one state of a catalog to the rows of a channel. Runs in a thread of its own. */

import { ComparisonProblem, type ProductTest, viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { systemClock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { openExpressions } from '../../pipelines/mapping/expressions/expressions.ts';
import { MappingProblem } from '../../pipelines/mapping/mapping.ts';
import type { RelatedSearch } from '../../relations/search/search.ts';
import type { CatalogPass } from '../../relations/store/store.ts';
import {
  type ChannelDefinition,
  type ChannelRelation,
  compileChannelFilter,
} from '../definitions/definitions.ts';
import {
  type ChannelFormat,
  type FeedRow,
  planFiles,
  type RelatedAs,
  type RelatedProducts,
} from '../formats/formats.ts';
import {
  createRowMaker,
  type FieldProblem,
  findIdentifying,
  isForEverybody,
  suggestMapping,
} from '../mapping/mapping.ts';

/** A product that the filter takes. */
export interface ReadRow {
  readonly identifier: string;
  readonly row: FeedRow;
  readonly problems: readonly FieldProblem[];
  readonly isLeftOut: boolean;
  /** Related products that are not named: they do not go out themselves. */
  readonly absent: readonly string[];
}

interface ReadProduct {
  readonly productId: number;
  readonly identifier: string;
  readonly upload: UploadedProduct;
}

export interface ReadPage {
  /** Of the catalog. */
  readonly products: number;
  readonly rows: readonly ReadRow[];
}

/** What a channel makes of one state of a catalog. */
export type FeedRows = ReturnType<typeof openFeedRows>;

/** Related products are read in one statement each on PostgreSQL; a page of large products is some MB. */
const PAGE = 200;

/** Kind and relation of the identifiers at one place of an answer. */
interface RelatedPlace extends RelatedSearch {
  readonly as: RelatedAs;
}

/** @throws channel_unfit for a filter that does not fit the ontology any more */
export function openFeedRows(pass: CatalogPass, definition: ChannelDefinition) {
  const { format, variant } = planFiles(definition.format);
  const mapping = definition.mapping ?? suggestMapping(format, pass.attributes);
  const maker = createRowMaker(format, mapping, pass.attributes);
  const isTaken = openFilter(pass, definition);
  const { places, warnings } = planRelated(pass, definition.relations, format);
  const as = [...new Set(definition.relations.map((one) => one.as))];
  const identifiedBy = findIdentifying(mapping, format.identifiedBy);
  const [day = ''] = new Date(systemClock.now()).toISOString().split('T');
  const writer = variant.open({
    columns: maker.columns,
    as,
    channelName: definition.name,
    day,
    identifiedBy,
    changes: definition.changes === true,
  });
  const expressions = maker.expressions.length === 0 ? undefined : openExpressions(maker.expressions);

  const members = new FeedMembers();

  const parseUpload = ({ productId, raw }: { productId: number; raw: string }): ReadProduct => {
    const upload = JSON.parse(raw) as UploadedProduct;
    return { productId, identifier: upload.identifier, upload };
  };

  async function makeRows(products: readonly ReadProduct[]) {
    const taken = products.filter(({ upload }) => isTaken(upload));
    const inputs = expressions === undefined ? [] : taken.map(({ upload }) => toInput(upload));
    const results = inputs.length === 0 ? undefined : await expressions?.evaluate(inputs);
    const made = taken.map((product, at) => ({ ...product, ...maker.make(product.upload, results?.[at]) }));
    if (places.length === 0) return made;
    // What the filter takes out may go out in another feed of the shop.
    for (const { identifier, upload } of products) members.note(identifier, isForEverybody(upload));
    for (const { identifier, isLeftOut } of made) members.note(identifier, !isLeftOut);
    return made;
  }

  /** Makes the rows of related products before their turn: whether they go out is known then. */
  async function judge(identifiers: readonly string[]): Promise<void> {
    const unknown = [...new Set(identifiers.filter((one) => members.find(one) === undefined))];
    for (let at = 0; at < unknown.length; at += PAGE)
      await makeRows((await pass.findUploads(unknown.slice(at, at + PAGE))).map(parseUpload));
  }

  const named = format.identity === undefined ? undefined : new GroupNames(pass);

  async function readPage(page: readonly ReadProduct[]): Promise<ReadRow[]> {
    const made = await makeRows(named === undefined ? page : named.takeFirst(page));
    const going = made.filter(({ isLeftOut }) => !isLeftOut);
    const found = places.length === 0 || going.length === 0 ? [] : await pass.listRelated(going, places);
    await judge(found.flat(2));
    await named?.read(found.flat(2));
    const relatedTo = new Map(going.map(({ productId }, at) => [productId, found[at]]));
    return made.map(({ productId, identifier, values, rows, problems, isLeftOut }) => {
      const related = relatedTo.get(productId);
      const { present, absent } = related === undefined ? NONE_RELATED : members.part(related);
      const chosen = chooseRelated(places, named?.nameAll(present) ?? present, format);
      const row = { values, related: chosen.related, ...(rows && { rows }) };
      const notes = isLeftOut ? [] : [...chosen.notes, ...describeLeftOut(row)];
      return { identifier, row, problems: [...problems, ...notes], isLeftOut, absent };
    });
  }

  const describeLeftOut = (row: FeedRow): FieldProblem[] =>
    (writer.listLeftOut?.(row) ?? []).map((message) => ({ field: 'part', code: 'part_left_out', message }));

  return {
    mapping,
    writer,
    /** What does not stop a build, in words. */
    warnings,
    columns: maker.columns.map(({ name }) => name),
    /** What a reader knows the product of a row by. */
    nameOf: ({ identifier, row }: ReadRow) =>
      row.values[maker.columns.findIndex(({ name }) => name === identifiedBy)]?.[0] ?? identifier,
    /** In the order of the products' ids. */
    async *pages(): AsyncGenerator<ReadPage> {
      for (let after = 0; ; ) {
        const page = await pass.listUploads(after, PAGE);
        const last = page.at(-1);
        if (last === undefined) return;
        after = last.productId;
        const products = page.map(parseUpload);
        yield { products: page.length, rows: await translate(() => readPage(products)) };
      }
    },
    close: async () => expressions?.close(),
  };
}

const NONE_RELATED = { present: [], absent: [] };

/** Products by their groups, for a format that knows only these. */
class GroupNames {
  readonly #pass: CatalogPass;
  readonly #taken = new Set<string>();
  #groups = new Map<string, string>();

  constructor(pass: CatalogPass) {
    this.#pass = pass;
  }

  /** @returns the first product of each group that did not come before */
  takeFirst(products: readonly ReadProduct[]): ReadProduct[] {
    return products.filter(({ upload: { groupIdentifier } }) => {
      const isNew = !this.#taken.has(groupIdentifier);
      this.#taken.add(groupIdentifier);
      return isNew;
    });
  }

  async read(identifiers: readonly string[]): Promise<void> {
    const all = [...new Set(identifiers)];
    this.#groups = new Map();
    for (let at = 0; at < all.length; at += PAGE)
      for (const { raw } of await this.#pass.findUploads(all.slice(at, at + PAGE))) {
        const { identifier, groupIdentifier } = JSON.parse(raw) as UploadedProduct;
        this.#groups.set(identifier, groupIdentifier);
      }
  }

  nameAll = (lists: readonly (readonly string[])[]): string[][] =>
    lists.map((list) => [...new Set(list.map((one) => this.#groups.get(one) ?? one))]);
}

function openFilter(pass: CatalogPass, { filter }: ChannelDefinition): (product: UploadedProduct) => boolean {
  const test: ProductTest = refuseUnfit(() => compileChannelFilter(filter, pass.attributes));
  return (product) => isForEverybody(product) && test(viewUpload(product));
}

function refuseUnfit<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ComparisonProblem)) throw error;
    throw new ServiceError('channel_unfit', { details: [`filter: ${error.message}`] });
  }
}

async function translate<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MappingProblem)) throw error;
    throw new ServiceError('channel_unfit', { details: [`mapping: ${error.message}`], cause: error });
  }
}

function planRelated(pass: CatalogPass, relations: readonly ChannelRelation[], rules: ChannelFormat) {
  const planned = relations.map((relation) => ({ relation, found: findRelations(pass, relation) }));
  const places = planned.flatMap(({ relation: { as, limit }, found }) =>
    found.flatMap(({ searched }): RelatedPlace[] => {
      const place = { relation: searched, as, limit: Math.min(limit, rules.mostRelated ?? limit) };
      const there: RelatedPlace = { ...place, direction: 'from' };
      return rules.reversed?.has(as) ? [there, { ...place, direction: 'to' }] : [there];
    }),
  );
  const silent = planned
    .filter(({ found }) => found.length === 0)
    .map(({ relation }) => describeRelation(relation));
  const why = 'answers now: it is disabled, not built, misconfigured or gone';
  return { places, warnings: silent.map((name) => `no ${name} ${why}`) };
}

const findRelations = (pass: CatalogPass, { tag, id }: ChannelRelation) =>
  pass.relations.filter((one) => (tag === undefined ? one.id === id : one.tag === tag));

const describeRelation = ({ tag, id }: ChannelRelation) =>
  tag === undefined ? `relation ${id}` : `relation with the tag ${JSON.stringify(tag)}`;

/** @returns what the format takes of related products, and what it does not */
function chooseRelated(
  places: readonly RelatedPlace[],
  found: readonly (readonly string[])[],
  { mostRelated = Number.POSITIVE_INFINITY, relatedIdentifier, type }: ChannelFormat,
): { related: RelatedProducts[]; notes: FieldProblem[] } {
  const related: RelatedProducts[] = [];
  const refused: string[] = [];
  let left = mostRelated;
  for (const [at, { as, direction }] of places.entries()) {
    const all = found[at] ?? [];
    const fit = relatedIdentifier === undefined ? all : all.filter((one) => relatedIdentifier.test(one));
    if (fit.length < all.length) refused.push(...all.filter((one) => !fit.includes(one)));
    const identifiers = fit.slice(0, left);
    left -= identifiers.length;
    if (identifiers.length > 0) related.push({ as, identifiers, isReversed: direction === 'to' });
  }
  if (refused.length === 0) return { related, notes: [] };
  const message = `related products were left out, whose identifiers ${type} cannot name: ${refused.slice(0, 10).join(' ')}`;
  return { related, notes: [{ field: 'related', code: 'related_left_out', message }] };
}

/** What an expression sees: attributes under their keys, several values of one as a list. */
function toInput({ attributes, settings: _, ...product }: UploadedProduct): object {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const { key, value, userGroups } of attributes) {
    if (userGroups !== undefined) continue;
    const known = values[key];
    values[key] = known === undefined ? value : [known, value].flat();
  }
  return { ...product, attributes: { ...values } };
}

/** Whether products go out, of those that were read so far: related products are checked against it. */

/** Grows to twice its size when it is half full. */
const FIRST_PLACES = 1_024;

/**
 * Keeps 63 bits of a hash and the verdict for each identifier: a million take 16 MB, as texts they would take 100. That two
 * of a million share their bits happens once in ten million catalogs.
 */
export class FeedMembers {
  #low = new Uint32Array(FIRST_PLACES);
  /** The lowest bit is the verdict. */
  #high = new Uint32Array(FIRST_PLACES);
  #size = 0;

  note(identifier: string, isGoing: boolean): void {
    if (this.#size * 2 >= this.#low.length) this.#grow();
    const [low, high] = hash(identifier);
    this.#put(low, high | (isGoing ? 1 : 0));
  }

  /** @returns undefined for one that was never noted */
  find(identifier: string): boolean | undefined {
    const [low, high] = hash(identifier);
    const at = this.#placeOf(low, high);
    return this.#low[at] === 0 ? undefined : ((this.#high[at] ?? 0) & 1) === 1;
  }

  /** @returns lists with those that go out, and all others */
  part(lists: readonly (readonly string[])[]): {
    present: readonly (readonly string[])[];
    absent: readonly string[];
  } {
    const absent: string[] = [];
    const present = lists.map((list) =>
      list.filter((identifier) => {
        const isGoing = this.find(identifier) === true;
        if (!isGoing) absent.push(identifier);
        return isGoing;
      }),
    );
    return { present, absent };
  }

  #put(low: number, high: number): void {
    const at = this.#placeOf(low, high);
    if (this.#low[at] === 0) this.#size += 1;
    this.#low[at] = low;
    this.#high[at] = high;
  }

  /** @returns where it is, or the empty place where it would be */
  #placeOf(low: number, high: number): number {
    const last = this.#low.length - 1;
    let at = low & last;
    while (this.#low[at] !== 0 && !(this.#low[at] === low && (this.#high[at] ?? 0) >>> 1 === high >>> 1))
      at = (at + 1) & last;
    return at;
  }

  #grow(): void {
    const [low, high] = [this.#low, this.#high];
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(high.length * 2);
    this.#size = 0;
    for (const [at, bits] of low.entries()) if (bits !== 0) this.#put(bits, high[at] ?? 0);
  }
}

/** Two multiplicative hashes, mixed as in MurmurHash3. @returns 32 bits that are never 0, and 31 above an empty one */
function hash(text: string): [low: number, high: number] {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return [low >>> 0 || 1, (high & ~1) >>> 0];
}
