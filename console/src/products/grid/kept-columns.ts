import { useMemo, useSyncExternalStore } from 'react';
import { columnsOf } from '../../state/kept-views.ts';
import { useProject } from '../../state/project.ts';
import { useRoute } from '../../state/route.ts';
import { type Column, readColumns, writeColumns } from './columns.ts';

const watchers = new Set<() => void>();
const watch = (changed: () => void) => {
  watchers.add(changed);
  return () => void watchers.delete(changed);
};

/** Kept by this browser, for each project. */
export function storeColumns(projectId: number, columns: readonly Column[]): void {
  localStorage.setItem(columnsOf(projectId), writeColumns(columns));
  for (const changed of watchers) changed();
}

/** Those of the address, as a saved view has them, or those that were chosen last. */
export function useColumns(): readonly Column[] {
  const { query } = useRoute();
  const { id } = useProject();
  const stored = useSyncExternalStore(watch, () => localStorage.getItem(columnsOf(id)) ?? '');
  const text = query.get('columns') ?? stored;
  return useMemo(() => readColumns(text), [text]);
}
