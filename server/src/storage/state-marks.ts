import { createHash } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';

/** Marks of the states that may be replaced; undefined if any state may. */
export type ExpectedStates = readonly string[] | undefined;

/** The resource to change, and the states in which it may be changed. */
export interface Chosen<Id = number> {
  readonly id: Id;
  readonly expected?: ExpectedStates;
}

/** A hash of 132 bits, so no two states ever have the same mark. */
const MARK_CHARACTERS = 22;

/** @returns the same text for the same JSON; a concurrent change results in another text */
export function markOf(state: unknown): string {
  return createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, MARK_CHARACTERS);
}

/**
 * Call this in the transaction that replaces the state, so that the second of two concurrent changes sees the result of
 * the first.
 * @throws changed_meanwhile
 */
export function refuseOtherState(expected: ExpectedStates, present: string): void {
  if (expected === undefined || expected.includes(present)) return;
  throw new ServiceError(
    'changed_meanwhile',
    `the present ETag is "${present}": read it again, and send the change with that If-Match`,
  );
}
