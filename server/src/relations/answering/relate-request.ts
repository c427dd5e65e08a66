import type { AnswerForm } from '../../catalog/lookup/lookup.ts';
import type { CatalogMark } from '../matching/matching.ts';

/** The question that the serving thread asks a thread that answers relations, and its answer. */

/**
 * A step of an answer ends with the product that reaches this size. Without the limit, 5,000 related products
 * of 2 MB each would be one step.
 */
export const STEP_BYTES = 8 * 1024 * 1024;

/** The relations to answer for each product, in this order. */
export interface RequestedTag {
  readonly tag: string;
  readonly relations: readonly { readonly id: number; readonly limit: number }[];
}

export interface RelateInput {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly tags: readonly RequestedTag[];
  readonly form: AnswerForm;
  readonly explain: boolean;
  /** Whether results name the attributes without a value that they were assumed to match by. */
  readonly assumed: boolean;
  /** The locale of the sentences in explanations. */
  readonly locale: string;
  readonly brandAttribute: string;
}

/** The input with the state of the catalog that the serving thread has just seen. */
export type RelateRequest = RelateInput & CatalogMark;

export interface RelateOutput {
  /** The version of the catalog. */
  readonly version: number;
  /** `{"tags":[…]}` for each of the first identifiers, concatenated; `ends` has the end of each. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly ends: Uint32Array;
}
