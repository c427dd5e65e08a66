import type { REFUSALS } from './refusals.ts';

/** The code of a refusal; `kernel/refusals.ts` lists them. Source: docs/interface §7. */
export type FailureCode = keyof typeof REFUSALS;

/** The mistakes in one product, or in the whole body if `product` is null. Source: docs/interface §7.3. */
export interface ProductViolation {
  readonly product: { readonly identifier: string | null; readonly index: number } | null;
  readonly schemaErrors: readonly string[];
  readonly errors: readonly string[];
}

export interface FailureFacts {
  /** The values that replace `$1`, `$2`, … in the text of the code. */
  readonly values?: readonly (string | number)[];
  /** What is wrong and how to fix it; safe to show to the caller. */
  readonly details?: readonly string[];
  readonly validation?: readonly ProductViolation[];
  readonly retryAfterSeconds?: number;
  /** The methods of an existing path, for the `Allow` header. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
}

/** A refusal that the caller can act on. Anything else that is thrown is a bug and becomes a 500. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: FailureCode;
  readonly facts: FailureFacts;

  /** @param factsOrDetail the facts, or the text of the only detail; `otherFacts` are added to either */
  constructor(code: FailureCode, factsOrDetail: FailureFacts | string = {}, otherFacts: FailureFacts = {}) {
    const facts = {
      ...(typeof factsOrDetail === 'string' ? { details: [factsOrDetail] } : factsOrDetail),
      ...otherFacts,
    };
    super([code, ...(facts.values ?? []), ...(facts.details ?? [])].join(': '), { cause: facts.cause });
    this.code = code;
    this.facts = facts;
  }
}
