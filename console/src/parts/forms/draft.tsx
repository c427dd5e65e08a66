import { RelataError, type Tagged } from '@relata/client';
import { useEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { describePart, isSame, listChanged, mergeChanges, type PartNames } from '../../rules/changes.ts';
import { guardLeaving } from '../../state/route.ts';
import { Button } from '../button.tsx';
import { Table } from '../show.tsx';

/** The user's edits, with the version that they are based on. */
export interface Draft<Definition> {
  readonly draft: Definition;
  /** The version that a save replaces: its ETag is sent, so that no change of another user is lost (§7.6). */
  readonly base: Tagged<Definition>;
  readonly names: PartNames<Definition>;
  /** The version that is stored now, and the parts that both users have changed to different values. */
  readonly theirs: { readonly value: Definition; readonly parts: readonly (keyof Definition)[] } | undefined;
  readonly isTouched: boolean;
  /** The key of the form. It changes when the fields must show something other than the typed text. */
  readonly round: number;
  change(changed: Partial<Definition>): void;
  takeTheirs(part: keyof Definition): void;
  /** Keeps the user's version of all conflicting parts, based on the version that is stored now. */
  keepMine(): void;
  /** Makes the saved version the base of later edits. */
  adopt(saved: Definition): void;
}

interface Base<Definition> extends Tagged<Definition> {
  /** The stored version that the draft is based on. */
  readonly read: Tagged<Definition> | undefined;
}

/**
 * The draft of a definition. The stored version is read again while the user types. Parts that only one side
 * has changed are merged. A part that both have changed waits in `theirs` for a choice.
 * @param empty the initial state of a new definition
 */
export function useDraft<Definition extends object>(
  stored: Tagged<Definition> | undefined,
  empty: Definition,
  names: PartNames<Definition>,
): Draft<Definition> {
  const baseOf = (read = stored): Base<Definition> => ({
    ...(read ?? { value: empty, etag: undefined }),
    read,
  });
  const [base, setBase] = useState(() => baseOf());
  const [draft, setDraft] = useState(base.value);
  const [round, setRound] = useState(0);
  const replace = (next: Definition) => {
    setDraft(next);
    if (listChanged(names, draft, next).length > 0) setRound(round + 1);
  };
  const conflicting = stored === base.read ? undefined : stored;
  const { merged, conflicts, rebased } = rebase({ base, draft, theirs: conflicting });
  if (!isSame(merged, draft)) replace(merged);
  if (rebased !== base) setBase(rebased);
  const isTouched = listChanged(names, base.value, draft).length > 0;
  const unsaved = useUnsaved(isTouched);
  return {
    draft,
    base,
    names,
    round,
    isTouched,
    theirs: conflicting && conflicts.length > 0 ? { value: conflicting.value, parts: conflicts } : undefined,
    change: (changed) => setDraft((before) => ({ ...before, ...changed })),
    takeTheirs: (part) => conflicting && replace({ ...draft, [part]: conflicting.value[part] }),
    keepMine: () => setBase(baseOf()),
    adopt(saved) {
      unsaved.current = false;
      setDraft(saved);
      // The ETag is still the old one. A save is therefore refused until the draft is reread, and cannot
      // overwrite unseen changes.
      setBase({ value: saved, etag: base.etag, read: stored });
    },
  };
}

interface Rebasing<Definition> {
  base: Base<Definition>;
  draft: Definition;
  /** Undefined while the draft is based on the stored version. */
  theirs: Tagged<Definition> | undefined;
}

/** @returns the draft with others' changes, and its new base, with the old value of conflicting parts */
function rebase<Definition extends object>({ base, draft, theirs }: Rebasing<Definition>) {
  const none: (keyof Definition)[] = [];
  if (theirs === undefined) return { merged: draft, conflicts: none, rebased: base };
  const { merged, conflicts } = mergeChanges({ base: base.value, mine: draft, theirs: theirs.value });
  if (conflicts.length === 0) return { merged, conflicts, rebased: { ...theirs, read: theirs } };
  const open = Object.fromEntries(conflicts.map((part) => [part, base.value[part]]));
  const value: Definition = { ...theirs.value, ...open };
  return { merged, conflicts, rebased: isSame(value, base.value) ? base : { ...base, value } };
}

type Typed<Definition> = Pick<Draft<Definition>, 'draft' | 'base'>;

interface Stored<Definition, Answer> {
  what: string;
  read(): Promise<Tagged<Definition>>;
  write(definition: Definition, options: { ifMatch?: string }): Promise<Answer>;
}

/** The number of attempts, because another user may save between two attempts. */
const MOST_TRIES = 3;

/**
 * Merges a draft with the changes that others have saved since it was begun, and saves the whole definition.
 * @returns the answer, and the version that was replaced
 * @throws Error with a text for the user if both have changed the same part
 */
export async function saveMerged<Definition extends object, Answer>(
  { draft, base }: Typed<Definition>,
  stored: Stored<Definition, Answer>,
  tries = MOST_TRIES,
): Promise<{ former: Definition; answer: Answer }> {
  try {
    const answer = await stored.write(draft, base.etag === undefined ? {} : { ifMatch: base.etag });
    return { former: base.value, answer };
  } catch (reason) {
    if (!(reason instanceof RelataError && reason.status === 412) || tries === 1) throw reason;
  }
  const theirs = await stored.read();
  return saveMerged(
    { draft: mergeOver({ draft, base }, theirs.value, stored.what), base: theirs },
    stored,
    tries - 1,
  );
}

/**
 * @returns the draft with the changes that another user has saved since it was begun
 * @throws Error with a text for the user if both have changed the same part
 */
export function mergeOver<Definition extends object>(
  { draft, base }: Typed<Definition>,
  theirs: Definition,
  what: string,
): Definition {
  const { merged, conflicts } = mergeChanges({ base: base.value, mine: draft, theirs });
  if (conflicts.length === 0) return merged;
  throw new Error(
    t('This {what} is not saved, because it was changed in the meantime. Compare both versions first.', {
      what,
    }),
  );
}

/** Asks before unsaved input is lost by a link of the console, the back button or a closed tab. */
export function useUnsaved(isTouched: boolean) {
  const unsaved = useRef(isTouched);
  useEffect(() => {
    unsaved.current = isTouched;
  }, [isTouched]);
  useEffect(
    () =>
      guardLeaving(() =>
        unsaved.current
          ? {
              title: t('Leave without saving?'),
              words: t('Your changes will be lost.'),
              action: t('Leave without saving'),
            }
          : undefined,
      ),
    [],
  );
  return unsaved;
}

/** Both versions of a definition that another user has changed in the meantime, part by part. */
export function Meanwhile<Definition extends object>({
  what,
  of: { draft, theirs, names, takeTheirs, keepMine },
}: {
  what: string;
  of: Draft<Definition>;
}) {
  if (theirs === undefined) return null;
  return (
    <section className="note warn" role="alert" aria-label={t('Changed in the meantime')}>
      <strong>{t('This {what} was changed since you opened it.', { what })}</strong>
      <Table<keyof Definition>
        rows={theirs.parts}
        keyOf={String}
        columns={[
          [t('Part'), (part) => names[part] ?? String(part), 'strong'],
          [t('Yours'), (part) => <pre>{describePart(draft[part])}</pre>],
          [t('Theirs'), (part) => <pre>{describePart(theirs.value[part])}</pre>],
          [
            <span className="hidden">{t('Action')}</span>,
            (part) => <Button onClick={() => takeTheirs(part)}>{t('Use their version')}</Button>,
          ],
        ]}
      />
      <div className="row">
        <Button onClick={keepMine}>{t('Keep my version')}</Button>
      </div>
    </section>
  );
}
