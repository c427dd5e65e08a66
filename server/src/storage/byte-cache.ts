const FIRST_SLOTS = 1 << 12;

/** A hash table with open addressing. Each slot has a hash and a position plus one; 0 means free. */
class PositionTable {
  private slots = new Int32Array(2 * FIRST_SLOTS);
  private mask = FIRST_SLOTS - 1;
  private count = 0;

  find(hash: number, isIt: (position: number) => boolean): number {
    const { slots, mask } = this;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const stored = slots[2 * slot + 1] as number;
      if (stored === 0) return -1;
      if (slots[2 * slot] === hash && isIt(stored - 1)) return stored - 1;
    }
  }

  /** @returns the first position with this hash, whatever its key; -1 when there is none */
  guess(hash: number): number {
    const { slots, mask } = this;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const stored = slots[2 * slot + 1] as number;
      if (stored === 0 || slots[2 * slot] === hash) return stored - 1;
    }
  }

  add(hash: number, position: number): void {
    if (2 * (this.count + 1) > this.mask) this.grow();
    this.insert(hash, position + 1);
    this.count += 1;
  }

  move(hash: number, from: number, to: number): void {
    this.slots[2 * this.slotOf(hash, from) + 1] = to + 1;
  }

  /** Moves the following entries up, so that no search stops at a gap. */
  remove(hash: number, position: number): void {
    const { slots, mask } = this;
    let gap = this.slotOf(hash, position);
    for (let slot = (gap + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const home = (slots[2 * slot] as number) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      slots[2 * gap] = slots[2 * slot] as number;
      slots[2 * gap + 1] = slots[2 * slot + 1] as number;
      gap = slot;
    }
    slots[2 * gap + 1] = 0;
    this.count -= 1;
  }

  private slotOf(hash: number, position: number): number {
    let slot = hash & this.mask;
    while (this.slots[2 * slot + 1] !== position + 1) slot = (slot + 1) & this.mask;
    return slot;
  }

  private insert(hash: number, stored: number): void {
    let slot = hash & this.mask;
    while (this.slots[2 * slot + 1] !== 0) slot = (slot + 1) & this.mask;
    this.slots[2 * slot] = hash;
    this.slots[2 * slot + 1] = stored;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Int32Array(2 * old.length);
    this.mask = old.length - 1;
    for (let index = 0; index < old.length; index += 2) {
      const stored = old[index + 1] as number;
      if (stored !== 0) this.insert(old[index] as number, stored);
    }
  }
}

/** The source of an entry, and the state in which it was read. A later state may have left the source unchanged. */
export interface Origin {
  readonly state: number;
  readonly document: number;
  readonly at: number;
}

const NO_ORIGIN: Origin = { state: 0, document: 0, at: 0 };

const SLAB_BYTES = 1024 * 1024;
/** Entries begin at multiples of 8 bytes, so that a position of 31 bits covers 16 GiB. */
const ALIGN_BITS = 3;
const SLAB_POSITION_BITS = 20 - ALIGN_BITS;
const POSITION_MASK = (1 << SLAB_POSITION_BITS) - 1;
/** The size limit of an entry. A larger entry would waste the rest of a slab. */
const LARGEST_BYTES = SLAB_BYTES / 4;
/**
 * A full cache admits one miss in this many. With more data than memory, each admitted entry would otherwise evict
 * another.
 */
const ADMIT_ONE_IN = 8;

/** The fields of an entry: six integers, two numbers of its origin, the key in UTF-16, and the bytes. */
const HASH = 0;
const SPACE = 1;
const MARK = 2;
const KEY_LENGTH = 3;
const BYTE_LENGTH = 4;
const SEEN = 5;
const ORIGIN_BYTES = 24;
const HEADER_BYTES = 40;
/** The space of an entry that was replaced. */
const NO_SPACE = 0;

/**
 * A slab is shared memory, which V8 does not count. With counted memory, V8 collected the whole heap repeatedly while
 * slabs filled.
 */
class Slab {
  readonly memory = new SharedArrayBuffer(SLAB_BYTES);
  readonly bytes = Buffer.from(this.memory);
  readonly integers = new Int32Array(this.memory);
  readonly units = new Uint16Array(this.memory);
  readonly numbers = new Float64Array(this.memory);
  /** The bytes of its valid entries, by space. */
  readonly spaces = new Map<number, number>();
  valid = 0;
  used = 0;

  get isStale(): boolean {
    return 2 * this.valid <= this.used;
  }

  add(space: number, size: number): void {
    this.spaces.set(space, (this.spaces.get(space) ?? 0) + size);
    this.valid += size;
    this.used += size;
  }

  drop(space: number, size: number): void {
    this.spaces.set(space, (this.spaces.get(space) ?? 0) - size);
    this.valid -= size;
  }

  clear(): void {
    this.spaces.clear();
    this.valid = 0;
    this.used = 0;
  }

  /** @returns whether the slab had entries of this space */
  invalidate(space: number): boolean {
    this.valid -= this.spaces.get(space) ?? 0;
    return this.spaces.delete(space);
  }
}

const alignedSize = (keyLength: number, byteLength: number) =>
  (HEADER_BYTES + 2 * keyLength + byteLength + (1 << ALIGN_BITS) - 1) & ~((1 << ALIGN_BITS) - 1);

/**
 * Slabs in a ring. When all are full, the oldest is overwritten, except for entries that were used since. A stale slab,
 * whose entries mostly belong to replaced versions, is reused before a new one is made. Otherwise updates would fill
 * the memory with old versions.
 */
class SlabRing {
  private readonly slabs: Slab[] = [];
  private readonly table = new PositionTable();
  private readonly most: number;
  private readonly seed = (Math.random() * 2 ** 32) | 0;
  /** Slabs that became stale. They may have received new entries since. */
  private readonly staleSlabs = new Set<number>();
  private present = 0;
  private misses = 0;
  /** The value is never read. It is stored so that the compiler does not remove the reads. */
  touched = 0;

  constructor(limitBytes: number) {
    this.most = Math.floor(limitBytes / SLAB_BYTES);
  }

  /**
   * Makes the memory of a version's entries reusable. Readers of this version still find an entry until its memory is
   * reused.
   */
  endVersion(space: number): void {
    for (const [index, slab] of this.slabs.entries())
      if (slab.invalidate(space) && slab.isStale) this.staleSlabs.add(index);
  }

  find(space: number, key: string): number {
    return this.table.find(this.hash(space, key), (position) => this.isKey(position, space, key));
  }

  /** Three short loops without dependent branches, so that the processor loads many cache lines at the same time. */
  findAll(space: number, keys: readonly string[]): Int32Array {
    const positions = new Int32Array(keys.length);
    for (let index = 0; index < keys.length; index += 1)
      positions[index] = this.hash(space, keys[index] as string);
    for (let index = 0; index < keys.length; index += 1)
      positions[index] = this.table.guess(positions[index] as number);
    this.touch(positions);
    for (let index = 0; index < keys.length; index += 1) {
      const position = positions[index] as number;
      const key = keys[index] as string;
      if (position >= 0 && !this.isKey(position, space, key)) positions[index] = this.find(space, key);
    }
    return positions;
  }

  private touch(positions: Int32Array): void {
    let touched = 0;
    for (const position of positions)
      if (position >= 0) touched ^= this.slabOf(position).integers[headerOf(position)] ?? 0;
    this.touched = touched;
  }

  keep(
    space: number,
    key: string,
    { bytes, origin = NO_ORIGIN }: { bytes: Uint8Array; origin: Origin | undefined },
  ): void {
    const size = alignedSize(key.length, bytes.length);
    const existing = this.find(space, key);
    if (existing >= 0 && this.isOf(existing, origin)) return;
    if (existing >= 0) this.drop(existing);
    if (this.most === 0 || size > LARGEST_BYTES) return;
    const slab = this.makeRoom(size);
    if (slab === undefined) return;
    const hash = this.hash(space, key);
    const header = slab.used >> 2;
    slab.integers.set([hash, space, 0, key.length, bytes.length, origin.state], header);
    slab.numbers.set([origin.document, origin.at], (slab.used + ORIGIN_BYTES) >> 3);
    const units = (slab.used + HEADER_BYTES) >> 1;
    for (let index = 0; index < key.length; index += 1) slab.units[units + index] = key.charCodeAt(index);
    slab.bytes.set(bytes, slab.used + HEADER_BYTES + 2 * key.length);
    this.table.add(hash, (this.present << SLAB_POSITION_BITS) | (slab.used >> ALIGN_BITS));
    slab.add(space, size);
  }

  private drop(position: number): void {
    const slab = this.slabOf(position);
    const header = headerOf(position);
    const [hash, space, , keyLength, byteLength] = slab.integers.subarray(header, header + SEEN);
    this.table.remove(hash as number, position);
    slab.drop(space as number, alignedSize(keyLength as number, byteLength as number));
    slab.integers[header + SPACE] = NO_SPACE;
    if (slab.isStale) this.staleSlabs.add(position >> SLAB_POSITION_BITS);
  }

  isOf(position: number, { document, at }: Origin): boolean {
    const present = this.originOf(position);
    return present.document === document && present.at === at;
  }

  originOf(position: number): Omit<Origin, 'state'> {
    const { numbers } = this.slabOf(position);
    const origin = (headerOf(position) * 4 + ORIGIN_BYTES) >> 3;
    return { document: numbers[origin] as number, at: numbers[origin + 1] as number };
  }

  seenIn(position: number): number {
    return this.slabOf(position).integers[headerOf(position) + SEEN] as number;
  }

  see(position: number, state: number): void {
    this.slabOf(position).integers[headerOf(position) + SEEN] = state;
  }

  lengthAt(position: number): number {
    return this.slabOf(position).integers[headerOf(position) + BYTE_LENGTH] as number;
  }

  copy(position: number, target: Uint8Array, offset: number): number {
    const { integers, bytes } = this.slabOf(position);
    const header = headerOf(position);
    const start = header * 4 + HEADER_BYTES + 2 * (integers[header + KEY_LENGTH] as number);
    return bytes.copy(target, offset, start, start + (integers[header + BYTE_LENGTH] as number));
  }

  mark(position: number, request: number): boolean {
    const { integers } = this.slabOf(position);
    const markIndex = headerOf(position) + MARK;
    if (integers[markIndex] === request) return false;
    integers[markIndex] = request;
    return true;
  }

  private slabOf(position: number): Slab {
    return this.slabs[position >> SLAB_POSITION_BITS] as Slab;
  }

  private isKey(position: number, space: number, key: string): boolean {
    const { integers, units } = this.slabOf(position);
    const header = headerOf(position);
    if (integers[header + SPACE] !== space || integers[header + KEY_LENGTH] !== key.length) return false;
    const start = (header * 4 + HEADER_BYTES) >> 1;
    for (let index = 0; index < key.length; index += 1)
      if (units[start + index] !== key.charCodeAt(index)) return false;
    return true;
  }

  /** The hash is seeded, so that callers cannot construct identifiers that collide. */
  private hash(space: number, key: string): number {
    let hash = this.seed ^ Math.imul(space, 0x9e3779b1);
    for (let index = 0; index < key.length; index += 1)
      hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  /** @returns the slab to write to; undefined when the new entry is not worth an eviction */
  private makeRoom(size: number): Slab | undefined {
    const slab = this.slabs[this.present] ?? this.addSlab();
    if (slab.used + size <= SLAB_BYTES) return slab;
    for (const index of this.staleSlabs) {
      this.staleSlabs.delete(index);
      if (this.slabs[index]?.isStale) return this.reuse(index);
    }
    if (this.slabs.length < this.most) return this.addSlab();
    this.misses += 1;
    return this.misses % ADMIT_ONE_IN === 0 ? this.reuse((this.present + 1) % this.most) : undefined;
  }

  private reuse(index: number): Slab {
    const slab = this.slabs[index] as Slab;
    this.present = index;
    this.compact(slab);
    return slab;
  }

  private addSlab(): Slab {
    const slab = new Slab();
    this.present = this.slabs.length;
    this.slabs.push(slab);
    return slab;
  }

  /**
   * Keeps the valid entries of a stale slab. From any other slab, it keeps only entries that were used, up to half a
   * slab, and clears their marks. Such an entry must be used again to be kept the next time.
   */
  private compact(slab: Slab): void {
    const base = this.present << SLAB_POSITION_BITS;
    const { used: end, isStale } = slab;
    const valid = new Set(slab.spaces.keys());
    slab.clear();
    for (let offset = 0; offset < end; ) {
      const header = offset >> 2;
      const hash = slab.integers[header + HASH] as number;
      const keyLength = slab.integers[header + KEY_LENGTH] as number;
      const size = alignedSize(keyLength, slab.integers[header + BYTE_LENGTH] as number);
      const space = slab.integers[header + SPACE] as number;
      const isUsed = slab.integers[header + MARK] !== 0 && slab.used + size <= SLAB_BYTES / 2;
      if ((isStale || isUsed) && valid.has(space)) {
        if (!isStale) slab.integers[header + MARK] = 0;
        slab.bytes.copyWithin(slab.used, offset, offset + size);
        this.table.move(hash, base | (offset >> ALIGN_BITS), base | (slab.used >> ALIGN_BITS));
        slab.add(space, size);
      } else this.forget(hash, space, base | (offset >> ALIGN_BITS));
      offset += size;
    }
  }

  private forget(hash: number, space: number, position: number): void {
    if (space !== NO_SPACE) this.table.remove(hash, position);
  }
}

/** Index of the entry's first integer within its slab. */
const headerOf = (position: number) => (position & POSITION_MASK) << (ALIGN_BITS - 2);

/**
 * The entries of one version of a space.
 * @param isOver whether another version has replaced this one
 */
const openSpace = (ring: SlabRing, id: number, isOver: () => boolean) => ({
  /** @returns the entry's position, valid until the next `keep` of any space; -1 when the key is not cached */
  find: (key: string) => ring.find(id, key),
  /**
   * @returns the positions of the entries. 100 keys take half the time of 100 calls of `find`, because the
   * processor loads their memory at the same time.
   */
  findAll: (keys: readonly string[]) => ring.findAll(id, keys),
  /**
   * Stores a copy, which replaces an entry of another origin. Large entries are never stored. A full cache stores only
   * some entries, and a replaced version stores none.
   */
  keep(key: string, bytes: Uint8Array, origin?: Origin): void {
    if (!isOver()) ring.keep(id, key, { bytes, origin });
  },
  isOf: (position: number, origin: Origin) => ring.isOf(position, origin),
  originOf: (position: number) => ring.originOf(position),
  /** @returns the state in which the entry was last confirmed */
  seenIn: (position: number) => ring.seenIn(position),
  see: (position: number, state: number) => ring.see(position, state),
  lengthAt: (position: number) => ring.lengthAt(position),
  /** @returns the number of bytes written to `target`, beginning at `offset` */
  copy: (position: number, target: Uint8Array, offset: number) => ring.copy(position, target, offset),
  /**
   * Marks the entry as used by a request.
   * @returns false when this request has marked it before
   */
  mark: (position: number, request: number) => ring.mark(position, request),
});

export type CacheSpace = ReturnType<typeof openSpace>;
export type ByteCache = ReturnType<typeof createByteCache>;

/**
 * Stores bytes by key in memory outside V8's heap. Entries lie one after another in slabs, and a table of integers
 * indexes them. So the collector visits one object for a thousand answers. With a Map of arrays it visited 66,000
 * objects at every collection of the serving thread, and a lookup took twice as long (bench lookup). An entry is valid
 * for one version of its space. The limit in bytes covers all spaces, in whole MiB; the index takes up to 32 more bytes
 * per entry.
 */
export function createByteCache(limitBytes: number) {
  const spaces = new Map<string, { version: number; id: number; space: CacheSpace }>();
  const ring = new SlabRing(limitBytes);
  let lastId = 0;

  return {
    /**
     * Drops the entries of any other version of the space.
     * @returns the cache of this version
     */
    of(name: string, version: number): CacheSpace {
      const entry = spaces.get(name);
      if (entry?.version === version) return entry.space;
      if (entry !== undefined) ring.endVersion(entry.id);
      lastId += 1;
      const id = lastId | 0;
      const space = openSpace(ring, id, () => spaces.get(name)?.id !== id);
      spaces.set(name, { version, id, space });
      return space;
    },
    /**
     * Makes the entries of a space valid for another version, if the space has the expected version and `areRight`
     * confirms the entries.
     */
    keepFor(
      version: number,
      present: { readonly name: string; readonly version: number },
      areRight: (space: CacheSpace) => boolean,
    ): void {
      const entry = spaces.get(present.name);
      if (entry?.version === present.version && areRight(entry.space)) entry.version = version;
    },
  };
}
