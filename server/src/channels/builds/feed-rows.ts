/** Makes the rows of a channel from one state of a catalog. Runs in its own thread. */
import { ComparisonProblem, viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { planFiles } from '../../formats/formats.ts';
import type { FeedRow, OutputFormat, RowWriter } from '../../formats/output/output.ts';
import { systemClock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { RowExpressions } from '../../pipelines/mapping/expressions/expressions.ts';
import { MappingProblem } from '../../pipelines/mapping/mapping.ts';
import type { RelatedList } from '../../relations/matching/matching.ts';
import type { CatalogPass } from '../../relations/relation-store/relation-store.ts';
import { type ChannelDefinition, compileChannelFilter } from '../channel-definitions/channel-definitions.ts';
import {
  type ChannelMapping,
  createRowMaker,
  type FieldProblem,
  findIdentifying,
  isForEverybody,
  suggestMapping,
} from '../field-mapping/field-mapping.ts';
import { findPages, lastOf, type ReadProduct, toRead } from './catalog-pages.ts';
import { GroupNames } from './group-names.ts';
import { HashedTexts } from './hashed-texts.ts';
import { chooseRelated, type PlannedRelation, partRelated, planRelated } from './related-products.ts';

export interface ReadRow {
  readonly identifier: string;
  readonly row: FeedRow;
  readonly problems: readonly FieldProblem[];
  readonly isLeftOut: boolean;
  /** Related products that are not named, because they are not in the file. */
  readonly absent: readonly string[];
}

export interface ReadPage {
  readonly products: number;
  readonly rows: readonly ReadRow[];
  /**
   * Whether all rows are made again from the first one, because earlier rows may name products that are not in the
   * file.
   */
  readonly isAnew?: boolean;
}

/** On PostgreSQL, a page of related products is one statement. A page of large products has several MB. */
const PAGE = 200;
/**
 * The first pages are smaller. A full page fills the young generation of a new thread, where all its products then
 * survive. After that, V8 always allocates such products in the old generation (docs/decisions/0010).
 */
const FIRST_PAGE = 20;
const PAGE_GROWTH = 1.2;

/** The rows of a channel, read from one state of a catalog. */
export class FeedRows implements AsyncDisposable {
  readonly mapping: ChannelMapping;
  readonly columns: readonly string[];
  /** Warnings about relations of the channel that name no product. */
  readonly warnings: readonly string[];
  readonly #pass: CatalogPass;
  readonly #format: OutputFormat;
  readonly #maker: ReturnType<typeof createRowMaker>;
  readonly #isTaken: (product: UploadedProduct) => boolean;
  readonly #relations: readonly PlannedRelation[];
  /** The column by which readers identify a product. */
  readonly #identifiedAt: number;
  readonly #openWriter: () => RowWriter;
  #writer: RowWriter;
  readonly #expressions: RowExpressions | undefined;
  /** Products that no row names, because they are not in the file. */
  readonly #absent = new HashedTexts();
  readonly #named: GroupNames | undefined;
  #pageSize = FIRST_PAGE;

  /** @throws channel_unfit for a filter that no longer fits the ontology */
  constructor(pass: CatalogPass, definition: ChannelDefinition) {
    const { format, variant } = planFiles(definition.format);
    const mapping = definition.mapping ?? suggestMapping(format, pass.attributes);
    const maker = createRowMaker(format, mapping, pass.attributes);
    const planned = planRelated(pass, definition.relations, format);
    const identifiedBy = findIdentifying(mapping, format.identifiedBy);
    const [day = ''] = new Date(systemClock.now()).toISOString().split('T');
    this.#pass = pass;
    this.#format = format;
    this.mapping = mapping;
    this.#maker = maker;
    this.columns = maker.columns.map(({ name }) => name);
    this.#isTaken = openFilter(pass, definition);
    this.#relations = planned.searches;
    this.warnings = planned.warnings;
    this.#identifiedAt = maker.columns.findIndex(({ name }) => name === identifiedBy);
    this.#openWriter = () =>
      variant.open({
        columns: maker.columns,
        as: [...new Set(definition.relations.map((relation) => relation.as))],
        channelName: definition.name,
        day,
        identifiedBy,
        changes: definition.changes === true,
      });
    this.#writer = this.#openWriter();
    this.#expressions = maker.expressions.length === 0 ? undefined : new RowExpressions(maker.expressions);
    this.#named = format.identity === undefined ? undefined : new GroupNames(pass);
  }

  /** The writer keeps state about the rows it has written, so rows that are made again get a new writer. */
  get writer(): RowWriter {
    return this.#writer;
  }

  /** The name by which readers identify the product of a row. */
  nameOf({ identifier, row }: ReadRow): string {
    return row.values[this.#identifiedAt]?.[0] ?? identifier;
  }

  /**
   * Yields pages in the order of the products' ids. Most feeds omit no product, so rows name all related products until
   * a product is found that is not in the file. Only then are all other such products determined, before the rows are
   * made again.
   * @param isPart whether only a few pages are read, whose related products are checked one by one
   */
  async *pages(isPart = false): AsyncGenerator<ReadPage> {
    if (isPart) return yield* this.#readAll({ isPart, firstPage: PAGE });
    if (this.#relations.length === 0) return yield* this.#readAll({});
    // A group has one row, but any of its products may be related.
    const stoppedAt = this.#named === undefined ? yield* this.#readAll({ stops: true }) : 0;
    if (stoppedAt === undefined) return;
    await this.#survey(stoppedAt);
    this.#writer = this.#openWriter();
    if (stoppedAt > 0) yield { products: 0, rows: [], isAnew: true };
    yield* this.#readAll({});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#expressions?.close();
  }

  /**
   * @param firstPage the size of the first page; full for a preview, which reads five full pages. Rows that are made
   * again come in the same pages, because reports count by pages.
   * @returns with `stops`, the position where it stopped because a product of the next page is not in the file
   */
  async *#readAll({
    isPart = false,
    stops = false,
    firstPage = FIRST_PAGE,
  }): AsyncGenerator<ReadPage, number | undefined> {
    this.#pageSize = firstPage;
    for (
      let page = await this.#readAfter(0), after = 0;
      page.length > 0;
      page = await this.#readAfter(after)
    ) {
      const rows = await this.#makeRows(this.#named === undefined ? page : this.#named.takeFirst(page));
      if (stops && this.#absent.size > 0) return after;
      after = lastOf(page);
      yield { products: page.length, rows: await this.#relate(rows, isPart) };
    }
    return undefined;
  }

  async #readAfter(after: number): Promise<ReadProduct[]> {
    const page = await this.#pass.listUploads(after, this.#pageSize);
    this.#pageSize = Math.min(PAGE, Math.ceil(this.#pageSize * PAGE_GROWTH));
    return page.map(toRead);
  }

  /** Makes the rows of all products after the id `after`, to find out which of them are not in the file. */
  async #survey(after: number): Promise<void> {
    for (let page = await this.#readAfter(after); page.length > 0; page = await this.#readAfter(lastOf(page)))
      await this.#makeRows(page);
  }

  async #makeRows(products: readonly ReadProduct[]): Promise<MadeRow[]> {
    const takenProducts = products.filter(({ upload }) => this.#isTaken(upload));
    const results = await evaluate(this.#expressions, takenProducts);
    const made = takenProducts.map(({ productId, upload }, index) => ({
      productId,
      identifier: upload.identifier,
      made: this.#maker.make(upload, results?.[index]),
    }));
    if (this.#relations.length > 0) noteAbsent(this.#absent, products, made);
    return made;
  }

  /** Adds the related products to the rows of a page. */
  async #relate(made: readonly MadeRow[], isPart: boolean): Promise<ReadRow[]> {
    const relations = this.#relations;
    const going = made.filter(({ made: { isLeftOut } }) => !isLeftOut);
    const isAlone = relations.length === 0 || going.length === 0;
    const relatedLists = isAlone ? [] : await this.#pass.listRelated(going, relations);
    const listNamed = () => relatedLists.flat().flatMap((list) => list.identifiers);
    // Like `#survey`, but of related products only.
    if (isPart) for await (const page of findPages(this.#pass, listNamed())) await this.#makeRows(page);
    await this.#named?.read(listNamed());
    let next = 0;
    return made.map((row) => this.#addRelated(row, row.made.isLeftOut ? [] : (relatedLists[next++] ?? [])));
  }

  #addRelated({ identifier, made }: MadeRow, lists: readonly RelatedList[]): ReadRow {
    const { isLeftOut, problems, ...values } = made;
    if (isLeftOut) return { identifier, row: { ...values, related: [] }, problems, isLeftOut, absent: [] };
    const parted = partRelated(lists, this.#absent);
    const present = this.#named?.nameAll(parted.present) ?? parted.present;
    const chosen = chooseRelated(this.#relations, present, this.#format);
    const row = { ...values, related: chosen.related };
    const notes = [...chosen.notes, ...this.#describeLeftOut(row)];
    const all = notes.length === 0 ? problems : [...problems, ...notes];
    return { identifier, row, problems: all, isLeftOut, absent: parted.absent };
  }

  #describeLeftOut(row: FeedRow): FieldProblem[] {
    const leftOut = this.#writer.listLeftOut?.(row) ?? [];
    return leftOut.map((message) => ({ field: 'part', code: 'part_left_out', message }));
  }
}

interface MadeRow {
  readonly productId: number;
  readonly identifier: string;
  readonly made: ReturnType<ReturnType<typeof createRowMaker>['make']>;
}

/** Products that the filter excludes may be in another feed of the shop, so they do not count as absent. */
function noteAbsent(absent: HashedTexts, products: readonly ReadProduct[], made: readonly MadeRow[]): void {
  for (const { upload } of products) if (!isForEverybody(upload)) absent.add(upload.identifier);
  for (const { identifier, made: row } of made) if (row.isLeftOut) absent.add(identifier);
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

async function evaluate(expressions: RowExpressions | undefined, products: readonly ReadProduct[]) {
  if (expressions === undefined || products.length === 0) return undefined;
  try {
    return await expressions.evaluate(products.map(({ upload }) => toInput(upload.parse())));
  } catch (error) {
    if (!(error instanceof MappingProblem)) throw error;
    throw new ServiceError('channel_unfit', `mapping: ${error.message}`, { cause: error });
  }
}

/**
 * Returns a product in the form for expressions: attributes under their keys, and several values of one attribute as a
 * list.
 */
function toInput({ attributes, settings: _, ...product }: UploadedProduct): object {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const { key, value, userGroups } of attributes) {
    if (userGroups !== undefined) continue;
    const earlier = values[key];
    values[key] = earlier === undefined ? value : [earlier, value].flat();
  }
  return { ...product, attributes: { ...values } };
}
