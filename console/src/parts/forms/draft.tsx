import { RelataError, type Tagged } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { describePart, listChanged, type PartNames } from '../../rules/changes.ts';
import { useProject } from '../../state/project.ts';
import { goTo, guardLeaving, linkTo } from '../../state/route.ts';
import { Button } from '../button.tsx';
import { useTell } from '../toasts.tsx';

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

/** What a project has lists of, each with a view of its own. */
export type Defined = 'relation' | 'pipeline' | 'channel';

export const nameOne = (what: Defined): string =>
  t('{what, select, relation {Relation} pipeline {Pipeline} other {Channel}}', { what });

export const nameList = (what: Defined): string =>
  t('{what, select, relation {Relations} pipeline {Pipelines} other {Channels}}', { what });

/** @returns what has a thing, its list and what it did read anew, after something was done with it */
export function useRefresh(...names: readonly string[]) {
  const project = useProject();
  const queries = useQueryClient();
  return () => Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name, project.id] })));
}

/** @returns what starts a task and tells of it, and whether it is being done */
export function useStart<Given>(
  told: string,
  start: (given?: Given) => Promise<unknown>,
  names: readonly string[],
) {
  const tell = useTell();
  const refresh = useRefresh(...names);
  const [isBusy, setBusy] = useState(false);
  const begin = async (given?: Given) => {
    setBusy(true);
    await start(given).then(() => tell.good(told), tell.bad);
    await refresh();
    setBusy(false);
  };
  return { begin, isBusy };
}

interface Saving<Value, Definition> {
  what: Defined;
  /** undefined for a new one. */
  id: number | undefined;
  of: Pick<Draft<Definition>, 'base' | 'adopt'>;
  create(): Promise<Value>;
  /** `ifMatch`: so that somebody else's change in between is refused. */
  replace(id: number, options: { ifMatch?: string }): Promise<Value>;
  /** Puts back what was stored before; refuses where somebody has changed it since. Absent: it cannot be undone. */
  undo?(former: Definition, saved: Value): Promise<unknown>;
  /** What is said beside that it is saved. */
  tell?(saved: Value): string;
}

/** Saves a definition, goes to it, and has its list and view read anew. */
export function useSaving<Value extends Definition & { readonly id: number }, Definition extends object>(
  saving: Saving<Value, Definition>,
) {
  const { what, id, of, create, replace, undo, tell: add } = saving;
  const project = useProject();
  const refresh = useRefresh(`${what}s`, what, `${what}-to-change`);
  const tell = useTell();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  async function write(): Promise<Value> {
    if (id === undefined) return create();
    const options = of.base.etag === undefined ? {} : { ifMatch: of.base.etag };
    return replace(id, options).catch(refuseStale(what));
  }

  function tellSaved(saved: Value, former: Definition): void {
    const words = [t('The {what} is saved', { what }), add?.(saved) ?? ''] as const;
    if (undo === undefined || id === undefined) tell.good(...words);
    else tell.undoable(words[0], () => undo(former, saved).finally(refresh), words[1]);
  }

  async function save() {
    const former = of.base.value;
    setBusy(true);
    setError(undefined);
    await write().then(
      async (saved) => {
        of.adopt(saved);
        tellSaved(saved, former);
        goTo(linkTo('projects', project.id, `${what}s`, saved.id));
        await refresh();
      },
      (reason: unknown) => {
        setError(reason);
        // What was wrong stands at the top.
        scrollTo(0, 0);
        // Both versions are shown once the other one is known.
        void refresh();
      },
    );
    setBusy(false);
  }
  return { save, error, isBusy };
}

/**
 * For a change that was sent with If-Match: what somebody else has changed meanwhile is told in words.
 * @throws always: those words, or the reason as it is
 */
const refuseStale =
  (what: string) =>
  (reason: unknown): never => {
    if (!(reason instanceof RelataError && reason.status === 412)) throw reason;
    throw new Error(
      t('This {what} is not saved: it was changed meanwhile. Compare both versions first.', { what }),
    );
  };
