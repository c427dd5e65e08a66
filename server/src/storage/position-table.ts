const FIRST_SLOTS = 1 << 12;

/** Open addressing: each slot holds a hash and a position plus one; 0 is free. */
export class PositionTable {
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

  /** @returns the first position with this hash, for any key; -1 when there is none */
  guess(hash: number): number {
    const { slots, mask } = this;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const stored = slots[2 * slot + 1] as number;
      if (stored === 0 || slots[2 * slot] === hash) return stored - 1;
    }
  }

  add(hash: number, position: number): void {
    if (2 * (this.count + 1) > this.mask) this.grow();
    this.place(hash, position + 1);
    this.count += 1;
  }

  move(hash: number, from: number, to: number): void {
    this.slots[2 * this.slotOf(hash, from) + 1] = to + 1;
  }

  /** Moves the following entries up, so that no probe stops at a gap. */
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

  private place(hash: number, stored: number): void {
    let slot = hash & this.mask;
    while (this.slots[2 * slot + 1] !== 0) slot = (slot + 1) & this.mask;
    this.slots[2 * slot] = hash;
    this.slots[2 * slot + 1] = stored;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Int32Array(2 * old.length);
    this.mask = old.length - 1;
    for (let at = 0; at < old.length; at += 2) {
      const stored = old[at + 1] as number;
      if (stored !== 0) this.place(old[at] as number, stored);
    }
  }
}
