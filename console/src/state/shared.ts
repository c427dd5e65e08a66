import { useSyncExternalStore } from 'react';

/** A value that is stored outside of the views that read it. */
export function createShared<Value>(first: Value) {
  let value = first;
  const watchers = new Set<() => void>();
  const watch = (changed: () => void) => {
    watchers.add(changed);
    return () => void watchers.delete(changed);
  };
  return {
    get: () => value,
    set(next: Value): void {
      value = next;
      for (const changed of watchers) changed();
    },
    /** @returns the part that a view reads; the view is redrawn when it changes */
    useRead: <Read>(read: (value: Value) => Read): Read => useSyncExternalStore(watch, () => read(value)),
  };
}
