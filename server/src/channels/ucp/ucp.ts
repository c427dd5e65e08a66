/**
 * The door of UCP: a channel that is not built but served, by the schemas of the Universal Commerce Protocol.
 * Products come from the search of the catalog, related ones from relations. Threads read them and write the answers.
 */

import type { ChosenProject } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { joinSteps } from '../../relations/answering/answering.ts';
import type { Relations } from '../../relations/relations.ts';
import type { ProductSearch } from '../../search/search.ts';
import type { ChannelDefinition } from '../channel-definitions/channel-definitions.ts';
import { type ChannelBudget, createChannelBudgets, type KeylessLimits } from './channel-budget.ts';
import type { ProductRequest, UcpLookup, UcpSearch, UcpUse } from './ucp-schemas.ts';
import {
  type AskedCompatibility,
  LARGEST_USE,
  type UcpAnswer,
  type UcpOrder,
  type UcpProductAnswer,
} from './ucp-thread.ts';

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

/** JSON of an answer's members. */
type AnswerBytes = Promise<Uint8Array>;

export function createUcp({ search, relations, clock, keyless }: UcpParts) {
  const budgets = createChannelBudgets(keyless, clock);

  /** One question to a thread, whose cost the callers of the channel share. */
  function askThread<Answer extends UcpAnswer>(
    operation: string,
    { project, definition }: UcpChannel,
    { asked, signal, spend }: { asked: object; signal: AbortSignal; spend: (used: UcpUse) => void },
  ): Promise<Answer> {
    const question: UcpOrder<unknown>['question'] = { definition, asked };
    const answer = search.askOperation<Answer>(operation, { projectId: project.id, question }, signal);
    return answer.then(
      (found) => {
        spend(found.use);
        return found;
      },
      (error) => {
        // Of a question that failed or whose caller left, nobody knows what it has cost.
        const isFree = error instanceof ServiceError && error.code === 'query_invalid';
        if (!isFree) spend(LARGEST_USE);
        throw error;
      },
    );
  }

  /** @throws channel_budget_used */
  const within = <Answer>(
    { token }: UcpChannel,
    work: (spend: ChannelBudget['spend']) => Promise<Answer>,
  ): Promise<Answer> => budgets.of(token).use(work);

  const answerWith = (operation: string) => (channel: UcpChannel, asked: object, signal: AbortSignal) =>
    within(channel, async (spend): AnswerBytes => {
      const { json } = await askThread<UcpAnswer>(operation, channel, { asked, signal, spend });
      return json ?? Buffer.from('{}');
    });

  return {
    search: answerWith('ucpSearch') as (
      channel: UcpChannel,
      asked: UcpSearch,
      signal: AbortSignal,
    ) => AnswerBytes,
    /** Products with the named variant or their best one, and the identifiers that led to them. */
    lookup: answerWith('ucpLookup') as (
      channel: UcpChannel,
      asked: UcpLookup,
      signal: AbortSignal,
    ) => AnswerBytes,

    /** @returns undefined for a product that the channel does not have */
    product: (channel: UcpChannel, asked: ProductRequest, signal: AbortSignal) =>
      within(channel, async (spend) => {
        const ask = { asked, signal, spend };
        const { json, shown, items, unknown } = await askThread<UcpProductAnswer>('ucpProduct', channel, ask);
        if (json === undefined) return undefined;
        const isJudged = (asked.compatibility?.with ?? []).length > 0;
        const begunAt = performance.now();
        const compatibility: AskedCompatibility = {
          related: await relate(channel, shown, signal),
          fit: isJudged ? await judge(channel, items, signal) : undefined,
          unknown,
        };
        spend({ bytes: 0, ms: performance.now() - begunAt });
        const described = await askThread<UcpAnswer>('ucpCompatibility', channel, {
          asked: compatibility,
          signal,
          spend,
        });
        return joinProduct(json, described.json ?? Buffer.from('{}'));
      }),
  };

  async function relate({ project, definition }: UcpChannel, identifier: string, signal: AbortSignal) {
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
    return joinSteps(await relations.answer(project, request, signal));
  }

  function judge({ project }: UcpChannel, items: UcpProductAnswer['items'], signal: AbortSignal) {
    const quantities = new Map(items.map((item) => [item.identifier, item]));
    const question = { items: [...quantities.values()], tags: [], relations: [], alternatives: 0 };
    return relations.judgeFit({ projectId: project.id, ...question }, signal);
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
