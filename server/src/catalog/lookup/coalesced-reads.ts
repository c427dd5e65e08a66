/**
 * Coalesces concurrent reads into batches. A caller joins the next batch, never the one in progress, whose answer may be
 * older than the request: eight connections that ask for a catalog's version need one or two statements, not eight.
 */
export function coalesceReads<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let isReading = false;
  let next: { keys: Set<Key>; answer: PromiseWithResolvers<ReadonlyMap<Key, Value>> } | undefined;

  async function readBatches(): Promise<void> {
    isReading = true;
    while (next !== undefined) {
      const { keys, answer } = next;
      next = undefined;
      try {
        answer.resolve(await read([...keys]));
      } catch (error) {
        answer.reject(error);
      }
    }
    isReading = false;
  }

  return async (key) => {
    next ??= { keys: new Set(), answer: Promise.withResolvers() };
    next.keys.add(key);
    const { answer } = next;
    if (!isReading) void readBatches();
    return (await answer.promise).get(key);
  };
}
