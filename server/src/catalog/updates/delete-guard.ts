import { ServiceError } from '../../kernel/errors.ts';
import type { DeleteLimit } from '../port.ts';

/**
 * @returns whether a commit must not delete this many products; the exact number that a caller allows takes
 * precedence over the share. Source: docs/interface §4.4, delete guard
 */
export function isGuarded({ maxDeletePercent, allowDeletes }: DeleteLimit, present: number, deleted: number) {
  if (allowDeletes !== undefined) return deleted !== allowDeletes;
  // Multiplies, because 7 / 100 * 100 is more than 7.
  return deleted * 100 > maxDeletePercent * present;
}

/** The kind of things that an update deletes, the name of the update, and the call that permits the deletion. */
export type DeletedThings = Readonly<Record<'plural' | 'update' | 'call', string>>;

const PRODUCTS: DeletedThings = { plural: 'products', update: 'full update', call: 'start' };

/** @param limitOf the owner of the limit @returns the refusal of a guarded commit, with its figures */
export function refuseDeletes(
  { present, deleted, things = PRODUCTS }: { present: number; deleted: number; things?: DeletedThings },
  { maxDeletePercent, allowDeletes }: DeleteLimit,
  limitOf: 'project' | 'pipeline' = 'project',
): ServiceError {
  const { plural, update, call } = things;
  const percent = present === 0 ? 0 : Math.round((deleted / present) * 10_000) / 100;
  const wayOut =
    limitOf === 'pipeline'
      ? `the pipeline allows ${maxDeletePercent} %; raise its maxDeletePercent to delete them anyway`
      : `the project allows ${maxDeletePercent} %; send ${call}?allowDeletes=${deleted} to delete them anyway`;
  const details = [
    `the update would delete ${deleted} of ${present} ${plural} (${percent} %)`,
    allowDeletes === undefined ? wayOut : `allowDeletes is ${allowDeletes}, but must be exactly ${deleted}`,
  ];
  if (allowDeletes !== undefined)
    return new ServiceError('deletes_not_exact', {
      values: [update, deleted, plural, allowDeletes],
      details,
    });
  return new ServiceError('delete_guard', { details });
}
