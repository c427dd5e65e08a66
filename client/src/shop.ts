import { choose, type ProjectChoice } from './project-choice.ts';
import type { BodyOf, CallOptions, InputOf, Transport } from './transport.ts';

export type ShopQuestion = BodyOf<'postSearchV1ByProjectId'>;
export type SuggestionsQuery = Omit<NonNullable<InputOf<'getSearchSuggestions'>['query']>, 'projectId'>;

/** The search of a shop's page, with answers in the form for shop connectors. Source: docs/interface §4.14. */
export function createShop({ call }: Transport) {
  return {
    /** @returns groups of products with filters and sorting options */
    search: (projectId: number, question: ShopQuestion, options: CallOptions = {}) =>
      call('postSearchV1ByProjectId', { path: { projectId }, body: question }, options),

    /** @returns products, categories and brands while a shopper types */
    suggest: (query: SuggestionsQuery, { projectId, ...options }: ProjectChoice = {}) =>
      call('getSearchSuggestions', { query: { ...query, ...choose(projectId) } }, options),
  };
}
