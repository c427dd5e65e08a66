import { type Budget, shareText } from '../../storage/threads/threads.ts';
import type { CommitChange } from '../port.ts';

/**
 * A change in the form in which it is shown. A thread writes it, because the serving thread does not parse
 * uploads.
 */
export interface WrittenChange extends Pick<CommitChange, 'kind' | 'productId'> {
  /** JSON. */
  readonly shown: Uint8Array<SharedArrayBuffer>;
}

/** @returns each change with its JSON in place of `before` and `after` @throws answer_too_large */
export const writeChanges = <Change extends CommitChange>(
  changes: readonly Change[],
  budget: Budget,
): readonly (Omit<Change, 'before' | 'after'> & WrittenChange)[] =>
  changes.map(({ before, after, ...change }) => {
    const { productId, identifier, kind, isChangedSince } = change;
    const head = JSON.stringify({ productId, identifier, kind }).slice(0, -1);
    // `before` and `after` are JSON already.
    const text = `${head},"before":${before},"after":${after},"changedSince":${isChangedSince}}`;
    const shown = shareText(text);
    budget.chargeBytes(shown.length);
    return { ...change, shown };
  });
