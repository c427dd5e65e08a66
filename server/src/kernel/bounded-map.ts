/** An entry, linked to its neighbours in the order in which entries were set. */
interface Entry<Key, Value> {
  readonly key: Key;
  readonly value: Value;
  readonly weight: number;
  /** Whether the entry was read since it was set or last spared. */
  isUsed: boolean;
  before: Entry<Key, Value> | undefined;
  after: Entry<Key, Value> | undefined;
}

export interface Bounds<Key, Value> {
  /** The limit for the sum of all weights. */
  readonly most: number;
  /** The weight of an entry, such as its bytes; by default each entry weighs 1. */
  weigh?(value: Value, key: Key): number;
  /** Called for an entry that is evicted, but not for one that is replaced or deleted. */
  onEvict?(value: Value, key: Key): void;
}

/**
 * A map whose entries together weigh no more than a limit. When a new entry does not fit, the entry that was set first
 * is evicted. An entry that was read since then is spared once: it moves to the end (second chance, CLOCK). The newest
 * entry stays, even if it is heavier than the limit. A read costs a lookup and a flag. The order is a separate linked
 * list, because an iterator that waits at the first entry of a Map retains all tables that the Map has replaced since,
 * with their deleted entries.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #bounds: Bounds<Key, Value>;
  #first: Entry<Key, Value> | undefined;
  #last: Entry<Key, Value> | undefined;
  #weight = 0;

  constructor(bounds: Bounds<Key, Value>) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The sum of the weights of all entries. */
  get weight(): number {
    return this.#weight;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /**
   * Reads an entry without sparing it. If each use of an entry also sets it again, the map evicts the least recently
   * used entry.
   */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Puts the entry behind all others, even if it replaces one. */
  set(key: Key, value: Value): void {
    this.delete(key);
    const weight = this.#bounds.weigh?.(value, key) ?? 1;
    this.#makeRoom(weight);
    const entry = { key, value, weight, isUsed: false, before: undefined, after: undefined };
    this.#entries.set(key, entry);
    this.#weight += weight;
    this.#append(entry);
  }

  getOrInsertComputed(key: Key, make: (key: Key) => Value): Value {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.isUsed = true;
      return entry.value;
    }
    const value = make(key);
    this.set(key, value);
    return value;
  }

  /** @returns whether the map had the entry */
  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#remove(entry);
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#first = undefined;
    this.#last = undefined;
    this.#weight = 0;
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  #makeRoom(weight: number): void {
    while (this.#first !== undefined && this.#weight + weight > this.#bounds.most) {
      const entry = this.#first;
      if (entry.isUsed) {
        entry.isUsed = false;
        this.#unlink(entry);
        this.#append(entry);
      } else {
        this.#remove(entry);
        this.#bounds.onEvict?.(entry.value, entry.key);
      }
    }
  }

  #remove(entry: Entry<Key, Value>): void {
    this.#entries.delete(entry.key);
    this.#weight -= entry.weight;
    this.#unlink(entry);
  }

  #append(entry: Entry<Key, Value>): void {
    entry.before = this.#last;
    entry.after = undefined;
    if (this.#last === undefined) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
  }

  #unlink({ before, after }: Entry<Key, Value>): void {
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
  }
}
