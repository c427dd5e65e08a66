import type { AnswerOf, CallOptions, Transport } from './transport.ts';

export type SuggestionKind = 'relation' | 'attribute' | 'duplicate';

export interface SuggestionQuery extends CallOptions {
  readonly kind?: SuggestionKind;
  /** Default false: suggestions that were not dismissed. */
  readonly dismissed?: boolean;
}

export type Suggestion = AnswerOf<'getManagementProjectsByIdSuggestions'>['items'][number];

/** Suggestions from the data, as drafts. Source: docs/interface §17. */
export function createSuggestions({ call }: Transport) {
  const one = (projectId: number, suggestionId: string) => ({ path: { id: projectId, suggestionId } });
  return {
    /** The first call after a change of the catalog counts again, which takes some seconds. */
    list: (projectId: number, { kind, dismissed, ...options }: SuggestionQuery = {}) =>
      call(
        'getManagementProjectsByIdSuggestions',
        {
          path: { id: projectId },
          query: { ...(kind && { kind }), ...(dismissed !== undefined && { dismissed }) },
        },
        options,
      ),
    dismiss: (projectId: number, suggestionId: string, options: CallOptions = {}) =>
      call(
        'putManagementProjectsByIdSuggestionsBySuggestionIdDismissal',
        one(projectId, suggestionId),
        options,
      ),
    /** Undoes a dismissal. */
    restore: (projectId: number, suggestionId: string, options: CallOptions = {}) =>
      call(
        'deleteManagementProjectsByIdSuggestionsBySuggestionIdDismissal',
        one(projectId, suggestionId),
        options,
      ),
  };
}
