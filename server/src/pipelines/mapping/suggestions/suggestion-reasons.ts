import type { SuggestedField } from './suggestion-names.ts';

/** low: a person should look at it before anything is imported. */
export type Confidence = 'high' | 'medium' | 'low';

export interface SuggestionReason {
  readonly field: SuggestedField | 'keyValues' | 'source' | 'targets';
  readonly column: string;
  /** Whether the format says so, the name of the column, or what is in it. */
  readonly by: 'format' | 'name' | 'values';
  readonly confidence: Confidence;
  /** Why, in words. */
  readonly reason: string;
}
