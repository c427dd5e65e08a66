import type { AnswerForm } from '../../catalog/lookup/lookup.ts';
import type { CatalogMark } from '../matching/matching.ts';

/** What the serving thread asks of a thread that answers relations, and what that answers. */

/** A step of an answer ends with the product that makes it this long: products of 2 MB may be related to 5,000. */
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
  /** Whether entries name attributes without a value that they were assumed to match by. */
  readonly assumed: boolean;
  /** Of the sentences of explanations. */
  readonly locale: string;
  readonly brandAttribute: string;
}

/** The input, with the state of the catalog that the serving thread has just seen. */
export type RelateRequest = RelateInput & CatalogMark;

export interface RelateOutput {
  /** The version of the catalog. */
  readonly version: number;
  /** `{"tags":[…]}` for each of the first identifiers, concatenated. */
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly ends: Uint32Array;
}
