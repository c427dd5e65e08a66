/**
 * The door of browse, which shows catalogs to people: lists by identifier, the page of a product, commits, and
 * the coverage of the ontology. It reads whole catalogs part by part and never changes one.
 */

import { BoundedMap } from '../../kernel/bounded-map.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/json-scan.ts';
import {
  type Budget,
  type BudgetTerms,
  countPassed,
  type Operation,
  Passed,
  type QuestionPool,
  shareText,
} from '../../storage/threads/threads.ts';
import { type Tasks, toWireTask } from '../../tasks/tasks.ts';
import {
  planChange,
  type RequestedAttribute,
  tallyCoverage,
  tallyEffect,
} from '../ontology/changes/changes.ts';
import {
  AnswerWriter,
  type Attribute,
  describeNotExtracted,
  indexByKey,
  type Ontology,
  readValue,
} from '../ontology/ontology.ts';
import type {
  CatalogSnapshot,
  CatalogSnapshots,
  CatalogStore,
  ChangePage,
  FoundProduct,
  IdRange,
  ListedRow,
  ProductChange,
} from '../port.ts';
import { FRONT_END } from '../products/documents/documents.ts';
import {
  type AttributeValue,
  computeValueId,
  mainCategory,
  mainImage,
  smallImage,
  type UploadedProduct,
} from '../products/products.ts';
import { type WrittenChange, writeChanges } from './written-changes.ts';

/**
 * The form in which a list shows products: `upload` is the whole upload, `table` is a row of a table. Source:
 * docs/interface §14.3.
 */
export type ListForm = 'upload' | 'table';

type UploadFront = Omit<UploadedProduct, 'attributes' | 'settings'>;

export interface ListedPage {
  /** Each product as JSON. */
  readonly items: readonly string[];
  readonly nextCursor: string | null;
}

/** @returns JSON: the upload with id and lastUpdateTs appended to its fields, without parsing it */
export const toListItem = ({ text, id, updatedAt }: ListedRow): string =>
  `${text.slice(0, -1)},"id":${id},"lastUpdateTs":${updatedAt}}`;

/** @returns JSON: a row of a table */
export const writeTableItem = (row: ListedRow): string => JSON.stringify(toTableItem(row));

/** Parses only the front, which is a small part of a large upload. */
export function readFront({ text }: ListedRow): UploadFront {
  const end = text.indexOf(FRONT_END);
  return JSON.parse(end < 0 ? text : `${text.slice(0, end)}}`) as UploadFront;
}

export const toTableItem = (row: ListedRow, front = readFront(row)) => ({
  id: row.id,
  ...describeBriefly(front),
  lastUpdateTs: row.updatedAt,
});

/** The short form of a product in lists. Image and category follow docs/interface §12.5 rules 7 and 8. */
export const describeBriefly = ({ identifier, groupIdentifier, name, images, categories }: UploadFront) => ({
  identifier,
  groupId: groupIdentifier,
  name,
  image: mainImage(images)?.url ?? '',
  thumbnail: smallImage(images)?.url ?? '',
  category: mainCategory(categories)?.path ?? [],
});

/**
 * @returns the number of a category path in the index of search; it has 53 bits, so that no two paths of a
 * catalog collide
 */
export const keyOfCategory = (path: readonly string[]): number => computeValueId(0, JSON.stringify(path));

const MAX_DEPTH = 20;

/** Reads the category of a query. @throws query_invalid */
export function readCategory(parameter: string, text: string): string[] {
  const path = parseJson(text);
  const isPath = Array.isArray(path) && path.length >= 1 && path.length <= MAX_DEPTH;
  if (isPath && path.every((name) => typeof name === 'string')) return path;
  throw new ServiceError(
    'query_invalid',
    `/${parameter} must be a JSON list of 1 to ${MAX_DEPTH} names, such as ["Tools","Drills"]`,
  );
}

/**
 * The largest upload that the serving thread describes; this takes 10 ms if its values are short. Another thread
 * describes larger ones.
 */
const AT_ONCE_BYTES = 32 * 1024;

interface PageOrder {
  readonly projectId: number;
  readonly identifier: string;
}

interface MadePage extends Pick<FoundProduct, 'updatedAt' | 'updatedBy'> {
  /** JSON without its closing brace. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/**
 * @returns the page of a product, as bytes if it is large; undefined if there is no such product. Source:
 * docs/interface §14.3
 */
export async function readProductPage(
  { store, scans, tasks }: { readonly store: CatalogStore; readonly scans: Scans; readonly tasks: Tasks },
  { projectId, identifier }: PageOrder,
  signal: AbortSignal,
) {
  const findChange = async ({ updatedAt, updatedBy }: Omit<MadePage, 'bytes'>) => {
    const task = await tasks.findByNumber(projectId, updatedBy);
    // The task may have been deleted since (§10.5).
    return { at: updatedAt, task: task === undefined ? null : toWireTask(task) };
  };
  const [measured] = await store.measureDocuments(projectId, [identifier]);
  if (measured === undefined) return undefined;
  if (measured.bytes > AT_ONCE_BYTES) {
    const page = await scans.makePage({ projectId, identifier }, signal);
    if (page === undefined) return undefined;
    countPassed(page.bytes.length);
    return [page.bytes, Buffer.from(`,"lastChange":${JSON.stringify(await findChange(page))}}`)];
  }
  const product = await store.findProduct(projectId, identifier);
  return product && { ...describeProduct(projectId, product), lastChange: await findChange(product) };
}

const makePage = (snapshots: CatalogSnapshots, { projectId, identifier }: PageOrder, budget: Budget) =>
  snapshots.read(projectId, budget, async (snapshot) => {
    const product = await snapshot.findProduct(identifier);
    if (product === undefined) return undefined;
    const bytes = shareText(JSON.stringify(describeProduct(projectId, product)).slice(0, -1));
    const { updatedAt, updatedBy } = product;
    return new Passed<MadePage>({ bytes, updatedAt, updatedBy }, bytes.length);
  });

/** @throws catalog_damaged */
function describeProduct(projectId: number, stored: FoundProduct) {
  const { id, raw, updatedAt } = stored;
  if (raw === null) throw new ServiceError('catalog_damaged', { values: [projectId] });
  const upload = JSON.parse(raw) as UploadedProduct;
  const product = JSON.parse(`{"id":${id},${writeAnswer(stored)},"lastUpdateTs":${updatedAt}}`) as object;
  const attributeByKey = indexByKey(stored.ontology.attributes);
  const values = upload.attributes.map((value) => describeValue(value, attributeByKey.get(value.key)));
  const notExtracted = values.flatMap((described) => {
    if (!('code' in described)) return [];
    const { key, value, attribute, code, message } = described;
    return [{ attribute: attribute ?? key, value, code, message }];
  });
  return { product, upload, values, notExtracted };
}

/** @returns the answer of a lookup for the product as JSON, without id and time */
export function writeAnswer(stored: FoundProduct): string {
  const writer = new AnswerWriter(stored.ontology.attributes, (path) => stored.categories.get(path));
  writer.begin();
  return writer.write(Buffer.from(stored.raw ?? '')).toString();
}

function describeValue(uploaded: AttributeValue, attribute: Attribute | undefined) {
  if (attribute === undefined) {
    const message = 'the ontology has no such attribute';
    return { ...uploaded, attribute: null, fact: null, code: 'attribute_unknown', message };
  }
  const { id, name, type, unitName } = attribute;
  const read = readValue(uploaded.value, attribute);
  if (read.kind === 'none') {
    const message = describeNotExtracted(read.why, attribute);
    return { ...uploaded, attribute: name, fact: null, code: read.why, message };
  }
  const number = read.kind === 'number' && { number: read.number, ...(unitName && { unit: unitName }) };
  const fact = { attributeId: id, valueId: computeValueId(id, uploaded.value), type, ...number };
  return { ...uploaded, attribute: name, fact };
}

/**
 * Counts a catalog, or an even sample of it, part by part in the scanning thread. Between parts, the thread keeps
 * the counts under the handle of the survey. Source: docs/interface §11.6.
 */

interface SurveyOrder {
  readonly projectId: number;
  /** Chosen by the caller; unique among open surveys. */
  readonly handle: number;
  readonly question: SurveyQuestion;
  /** Whether to count all products rather than a sample. */
  readonly isWhole: boolean;
  readonly isFirst: boolean;
}

export type SurveyQuestion =
  | {
      readonly kind: 'coverage';
      /** Counts only products under this category. */
      readonly category?: readonly string[] | undefined;
    }
  | {
      readonly kind: 'effect';
      readonly attribute: RequestedAttribute;
      readonly deleted: readonly number[];
    }
  | SuggestionQuestion;

interface SuggestionQuestion {
  readonly kind: 'suggestions';
  /** The locale of the project, such as `de-DE`. */
  readonly locale: string;
}

export interface SurveyPart {
  readonly scanned: number;
  /** An estimate of how many products will be counted. */
  readonly of: number;
  /** Set in the last part. */
  readonly result?: SurveyResult;
}

export interface SurveyResult {
  readonly products: number;
  readonly sampled: boolean;
  readonly sampledProducts: number;
  /** The counts of the survey, in the form that its question requires. */
  readonly counted: object;
}

/** Reads that may take long: counting all products, and previewing a restore, which may read much of the undo log. */
const LONG_READS = ['countProducts', 'weighRestore'] as const;
type LongRead = (typeof LONG_READS)[number];

interface Tally {
  add(product: UploadedProduct): void;
  describe(): object;
}

/** Opens a count for a room to the right. */
export type OpenTally = (present: Ontology, question: SuggestionQuestion) => Tally;

type OpenSurvey = Awaited<ReturnType<typeof openSurvey>> & {
  /** The state of the catalog when the survey began; undefined if its result is not cached. */
  readonly mark: string | undefined;
};

/**
 * Sample sizes for larger catalogs. Counts of 50,000 products are accurate to a percent and take up to 2 s;
 * suggestions need fewer products and take 300 ms.
 */
const SAMPLE = { coverage: 50_000, effect: 50_000, suggestions: 20_000 } as const;
/** How many adjacent products are read together. */
const BLOCK = 50;
const PART = 2_000;
const OPEN_SURVEYS = 16;

/** How many results of coverage are cached. */
const MOST_KEPT = 16;
/** The largest result that is cached, in characters of JSON. */
const LARGEST_KEPT = 1024 * 1024;

/** Caches coverage by the state of the catalog, so that one state is counted once for the same question. */
class CoverageCache {
  private readonly results = new BoundedMap<string, SurveyResult>({ most: MOST_KEPT });

  find(key: string): SurveyResult | undefined {
    return this.results.get(key);
  }

  keep(key: string, result: SurveyResult): void {
    if (JSON.stringify(result).length > LARGEST_KEPT) return;
    this.results.set(key, result);
  }
}

/** @returns undefined for a question whose counts are not cached */
async function markState(
  snapshot: CatalogSnapshot,
  { projectId, question, isWhole }: SurveyOrder,
): Promise<string | undefined> {
  if (question.kind !== 'coverage') return undefined;
  const { revision } = await snapshot.readOntology();
  return JSON.stringify([projectId, await snapshot.readCatalogVersion(), revision, question, isWhole]);
}

/** The surveys in progress, and the cached coverage. */
class Surveys {
  private readonly openSuggestions: OpenTally;
  private readonly open = new BoundedMap<number, OpenSurvey>({ most: OPEN_SURVEYS });
  private readonly coverageCache = new CoverageCache();

  constructor(openSuggestions: OpenTally) {
    this.openSuggestions = openSuggestions;
  }

  async countPart(snapshot: CatalogSnapshot, order: SurveyOrder): Promise<SurveyPart> {
    if (!order.isFirst) return this.continue(snapshot, order);
    const mark = await markState(snapshot, order);
    const cached = mark === undefined ? undefined : this.coverageCache.find(mark);
    if (cached !== undefined)
      return { scanned: cached.sampledProducts, of: cached.sampledProducts, result: cached };
    const survey = await openSurvey(snapshot, order, this.openSuggestions);
    this.open.set(order.handle, { ...survey, mark });
    return this.continue(snapshot, order);
  }

  end(handle: number): boolean {
    return this.open.delete(handle);
  }

  private async continue(snapshot: CatalogSnapshot, order: SurveyOrder): Promise<SurveyPart> {
    const survey = this.open.get(order.handle);
    if (survey === undefined) throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
    const isEnd = await countPart(snapshot, survey);
    const { scanned, of, sampled, counted: sampledProducts, mark } = survey;
    if (!isEnd) return { scanned, of: Math.max(of, scanned) };
    this.open.delete(order.handle);
    const counts = { products: survey.total, sampled, sampledProducts };
    const result = { ...counts, counted: survey.tally.describe() };
    // If the catalog has changed since, its parts were counted in different states.
    if (mark !== undefined && mark === (await markState(snapshot, order)))
      this.coverageCache.keep(mark, result);
    return { scanned, of: scanned, result };
  }
}

interface InputOf<Input> {
  readonly projectId: number;
  readonly input: Input;
}

/** The operations of the scanning thread. */
export function scanOperations(
  snapshots: CatalogSnapshots,
  openSuggestions: OpenTally,
): Record<string, Operation> {
  const surveys = new Surveys(openSuggestions);
  const read = (name: LongRead) => [
    name,
    ({ projectId, input }: { projectId: number; input: never }, budget: Budget) =>
      snapshots.read(projectId, budget, (snapshot) =>
        (snapshot[name] as (input: never) => Promise<unknown>)(input),
      ),
  ];
  return {
    ...Object.fromEntries(LONG_READS.map(read)),
    makePage: (order: PageOrder, budget: Budget) => makePage(snapshots, order, budget),
    listCommitChanges: ({ projectId, input }: InputOf<ChangePage>, budget: Budget) =>
      snapshots.read(projectId, budget, async (snapshot) => {
        const changes = await snapshot.listCommitChanges(input);
        return changes && writeChanges(changes, budget);
      }),
    listProductChanges: ({ projectId, input }: InputOf<string>, budget: Budget) =>
      snapshots.read(projectId, budget, async (snapshot) =>
        writeChanges(await snapshot.listProductChanges(input), budget),
      ),
    survey: (order: SurveyOrder, budget: Budget) =>
      snapshots.read(order.projectId, budget, (snapshot) => surveys.countPart(snapshot, order)),
    endSurvey: ({ handle }: { handle: number }) => surveys.end(handle),
  };
}

async function openSurvey(
  snapshot: CatalogSnapshot,
  { question, isWhole }: SurveyOrder,
  openSuggestions: OpenTally,
) {
  const tally = openTally(await snapshot.readOntology(), question, openSuggestions);
  const total = await snapshot.countProducts();
  const largest = await snapshot.readLargestId();
  const most = isWhole ? total : Math.min(SAMPLE[question.kind], total);
  const sampled = most < total;
  const blocks = sampled ? listSample(largest, most) : listAll(largest);
  const category = question.kind === 'coverage' ? question.category : undefined;
  const holds = ({ categories }: UploadedProduct) =>
    category === undefined ||
    categories.some(({ path }) => category.every((name, level) => path[level] === name));
  /** The rest of a block whose uploads were too large for one page. */
  const rest = undefined as IdRange | undefined;
  const state = { sampled, scanned: 0, counted: 0, rest };
  return { tally, holds, total, blocks, of: most, ...state };
}

function openTally(present: Ontology, question: SurveyQuestion, openSuggestions: OpenTally): Tally {
  switch (question.kind) {
    case 'coverage':
      return tallyCoverage(present.attributes);
    case 'effect':
      return tallyEffect(planChange(present, question));
    case 'suggestions':
      return openSuggestions(present, question);
  }
}

/** @returns whether this was the last part */
async function countPart(snapshot: CatalogSnapshot, survey: OpenSurvey): Promise<boolean> {
  const until = survey.scanned + PART;
  while (survey.scanned < until) {
    const range: IdRange | undefined = survey.rest ?? survey.blocks.next().value;
    if (range === undefined) return true;
    const { rows, isCut } = await snapshot.listById(range);
    for (const { text } of rows) countUpload(survey, JSON.parse(text) as UploadedProduct);
    survey.scanned += rows.length;
    const last = rows.at(-1)?.id ?? range.upTo;
    survey.rest = isCut ? { ...range, after: last, limit: range.limit - rows.length } : undefined;
  }
  return false;
}

function countUpload(survey: OpenSurvey, product: UploadedProduct): void {
  if (!survey.holds(product)) return;
  survey.tally.add(product);
  survey.counted += 1;
}

/** Splits the ids into intervals of equal length and yields the first products of each interval. */
function* listSample(largest: number, most: number): Generator<IdRange, undefined> {
  const blocks = most / BLOCK;
  for (let block = 0; block < blocks; block += 1) {
    const edge = (index: number) => Math.floor((index * largest) / blocks);
    yield { after: edge(block), upTo: edge(block + 1), limit: BLOCK };
  }
}

/** Ids are integers, so an interval contains at most as many products as ids. */
function* listAll(largest: number): Generator<IdRange, undefined> {
  for (let after = 0; after < largest; after += PART)
    yield { after, upTo: Math.min(after + PART, largest), limit: PART };
}

/**
 * Scans catalogs for the serving thread, in one thread of low priority. It works part by part, so that waiting
 * accounts get their turns. A `signal` withdraws a part that still waits.
 */
export type { WrittenChange } from './written-changes.ts';
export type Scans = ReturnType<typeof createScans>;

/** Reading the changes of a commit of millions of products takes minutes; a part of a survey takes two seconds. */
const SCANNING: BudgetTerms = { ms: 300_000, refusal: 'question_too_long' };

/** @param pool has one thread, which holds the counts of surveys */
export function createScans(pool: QuestionPool) {
  let nextHandle = 1;
  type Order = Pick<SurveyOrder, 'projectId'> & Partial<SurveyOrder>;
  const run = <Output>(operation: string, order: Order, signal?: AbortSignal) =>
    pool.ask<Output>(operation, order, { key: order.projectId, terms: SCANNING, signal });
  return {
    countProducts: (projectId: number) => run<number>('countProducts', { projectId }),
    read: <Name extends LongRead>(
      name: Name,
      order: { readonly projectId: number; readonly input: Parameters<CatalogSnapshot[Name]>[0] },
      signal: AbortSignal,
    ) => run(name, order, signal) as ReturnType<CatalogSnapshot[Name]>,
    /** @returns undefined for a commit that is not in the undo log @throws answer_too_large */
    listCommitChanges: (order: InputOf<ChangePage>, signal: AbortSignal) =>
      run<readonly WrittenChange[] | undefined>('listCommitChanges', order, signal),
    /** @throws answer_too_large */
    listProductChanges: (order: InputOf<string>, signal: AbortSignal) =>
      run<readonly (WrittenChange & Pick<ProductChange, 'commit'>)[]>('listProductChanges', order, signal),
    /** @returns undefined if there is no such product */
    makePage: (order: PageOrder, signal: AbortSignal) => run<MadePage | undefined>('makePage', order, signal),
    /** Counts part by part, until the caller stops iterating. @throws request_invalid */
    async *survey(order: Pick<SurveyOrder, 'projectId' | 'question' | 'isWhole'>, signal: AbortSignal) {
      const handle = nextHandle++;
      try {
        for (let isFirst = true; ; isFirst = false) {
          const part = await run<SurveyPart>('survey', { ...order, handle, isFirst }, signal);
          yield part;
          if (part.result !== undefined) return;
        }
      } finally {
        await run('endSurvey', { ...order, handle });
      }
    },
  };
}
