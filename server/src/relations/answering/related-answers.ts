import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AnswerForm } from '../../catalog/lookup/lookup.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { ByteCache } from '../../storage/storage.ts';
import type { CatalogMark } from '../matching/matching.ts';
import type { RelatedReason, Relation } from '../relation-definitions/relation-definitions.ts';
import { AnswerMemory, type RelatedBytes } from './answer-memory.ts';
import { AnswerPlans, checkSize, type IncludedRelations } from './answer-plans.ts';
import type { RelateInput, RelateOutput, RelateRequest, RequestedTag } from './relate-request.ts';

export interface RelatedRequest extends IncludedRelations {
  /** The requested products, without repetition. */
  readonly identifiers: readonly string[];
  readonly form: AnswerForm;
  readonly explain?: boolean | undefined;
  readonly assumed?: boolean | undefined;
  /** The locale of the sentences in explanations; by default that of the project. */
  readonly locale?: string | undefined;
}

/** The consecutive parts of an answer. */
export type RelatedSteps = AsyncGenerator<RelatedBytes, void>;

/** A relation with its related products of one product. */
export interface FoundRelation {
  readonly id: number;
  readonly name: string;
  readonly tag: string;
  readonly searchResult: readonly {
    readonly identifier: string;
    readonly name: string;
    readonly brand: string;
    readonly link: string;
    readonly explain?: Pick<RelatedReason, 'match'>;
  }[];
}

/** @returns the whole answer, in memory that is shared with threads */
export async function joinSteps(steps: RelatedSteps): Promise<Uint8Array<SharedArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const { bytes, release } of steps) {
    parts.push(Buffer.from(bytes));
    release();
  }
  const joined = Buffer.concat(parts);
  const shared = new Uint8Array(new SharedArrayBuffer(joined.length));
  shared.set(joined);
  return shared;
}

/**
 * Parses a whole answer, so call it in a thread.
 * @returns the contents of an answer in the form single, by relation
 */
export function readRelated(answer: Uint8Array): FoundRelation[] {
  const { tags } = JSON.parse(Buffer.from(answer).toString()) as {
    tags: { tag: string; relations: Omit<FoundRelation, 'tag'>[] }[];
  };
  return tags.flatMap(({ tag, relations }) => relations.map((relation) => ({ tag, ...relation })));
}

/** The source of answers that are not cached. */
interface AnswerStore {
  open(projectId: number): Promise<{ readonly mark: CatalogMark; readonly relations: readonly Relation[] }>;
  relate(request: RelateRequest, signal: AbortSignal): Promise<RelateOutput>;
}

export interface RelatedAnswerParts {
  readonly store: AnswerStore;
  readonly cache: ByteCache;
  /** The settings of a project for its answers (§14.2). Every request reads them. */
  recallSettings(
    projectId: number,
  ): Promise<{ readonly brandAttribute: string; readonly priceAttribute: string }>;
  /** The locale of a project, for sentences. */
  recallLocale(projectId: number): Promise<string>;
}

/**
 * @returns a function that checks a request and answers it step by step. The answer has `{"tags":[…]}` for
 * each identifier, in the order of the request. It throws query_invalid before the first step, and
 * search_too_long in any step.
 */
export function createRelatedAnswers({ store, cache, recallSettings, recallLocale }: RelatedAnswerParts) {
  const memory = new AnswerMemory(cache);
  const plans = new AnswerPlans();

  return async (
    project: ChosenProject,
    request: RelatedRequest,
    signal: AbortSignal,
  ): Promise<RelatedSteps> => {
    const { identifiers, form, explain = false, assumed = false } = request;
    const { brandAttribute } = await recallSettings(project.id);
    const { mark, relations } = await store.open(project.id);
    const { tags, groups } = plans.find(project.id, request, relations);
    checkSize(identifiers.length, groups);
    const locale = explain ? (request.locale ?? (await recallLocale(project.id))) : '';
    const input = {
      projectId: project.id,
      identifiers,
      tags,
      form,
      explain,
      assumed,
      locale,
      brandAttribute,
    };
    return answerInSteps(input, mark, { store, memory, signal });
  };
}

/** @param mark the state of the catalog for the first step */
async function* answerInSteps(
  input: RelateInput,
  mark: CatalogMark,
  { store, memory, signal }: { store: AnswerStore; memory: AnswerMemory; signal: AbortSignal },
): RelatedSteps {
  const { identifiers, projectId } = input;
  const [begin, close] = input.form === 'bulk' ? ['{', '}'] : ['', ''];
  const size = countSources(input.tags);
  let answered = 0;
  do {
    // Waits between steps, because cached steps would otherwise end within one turn of the event loop and
    // delay small requests.
    if (answered > 0) await nextTurn();
    const state = answered === 0 ? mark : (await store.open(projectId)).mark;
    const step = { ...input, identifiers: identifiers.slice(answered, answered + size) };
    const read = (missing: RelateInput) => store.relate({ ...missing, ...state }, signal);
    const answers = await memory.find(step, state.version, read);
    const head = answered === 0 ? begin : ',';
    answered += answers.length;
    yield memory.join(answers, step, { head, tail: answered === identifiers.length ? close : '' });
  } while (answered < identifiers.length);
}

/** The limits of groups and of products in a step. Between two steps other requests get their turn. */
const GROUPS_PER_STEP = 5_000;
const SOURCES_PER_STEP = 100;

/** @returns how many products one step answers */
function countSources(tags: readonly RequestedTag[]): number {
  const groups = tags.flatMap(({ relations }) => relations).reduce((sum, { limit }) => sum + limit, 0);
  return Math.max(1, Math.min(SOURCES_PER_STEP, Math.floor(GROUPS_PER_STEP / Math.max(groups, 1))));
}
