/** The outcome of reading several keys, some of which may fail. */
export interface SeparateReads<Key, Value> {
  readonly values: ReadonlyMap<Key, Value>;
  /** The error of each key that fails even when it is read alone. */
  readonly failures: ReadonlyMap<Key, unknown>;
}

/**
 * Reads several keys together. If a read fails, each half of its keys is read separately. So one unreadable key, such
 * as a project of an unreachable Citus worker, does not fail the others.
 * @param read reads keys together; its answer omits keys without a value
 */
export async function readSeparately<Key, Value>(
  keys: readonly Key[],
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): Promise<SeparateReads<Key, Value>> {
  const [first] = keys;
  if (first === undefined) return { values: new Map(), failures: new Map() };
  try {
    return { values: await read(keys), failures: new Map() };
  } catch (error) {
    if (keys.length === 1) return { values: new Map(), failures: new Map([[first, error]]) };
    const half = keys.length >> 1;
    const parts = [keys.slice(0, half), keys.slice(half)];
    const [left, right] = await Promise.all(parts.map((part) => readSeparately(part, read)));
    return {
      values: new Map([...(left?.values ?? []), ...(right?.values ?? [])]),
      failures: new Map([...(left?.failures ?? []), ...(right?.failures ?? [])]),
    };
  }
}
