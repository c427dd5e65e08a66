import { RelataError, type Tagged } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useTell } from './toasts.tsx';

/** What a project has lists of, each with a view of its own. */
export type Defined = 'relation' | 'pipeline' | 'channel';

/** @returns what has a thing, its list and what it did read anew, after something was done with it */
export function useRefresh(...names: readonly string[]) {
  const project = useProject();
  const queries = useQueryClient();
  return () => Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name, project.id] })));
}

interface Saving<Value> {
  what: Defined;
  /** As it was read; undefined for a new one. */
  stored: Tagged<Value> | undefined;
  create(): Promise<Value>;
  /** `ifMatch`: so that somebody else's change in between is refused. */
  replace(id: number, options: { ifMatch?: string }): Promise<Value>;
  /** What is said beside that it is saved. */
  tell?(saved: Value): string;
}

/** Saves a definition, goes to it, and has its list and view read anew. */
export function useSaving<Value extends { readonly id: number }>(saving: Saving<Value>) {
  const { what, stored, create, replace, tell: add } = saving;
  const project = useProject();
  const refresh = useRefresh(`${what}s`, what);
  const tell = useTell();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  async function write(): Promise<Value> {
    if (stored === undefined) return create();
    const options = stored.etag === undefined ? {} : { ifMatch: stored.etag };
    return replace(stored.value.id, options).catch(refuseStale(what));
  }

  async function save() {
    setBusy(true);
    setError(undefined);
    await write().then(
      async (saved) => {
        tell.good(`The ${what} is saved`, add?.(saved) ?? '');
        goTo(linkTo('projects', project.id, `${what}s`, saved.id));
        await refresh();
      },
      (reason: unknown) => {
        setError(reason);
        // What was wrong stands at the top.
        scrollTo(0, 0);
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
      `Somebody else has changed this ${what} meanwhile. Open it in another tab to see their version.`,
    );
  };
