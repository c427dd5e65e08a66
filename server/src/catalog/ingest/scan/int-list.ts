/** Whole numbers without an object for each; it grows by doubling. */
export class IntList {
  length = 0;
  private ints = new Int32Array(256);

  at(index: number): number {
    return this.ints[index] as number;
  }

  set(index: number, value: number): void {
    this.ints[index] = value;
  }

  addThree(a: number, b: number, c: number): void {
    const start = this.reserve(3);
    this.ints[start] = a;
    this.ints[start + 1] = b;
    this.ints[start + 2] = c;
  }

  /** @returns the index of the first of them */
  reserve(count: number): number {
    const start = this.length;
    this.length += count;
    if (this.length > this.ints.length) {
      const larger = new Int32Array(this.ints.length * 2);
      larger.set(this.ints);
      this.ints = larger;
    }
    return start;
  }
}
