/** Counts, by name, how many uses of something are open. */
export class OpenCounts<Name> {
  readonly #open = new Map<Name, number>();

  of(name: Name): number {
    return this.#open.get(name) ?? 0;
  }

  all(): number {
    return this.#open.values().reduce((sum, count) => sum + count, 0);
  }

  /** @returns a function that ends this use; the caller calls it once */
  begin(name: Name): () => void {
    this.#open.set(name, this.of(name) + 1);
    return () => {
      const left = this.of(name) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    };
  }
}
