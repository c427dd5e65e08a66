import { BoundedMap } from '../../kernel/bounded-map.ts';
import { readSeparately, type SeparateReads } from '../../kernel/separate-reads.ts';

/** How long a failed key is read separately, because a read of it may take long and others must not wait for it. */
const ALONE_MS = 5_000;
/** The most keys that are read separately. More keys fail together only if all reads fail. */
const MOST_ALONE = 10_000;

/**
 * Coalesces concurrent reads into batches. A caller joins the next batch, because the answer of the one in progress
 * may be older than the request. Eight connections that read the version of a catalog need one or two statements
 * instead of eight. A key that cannot be read fails alone.
 */
export function coalesceReads<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let isReading = false;
  let next: { keys: Set<Key>; answer: PromiseWithResolvers<SeparateReads<Key, Value>> } | undefined;
  /** The time until which a key is read separately. */
  const alone = new BoundedMap<Key, number>({ most: MOST_ALONE });

  async function readBatches(): Promise<void> {
    isReading = true;
    while (next !== undefined) {
      const { keys, answer } = next;
      next = undefined;
      answer.resolve(await readSeparately([...keys], read));
    }
    isReading = false;
  }

  function isAlone(key: Key): boolean {
    const until = alone.get(key);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    alone.delete(key);
    return false;
  }

  return async (key) => {
    if (isAlone(key)) return (await read([key])).get(key);
    next ??= { keys: new Set(), answer: Promise.withResolvers() };
    next.keys.add(key);
    const { answer } = next;
    if (!isReading) void readBatches();
    const { values, failures } = await answer.promise;
    if (!failures.has(key)) return values.get(key);
    alone.set(key, performance.now() + ALONE_MS);
    throw failures.get(key);
  };
}
