/** From one state of a catalog to the rows of a channel. Runs in a thread of its own. */
import { ComparisonProblem, viewUpload } from '../../catalog/filters/filters.ts';
import { StoredUpload, type UploadedProduct } from '../../catalog/products/products.ts';
import { planFiles } from '../../formats/formats.ts';
import type { FeedRow, OutputFormat, RelatedAs, RelatedProducts } from '../../formats/output/output.ts';
import { systemClock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { openExpressions } from '../../pipelines/mapping/expressions/expressions.ts';
import { MappingProblem } from '../../pipelines/mapping/mapping.ts';
import { type RelatedList, type RelatedSearch, UPLOADS_AT_ONCE } from '../../relations/search/search.ts';
import type { CatalogPass } from '../../relations/store/store.ts';
import {
  type ChannelDefinition,
  type ChannelRelation,
  compileChannelFilter,
} from '../channel-definitions/channel-definitions.ts';
import {
  createRowMaker,
  type FieldProblem,
  findIdentifying,
  isForEverybody,
  suggestMapping,
} from '../field-mapping/field-mapping.ts';
import { HashedTexts } from './hashed-texts.ts';

export interface ReadRow {
  readonly identifier: string;
  readonly row: FeedRow;
  readonly problems: readonly FieldProblem[];
  readonly isLeftOut: boolean;
  /** Related products that are not named, because they are not in the file themselves. */
  readonly absent: readonly string[];
}

type ReadProduct = ReturnType<typeof toRead>;

export interface ReadPage {
  readonly products: number;
  readonly rows: readonly ReadRow[];
  /** Earlier rows may name products that turned out not to be in the file: all rows are made anew, from the first one. */
  readonly isAnew?: boolean;
}

export type FeedRows = ReturnType<typeof openFeedRows>;

/** A page of related products is one statement on PostgreSQL; a page of large products is some MB. */
const PAGE = 200;
/**
 * The first pages are smaller: PAGE products fill the young generation of a new thread, where all of them then survive, and V8
 * allocates what survives in the old generation ever after (docs/decisions/0010).
 */
const FIRST_PAGE = 20;
const PAGE_GROWTH = 1.2;

/** The kind and relation of the identifiers at one place of an answer. */
type RelatedPlace = RelatedSearch & { readonly as: RelatedAs };

/** @throws channel_unfit for a filter that no longer fits the ontology */
export function openFeedRows(pass: CatalogPass, definition: ChannelDefinition) {
  const { format, variant } = planFiles(definition.format);
  const mapping = definition.mapping ?? suggestMapping(format, pass.attributes);
  const maker = createRowMaker(format, mapping, pass.attributes);
  const isTaken = openFilter(pass, definition);
  const { places, warnings } = planRelated(pass, definition.relations, format);
  const as = [...new Set(definition.relations.map((one) => one.as))];
  const identifiedBy = findIdentifying(mapping, format.identifiedBy);
  const identifiedAt = maker.columns.findIndex(({ name }) => name === identifiedBy);
  const [day = ''] = new Date(systemClock.now()).toISOString().split('T');
  const openWriter = () =>
    variant.open({
      columns: maker.columns,
      as,
      channelName: definition.name,
      day,
      identifiedBy,
      changes: definition.changes === true,
    });
  let writer = openWriter();
  const expressions = maker.expressions.length === 0 ? undefined : openExpressions(maker.expressions);

  /** Products that no row names, because they are not in the file themselves. */
  const absent = new HashedTexts();
  const named = format.identity === undefined ? undefined : openGroupNames(pass);

  async function makeRows(products: readonly ReadProduct[]): Promise<MadeRow[]> {
    const taken = products.filter(({ upload }) => isTaken(upload));
    const results = await evaluate(expressions, taken);
    const made = taken.map(({ productId, upload }, at) => ({
      productId,
      identifier: upload.identifier,
      made: maker.make(upload, results?.[at]),
    }));
    if (places.length > 0) noteAbsent(absent, products, made);
    return made;
  }

  let size = FIRST_PAGE;
  async function readAfter(after: number): Promise<ReadProduct[]> {
    const page = await pass.listUploads(after, size);
    size = Math.min(PAGE, Math.ceil(size * PAGE_GROWTH));
    return page.map(toRead);
  }

  /** Makes the rows of all products after `after`, to find out which of them are not in the file. */
  async function survey(after: number): Promise<void> {
    for (let page = await readAfter(after); page.length > 0; page = await readAfter(lastOf(page)))
      await makeRows(page);
  }

  async function relate(made: readonly MadeRow[], isPart: boolean): Promise<ReadRow[]> {
    const going = made.filter(({ made: { isLeftOut } }) => !isLeftOut);
    const found = places.length === 0 || going.length === 0 ? [] : await pass.listRelated(going, places);
    const listNamed = () => found.flat().flatMap((list) => list.identifiers);
    // As a survey, of related products only.
    if (isPart) for await (const page of findPages(pass, listNamed())) await makeRows(page);
    await named?.read(listNamed());
    let at = 0;
    return made.map(({ identifier, made: { isLeftOut, problems, ...values } }) => {
      if (isLeftOut) return { identifier, row: { ...values, related: [] }, problems, isLeftOut, absent: [] };
      const parted = partRelated(found[at++] ?? [], absent);
      const chosen = chooseRelated(places, named?.nameAll(parted.present) ?? parted.present, format);
      const row = { ...values, related: chosen.related };
      const notes = [...chosen.notes, ...describeLeftOut(row)];
      const all = notes.length === 0 ? problems : [...problems, ...notes];
      return { identifier, row, problems: all, isLeftOut, absent: parted.absent };
    });
  }

  /**
   * @param firstPage of a preview: it looks at five full pages. Rows made anew come in the same pages again, as reports count by these.
   * @returns, with `stops`, where it stopped because a product of the next page is not in the file
   */
  async function* readAll({
    isPart = false,
    stops = false,
    firstPage = FIRST_PAGE,
  }): AsyncGenerator<ReadPage, number | undefined> {
    size = firstPage;
    for (let page = await readAfter(0), after = 0; page.length > 0; page = await readAfter(after)) {
      const made = await makeRows(named === undefined ? page : named.takeFirst(page));
      if (stops && absent.size > 0) return after;
      after = lastOf(page);
      yield { products: page.length, rows: await relate(made, isPart) };
    }
    return undefined;
  }

  const describeLeftOut = (row: FeedRow): FieldProblem[] =>
    (writer.listLeftOut?.(row) ?? []).map((message) => ({ field: 'part', code: 'part_left_out', message }));

  return {
    mapping,
    /** Remembers what it has written, so rows made anew get a new one. */
    get writer() {
      return writer;
    },
    warnings,
    columns: maker.columns.map(({ name }) => name),
    /** The name by which readers know the product of a row. */
    nameOf: ({ identifier, row }: ReadRow) => row.values[identifiedAt]?.[0] ?? identifier,
    /**
     * In the order of the products' ids. Most feeds omit nothing, so rows name all related products until a product
     * is found that is not in the file. Only then are the others found out, before the rows are made anew.
     * @param isPart whether few pages are read, whose related products are checked one by one
     */
    async *pages(isPart = false): AsyncGenerator<ReadPage> {
      if (isPart) return yield* readAll({ isPart, firstPage: PAGE });
      if (places.length === 0) return yield* readAll({});
      // A group has one row, but any of its products may be related.
      const stoppedAt = named === undefined ? yield* readAll({ stops: true }) : 0;
      if (stoppedAt === undefined) return;
      await survey(stoppedAt);
      writer = openWriter();
      if (stoppedAt > 0) yield { products: 0, rows: [], isAnew: true };
      yield* readAll({});
    },
    [Symbol.asyncDispose]: async () => expressions?.close(),
  };
}

interface MadeRow {
  readonly productId: number;
  readonly identifier: string;
  readonly made: ReturnType<ReturnType<typeof createRowMaker>['make']>;
}

const toRead = ({ productId, raw }: { productId: number; raw: string }) => ({
  productId,
  upload: new StoredUpload(raw),
});

async function* findPages(pass: CatalogPass, identifiers: readonly string[]): AsyncGenerator<ReadProduct[]> {
  const all = [...new Set(identifiers)];
  for (let at = 0; at < all.length; at += UPLOADS_AT_ONCE)
    yield (await pass.findUploads(all.slice(at, at + UPLOADS_AT_ONCE))).map(toRead);
}

const lastOf = (page: readonly ReadProduct[]): number => page.at(-1)?.productId ?? 0;

/** Products that the filter excludes may be in another feed of the shop. */
function noteAbsent(absent: HashedTexts, products: readonly ReadProduct[], made: readonly MadeRow[]): void {
  for (const { upload } of products) if (!isForEverybody(upload)) absent.add(upload.identifier);
  for (const { identifier, made: row } of made) if (row.isLeftOut) absent.add(identifier);
}

function partRelated(lists: readonly RelatedList[], absent: HashedTexts) {
  if (absent.size === 0) return { present: lists, absent: [] };
  const isAbsent = (identifier: string) => absent.has(identifier);
  return {
    present: lists.map((list) => ({
      ...list,
      identifiers: list.identifiers.filter((one) => !isAbsent(one)),
    })),
    absent: lists.flatMap(({ identifiers }) => identifiers.filter(isAbsent)),
  };
}

/** Groups of products, for a format that knows only these. */
function openGroupNames(pass: CatalogPass) {
  const taken = new Set<string>();
  let groups = new Map<string, string>();
  return {
    /** @returns the first product of each group that has not come before */
    takeFirst: (products: readonly ReadProduct[]) =>
      products.filter(({ upload: { groupIdentifier } }) => taken.size < taken.add(groupIdentifier).size),
    async read(identifiers: readonly string[]): Promise<void> {
      groups = new Map();
      for await (const page of findPages(pass, identifiers))
        for (const { upload } of page) groups.set(upload.identifier, upload.groupIdentifier);
    },
    nameAll: (lists: readonly RelatedList[]): RelatedList[] =>
      lists.map(({ identifiers }) => ({
        identifiers: [...new Set(identifiers.map((one) => groups.get(one) ?? one))],
      })),
  };
}

function openFilter(pass: CatalogPass, { filter }: ChannelDefinition): (product: UploadedProduct) => boolean {
  try {
    const test = compileChannelFilter(filter, pass.attributes);
    return (product) => isForEverybody(product) && test(viewUpload(product));
  } catch (error) {
    if (!(error instanceof ComparisonProblem)) throw error;
    throw new ServiceError('channel_unfit', `filter: ${error.message}`);
  }
}

async function evaluate(
  expressions: ReturnType<typeof openExpressions> | undefined,
  products: readonly ReadProduct[],
) {
  if (expressions === undefined || products.length === 0) return undefined;
  try {
    return await expressions.evaluate(products.map(({ upload }) => toInput(upload.parse())));
  } catch (error) {
    if (!(error instanceof MappingProblem)) throw error;
    throw new ServiceError('channel_unfit', `mapping: ${error.message}`, { cause: error });
  }
}

function planRelated(pass: CatalogPass, relations: readonly ChannelRelation[], rules: OutputFormat) {
  const planned = relations.map((relation) => ({ relation, found: findRelations(pass, relation) }));
  const places = planned.flatMap(({ relation: { as, limit }, found }) =>
    found.flatMap((one): RelatedPlace[] => {
      const place = { relation: one, as, limit: Math.min(limit, rules.mostRelated ?? limit) };
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
  pass.relations.filter((one) => (tag === undefined ? one.id === id : one.definition.tag === tag));

const describeRelation = ({ tag, id }: ChannelRelation) =>
  tag === undefined ? `relation ${id}` : `relation with the tag ${JSON.stringify(tag)}`;

/** @returns what the format takes of related products, and what it does not */
function chooseRelated(
  places: readonly RelatedPlace[],
  found: readonly RelatedList[],
  { mostRelated = Number.POSITIVE_INFINITY, relatedIdentifier, type }: OutputFormat,
): { related: RelatedProducts[]; notes: FieldProblem[] } {
  const related: RelatedProducts[] = [];
  const refused: string[] = [];
  let left = mostRelated;
  for (const [at, { as, direction }] of places.entries()) {
    const { identifiers: all = [], quantities } = found[at] ?? {};
    const fit = relatedIdentifier === undefined ? all : all.filter((one) => relatedIdentifier.test(one));
    if (fit.length < all.length) refused.push(...all.filter((one) => !fit.includes(one)));
    const identifiers = fit.slice(0, left);
    left -= identifiers.length;
    if (identifiers.length > 0)
      related.push({ as, identifiers, ...(quantities && { quantities }), isReversed: direction === 'to' });
  }
  if (refused.length === 0) return { related, notes: [] };
  const message = `related products were left out, whose identifiers ${type} cannot name: ${refused.slice(0, 10).join(' ')}`;
  return { related, notes: [{ field: 'related', code: 'related_left_out', message }] };
}

/** A product as expressions see it: attributes under their keys, several values of one as a list. */
function toInput({ attributes, settings: _, ...product }: UploadedProduct): object {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const { key, value, userGroups } of attributes) {
    if (userGroups !== undefined) continue;
    const known = values[key];
    values[key] = known === undefined ? value : [known, value].flat();
  }
  return { ...product, attributes: { ...values } };
}
