import { createContext, useContext, useSyncExternalStore } from 'react';

/** So many are deleted by one commit, which can be undone (docs/interface.md §4.6). */
export const MOST_CHOSEN = 10_000;

/** The ticked products, by identifier, whether their rows are in sight or not. */
export type Selection = ReturnType<typeof createSelection>;

export function createSelection() {
  let chosen: ReadonlySet<string> = new Set();
  const watchers = new Set<() => void>();
  const change = (next: ReadonlySet<string>) => {
    chosen = next;
    for (const changed of watchers) changed();
  };
  return {
    has: (identifier: string) => chosen.has(identifier),
    read: () => chosen,
    clear: () => change(new Set()),
    toggle(identifier: string) {
      const next = new Set(chosen);
      if (!next.delete(identifier) && next.size < MOST_CHOSEN) next.add(identifier);
      change(next);
    },
    watch(changed: () => void) {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
  };
}

const NOTHING = createSelection();

/** Undefined where nothing can be done with the products of a table. */
export const SelectionContext = createContext<Selection | undefined>(undefined);

export const useSelection = (): Selection | undefined => useContext(SelectionContext);

export function useIsChosen(identifier: string): boolean {
  const selection = useSelection() ?? NOTHING;
  return useSyncExternalStore(selection.watch, () => selection.has(identifier));
}

export function useChosen(): ReadonlySet<string> {
  const selection = useSelection() ?? NOTHING;
  return useSyncExternalStore(selection.watch, selection.read);
}
