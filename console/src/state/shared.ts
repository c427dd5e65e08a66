import { useSyncExternalStore } from 'react';

/** A value beside the views that they follow. */
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
    /** @returns what a view reads of it; it is drawn anew when that is another one */
    useRead: <Read>(read: (value: Value) => Read): Read => useSyncExternalStore(watch, () => read(value)),
  };
}
