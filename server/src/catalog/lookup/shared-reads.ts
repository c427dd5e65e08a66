/**
 * Reads that many ask for at once, in flights: whoever asks joins the next one, never one under way, so that nobody is
 * answered with what was true before the question. Eight connections that ask for the version of a catalog need one or two
 * statements then, not eight.
 */
export function createSharedReads<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let isUnderWay = false;
  let next: { keys: Set<Key>; answer: PromiseWithResolvers<ReadonlyMap<Key, Value>> } | undefined;

  async function fly(): Promise<void> {
    isUnderWay = true;
    while (next !== undefined) {
      const { keys, answer } = next;
      next = undefined;
      try {
        answer.resolve(await read([...keys]));
      } catch (error) {
        answer.reject(error);
      }
    }
    isUnderWay = false;
  }

  return async (key) => {
    next ??= { keys: new Set(), answer: Promise.withResolvers() };
    next.keys.add(key);
    const { answer } = next;
    if (!isUnderWay) void fly();
    return (await answer.promise).get(key);
  };
}
