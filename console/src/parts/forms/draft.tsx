import type { Tagged } from '@relata/client';
import { useEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { describePart, listChanged, type PartNames } from '../../rules/changes.ts';
import { guardLeaving } from '../../state/route.ts';
import { Button } from '../button.tsx';

/** What somebody types, with what it was made from. */
export interface Draft<Definition> {
  readonly draft: Definition;
  /** What it is saved over: its ETag goes along, so that no change of somebody else is lost (§7.6). */
  readonly base: Tagged<Definition>;
  readonly names: PartNames<Definition>;
  /** What is stored by now, and which parts of it somebody else has changed into something else than the draft says. */
  readonly theirs: { readonly value: Definition; readonly parts: readonly (keyof Definition)[] } | undefined;
  /** Another one when fields must show something else than what was typed into them: the key of the form. */
  readonly round: number;
  change(changed: Partial<Definition>): void;
  takeTheirs(part: keyof Definition): void;
  /** Saves over what is stored by now. */
  keepMine(): void;
  /** What was saved is what later changes are made from. */
  adopt(saved: Definition): void;
}

interface Base<Definition> extends Tagged<Definition> {
  /** What was stored then, as it was read. */
  readonly read: Tagged<Definition> | undefined;
}

/** @param empty what a new one begins with */
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
    setRound(round + 1);
  };
  const isTouched = listChanged(names, base.value, draft).length > 0;
  const theirs = stored === base.read ? undefined : stored;
  const parts =
    theirs === undefined ? [] : listOthers(names, { base: base.value, draft, stored: theirs.value });
  const isAtStake = isTouched && parts.length > 0;
  if (theirs !== undefined && !isAtStake) {
    setBase(baseOf());
    if (parts.length > 0) replace(theirs.value);
  }
  const unsaved = useUnsaved(isTouched);
  return {
    ...{ draft, base, names, round },
    theirs: theirs && isAtStake ? { value: theirs.value, parts } : undefined,
    change: (changed) => setDraft((before) => ({ ...before, ...changed })),
    takeTheirs: (part) => theirs && replace({ ...draft, [part]: theirs.value[part] }),
    keepMine: () => setBase(baseOf()),
    adopt(saved) {
      unsaved.current = false;
      setDraft(saved);
      // The ETag is of before. Until it is read anew a save is refused, not done over what nobody has seen.
      setBase({ value: saved, etag: base.etag, read: stored });
    },
  };
}

/** @returns the parts that somebody else has changed into something else than the draft says */
function listOthers<Definition extends object>(
  names: PartNames<Definition>,
  { base, draft, stored }: Record<'base' | 'draft' | 'stored', Definition>,
): (keyof Definition)[] {
  const unlike = new Set(listChanged(names, draft, stored));
  return listChanged(names, base, stored).filter((part) => unlike.has(part));
}

/** Asks before what was typed is lost, by a link of ours, the back button or a closed tab. */
export function useUnsaved(isTouched: boolean) {
  const unsaved = useRef(isTouched);
  useEffect(() => {
    unsaved.current = isTouched;
  }, [isTouched]);
  useEffect(
    () =>
      guardLeaving(() =>
        unsaved.current ? t('Leave without saving? What you changed is lost.') : undefined,
      ),
    [],
  );
  return unsaved;
}

/** Both versions of a definition that somebody else has changed meanwhile, part by part. */
export function Meanwhile<Definition extends object>({
  what,
  of: { draft, theirs, names, takeTheirs, keepMine },
}: {
  what: string;
  of: Draft<Definition>;
}) {
  if (theirs === undefined) return null;
  return (
    <section className="note warn" role="alert" aria-label={t('Changed meanwhile')}>
      <strong>{t('Somebody else has changed this {what} since you opened it.', { what })}</strong>
      <div className="table-box">
        <table className="table">
          <thead>
            <tr>
              <th>{t('Part')}</th>
              <th>{t('Yours')}</th>
              <th>{t('Theirs')}</th>
              <th>
                <span className="hidden">{t('What to do')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {theirs.parts.map((part) => (
              <tr key={String(part)}>
                <th scope="row">{names[part]}</th>
                <td>
                  <pre>{describePart(draft[part])}</pre>
                </td>
                <td>
                  <pre>{describePart(theirs.value[part])}</pre>
                </td>
                <td>
                  <Button onClick={() => takeTheirs(part)}>{t('Take theirs')}</Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="row">
        <Button onClick={keepMine}>{t('Keep mine')}</Button>
      </div>
    </section>
  );
}
