import { RelataError } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { useProject } from '../../state/project.ts';
import { goTo, linkTo } from '../../state/route.ts';
import { useTell } from '../toasts.tsx';
import type { Draft } from './draft.tsx';

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
