import { ServiceError } from '../../kernel/errors.ts';
import type { Operation } from '../../storage/threads/threads.ts';
import {
  CoverageTally,
  EffectTally,
  type Ontology,
  planChange,
  type RequestedAttribute,
} from '../ontology/ontology.ts';
import type { CatalogSnapshot, CatalogSnapshots } from '../port.ts';
import type { UploadedProduct } from '../products/products.ts';
import { planRange } from './product-list.ts';

/**
 * Counting over a catalog, or an even sample of it, a part at a time: what the scanning thread does. What was counted
 * so far stays with the thread, under the handle of the survey. Source: docs/interface.md §11.6.
 */

export interface SurveyOrder {
  readonly projectId: number;
  /** Of the caller; no two at a time share one. */
  readonly handle: number;
  readonly question: SurveyQuestion;
  /** Whether to count all products rather than a sample. */
  readonly isWhole: boolean;
  readonly isFirst: boolean;
}

export type SurveyQuestion =
  | {
      readonly kind: 'coverage';
      /** Only of products under it. */
      readonly category?: readonly string[] | undefined;
    }
  | { readonly kind: 'effect'; readonly attribute: RequestedAttribute; readonly deleted: readonly number[] }
  | SuggestionQuestion;

export interface SuggestionQuestion {
  readonly kind: 'suggestions';
  /** Of the project, as `de-DE`. */
  readonly locale: string;
}

export interface SurveyPart {
  readonly scanned: number;
  /** How many products will be counted; an estimate. */
  readonly of: number;
  /** Of the last part. */
  readonly result?: SurveyResult;
}

export interface SurveyResult {
  /** In the catalog. */
  readonly products: number;
  readonly sampled: boolean;
  readonly sampledProducts: number;
  /** What the question asks for. */
  readonly counted: object;
}

/** What is counted of products, one after another. */
export interface Tally {
  add(product: UploadedProduct): void;
  describe(): object;
}

/** Opens what a room to the right counts. */
export type OpenTally = (ontology: Ontology, question: SuggestionQuestion) => Tally;

interface OpenSurvey {
  readonly tally: Tally;
  readonly holds: (product: UploadedProduct) => boolean;
  readonly products: number;
  readonly blocks: Iterator<Block, void>;
  readonly of: number;
  readonly sampled: boolean;
  scanned: number;
  counted: number;
}

/** An interval of ids of which up to `limit` products are counted. */
interface Block {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** Size of the sample of larger catalogs: takes up to 2 s. */
const SAMPLE = 50_000;
/** Neighbours, which are read together. */
const BLOCK = 50;
const PART = 2_000;
/** Limit of open surveys; beyond it the oldest is dropped. */
const OPEN_SURVEYS = 16;

export function surveyOperations(
  snapshots: CatalogSnapshots,
  openSuggestions: OpenTally,
): Record<string, Operation> {
  const open = new Map<number, OpenSurvey>();
  return {
    survey: async (order: SurveyOrder) => ({
      output: await snapshots.read(order.projectId, (snapshot) =>
        surveyPart({ open, openSuggestions }, snapshot, order),
      ),
    }),
    countProducts: async ({ projectId }: { projectId: number }) => ({
      output: await snapshots.read(projectId, (snapshot) => snapshot.countRange(planRange())),
    }),
    endSurvey({ handle }: { handle: number }) {
      open.delete(handle);
      return {};
    },
  };
}

async function surveyPart(
  { open, openSuggestions }: { readonly open: Map<number, OpenSurvey>; readonly openSuggestions: OpenTally },
  snapshot: CatalogSnapshot,
  order: SurveyOrder,
): Promise<SurveyPart> {
  const { handle, isFirst } = order;
  const survey = isFirst ? await openSurvey(snapshot, order, openSuggestions) : open.get(handle);
  if (survey === undefined) throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
  open.set(handle, survey);
  const [oldest] = open.keys();
  if (open.size > OPEN_SURVEYS && oldest !== undefined) open.delete(oldest);
  const isEnd = await lookAtPart(snapshot, survey);
  const { scanned, of, products, sampled, counted: sampledProducts } = survey;
  if (!isEnd) return { scanned, of: Math.max(of, scanned) };
  open.delete(handle);
  const result = { products, sampled, sampledProducts, counted: survey.tally.describe() };
  return { scanned, of: scanned, result };
}

async function openSurvey(
  snapshot: CatalogSnapshot,
  { question, isWhole }: SurveyOrder,
  openSuggestions: OpenTally,
): Promise<OpenSurvey> {
  const tally = openTally(await snapshot.readOntology(), question, openSuggestions);
  const products = await snapshot.countRange(planRange());
  const largest = await snapshot.readLargestId();
  const sampled = !isWhole && products > SAMPLE;
  const blocks = sampled ? listSample(largest) : listAll(largest);
  const category = question.kind === 'coverage' ? question.category : undefined;
  const holds = ({ categories }: UploadedProduct) =>
    category === undefined || categories.some(({ path }) => category.every((name, at) => path[at] === name));
  const state = { sampled, scanned: 0, counted: 0 };
  return { tally, holds, products, blocks, of: sampled ? SAMPLE : products, ...state };
}

function openTally(ontology: Ontology, question: SurveyQuestion, openSuggestions: OpenTally): Tally {
  switch (question.kind) {
    case 'coverage':
      return new CoverageTally(ontology.attributes);
    case 'effect':
      return new EffectTally(planChange(ontology, question));
    case 'suggestions':
      return openSuggestions(ontology, question);
  }
}

/** @returns whether that was the last part */
async function lookAtPart(snapshot: CatalogSnapshot, survey: OpenSurvey): Promise<boolean> {
  const until = survey.scanned + PART;
  while (survey.scanned < until) {
    const next = survey.blocks.next();
    if (next.done) return true;
    const rows = await snapshot.listById(next.value);
    for (const { text } of rows) {
      const product = JSON.parse(text) as UploadedProduct;
      if (!survey.holds(product)) continue;
      survey.tally.add(product);
      survey.counted += 1;
    }
    survey.scanned += rows.length;
  }
  return false;
}

/** Of each of so many equal intervals of ids the first products. */
function* listSample(largest: number): Generator<Block, void> {
  const blocks = SAMPLE / BLOCK;
  for (let at = 0; at < blocks; at += 1) {
    const edge = (place: number) => Math.floor((place * largest) / blocks);
    yield { after: edge(at), upTo: edge(at + 1), limit: BLOCK };
  }
}

/** Ids are given one after another, so that an interval of them holds as many products at most. */
function* listAll(largest: number): Generator<Block, void> {
  for (let after = 0; after < largest; after += PART) {
    yield { after, upTo: Math.min(after + PART, largest), limit: PART };
  }
}
