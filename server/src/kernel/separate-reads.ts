/** The outcome of reading several keys, of which some may fail. */
export interface SeparateReads<Key, Value> {
  readonly values: ReadonlyMap<Key, Value>;
  /** The error of each key that cannot be read by itself. */
  readonly failures: ReadonlyMap<Key, unknown>;
}

/**
 * Reads several keys at once. If that fails, each half is read by itself, so that a key which cannot be read, such as a
 * project of a Citus worker that is away, does not fail the others.
 * @param read reads keys together; keys without a value are missing from its answer
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
