/**
 * The door of UCP: a channel that is served live and never built, by the schemas of the Universal Commerce Protocol.
 * Its products come from the search of the catalog, and related products from relations. Threads read them and write
 * the answers.
 */
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { joinSteps } from '../../relations/answering/answering.ts';
import type { Relations } from '../../relations/relations.ts';
import type { ProductSearch } from '../../search/search.ts';
import type { ChannelDefinition } from '../channel-definitions/channel-definitions.ts';
import { type ChannelBudget, createChannelBudgets, type KeylessLimits } from './channel-budget.ts';
import type { UcpOrder } from './channel-reading.ts';
import type { AskedCompatibility } from './ucp-compatibility.ts';
import type { ProductRequest, UcpLookup, UcpSearch, UcpUse } from './ucp-schemas.ts';
import { LARGEST_USE, type UcpAnswer, type UcpProductAnswer } from './ucp-thread.ts';

export type { KeylessLimits } from './channel-budget.ts';
export { ProductRequest, UcpFilters } from './ucp-schemas.ts';
export { ucpOperations } from './ucp-thread.ts';

export interface UcpParts {
  readonly search: Pick<ProductSearch, 'askOperation'>;
  readonly relations: Pick<Relations, 'answer' | 'judgeFit'>;
  readonly clock: Clock;
  readonly keyless: KeylessLimits;
}

export interface UcpChannel {
  readonly token: string;
  readonly project: ChosenProject;
  readonly definition: ChannelDefinition;
}

/** A question to a thread. */
interface UcpQuestion {
  readonly asked: object;
  readonly signal: AbortSignal;
  readonly spend: (used: UcpUse) => void;
}

/** JSON of an answer's members. */
type AnswerBytes = Promise<Uint8Array>;

/** Answers the questions of the protocol. The callers of a channel share its budget. */
export class Ucp {
  readonly #search: UcpParts['search'];
  readonly #relations: UcpParts['relations'];
  readonly #budgets: ReturnType<typeof createChannelBudgets>;

  constructor({ search, relations, clock, keyless }: UcpParts) {
    this.#search = search;
    this.#relations = relations;
    this.#budgets = createChannelBudgets(keyless, clock);
  }

  search(channel: UcpChannel, asked: UcpSearch, signal: AbortSignal): AnswerBytes {
    return this.#answer('ucpSearch', channel, { asked, signal });
  }

  /** Returns products with the named variant or their best variant, and the identifiers that led to them. */
  lookup(channel: UcpChannel, asked: UcpLookup, signal: AbortSignal): AnswerBytes {
    return this.#answer('ucpLookup', channel, { asked, signal });
  }

  /** @returns undefined for a product that the channel does not have */
  product(channel: UcpChannel, asked: ProductRequest, signal: AbortSignal) {
    return this.#within(channel, async (spend) => {
      const question = { asked, signal, spend };
      const { json, shown, items, unknown } = await this.#askThread<UcpProductAnswer>(
        'ucpProduct',
        channel,
        question,
      );
      if (json === undefined) return undefined;
      const isJudged = (asked.compatibility?.with ?? []).length > 0;
      const begunAt = performance.now();
      const compatibility: AskedCompatibility = {
        related: await this.#relate(channel, shown, signal),
        fit: isJudged ? await this.#judge(channel, items, signal) : undefined,
        unknown,
      };
      spend({ bytes: 0, ms: performance.now() - begunAt });
      const described = await this.#askThread<UcpAnswer>('ucpCompatibility', channel, {
        asked: compatibility,
        signal,
        spend,
      });
      return joinProduct(json, described.json ?? Buffer.from('{}'));
    });
  }

  #answer(operation: string, channel: UcpChannel, question: Pick<UcpQuestion, 'asked' | 'signal'>) {
    return this.#within(channel, async (spend): AnswerBytes => {
      const { json } = await this.#askThread<UcpAnswer>(operation, channel, { ...question, spend });
      return json ?? Buffer.from('{}');
    });
  }

  /** @throws channel_budget_used */
  #within<Answer>(
    { token }: UcpChannel,
    work: (spend: ChannelBudget['spend']) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#budgets.of(token).use(work);
  }

  /** Asks a thread one question, whose cost the callers of the channel share. */
  async #askThread<Answer extends UcpAnswer>(
    operation: string,
    { project, definition }: UcpChannel,
    { asked, signal, spend }: UcpQuestion,
  ): Promise<Answer> {
    const question: UcpOrder<unknown>['question'] = { definition, asked };
    const order = { projectId: project.id, question };
    try {
      const answer = await this.#search.askOperation<Answer>(operation, order, signal);
      spend(answer.use);
      return answer;
    } catch (error) {
      // The cost of a question is not known if it failed or if its caller left.
      const isFree = error instanceof ServiceError && error.code === 'query_invalid';
      if (!isFree) spend(LARGEST_USE);
      throw error;
    }
  }

  async #relate({ project, definition }: UcpChannel, identifier: string, signal: AbortSignal) {
    if (definition.relations.length === 0) return undefined;
    const request = {
      identifiers: [identifier],
      form: 'single' as const,
      explain: false,
      includeTags: definition.relations.flatMap(({ tag, limit }) =>
        tag === undefined ? [] : [{ tag, limitPerRelation: limit }],
      ),
      includeRelations: definition.relations.flatMap(({ id, limit }) =>
        id === undefined ? [] : [{ id, limit }],
      ),
    };
    return joinSteps(await this.#relations.answer(project, request, signal));
  }

  #judge({ project }: UcpChannel, items: UcpProductAnswer['items'], signal: AbortSignal) {
    const quantities = new Map(items.map((item) => [item.identifier, item]));
    const question = { items: [...quantities.values()], tags: [], relations: [], alternatives: 0 };
    return this.#relations.judgeFit({ projectId: project.id, ...question }, signal);
  }
}

/** @returns `{"product":{…,"compatibility":{…}}}` */
const joinProduct = (product: Uint8Array, compatibility: Uint8Array): Uint8Array =>
  Buffer.concat([
    Buffer.from('{"product":'),
    product.subarray(0, -1),
    Buffer.from(',"compatibility":'),
    compatibility,
    Buffer.from('}}'),
  ]);
