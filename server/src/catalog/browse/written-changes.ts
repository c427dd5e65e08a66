import { type Budget, shareText } from '../../storage/threads/threads.ts';
import type { CommitChange } from '../port.ts';

/** A change as it is shown, written by a thread: the serving thread does not parse the uploads in it. */
export interface WrittenChange extends Pick<CommitChange, 'kind' | 'productId'> {
  /** JSON. */
  readonly shown: Uint8Array<SharedArrayBuffer>;
}

/** @returns the changes, with the other members of each @throws answer_too_large */
export const writeChanges = <Change extends CommitChange>(
  changes: readonly Change[],
  budget: Budget,
): readonly (Omit<Change, 'before' | 'after'> & WrittenChange)[] =>
  changes.map(({ before, after, ...change }) => {
    const { productId, identifier, kind, isChangedSince } = change;
    const head = JSON.stringify({ productId, identifier, kind }).slice(0, -1);
    // Both are JSON already.
    const text = `${head},"before":${before},"after":${after},"changedSince":${isChangedSince}}`;
    const shown = shareText(text);
    budget.chargeBytes(shown.length);
    return { ...change, shown };
  });
