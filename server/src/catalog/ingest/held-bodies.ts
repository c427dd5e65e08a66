import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Loan } from '../../storage/threads/threads.ts';
import type { IngestSource } from './ingest-thread.ts';

/** As many bytes as two parsing threads hold. */
const HELD_BYTES = 96 * 1024 * 1024;

/**
 * The memory of bodies that wait in a parsing thread for their extraction, by handle. When the memory of a body is no
 * longer held, its extraction gets another handle, under which the thread reads the body from its payload.
 */
export class HeldBodies {
  private readonly loans = new BoundedMap<number, Loan>({
    most: HELD_BYTES,
    weigh: ({ bytes }) => bytes.length,
    onEvict: (loan) => loan.abandon(),
  });

  /**
   * Holds the memory of a body. If there are too many bodies, the oldest are abandoned, and their threads drop them
   * later.
   */
  hold(handle: number, loan: Loan): void {
    this.loans.set(handle, loan);
  }

  /** @returns the number of bytes of a body that are held */
  sizeOf({ handle }: IngestSource): number {
    return this.loans.peek(handle)?.bytes.length ?? 0;
  }

  /** Returns the memory of a body that will not be extracted, unless a thread uses it. */
  release({ handle }: IngestSource): void {
    this.take(handle)?.giveBack();
  }

  /** Returns the memory to the pool when the thread has answered. */
  async use<Result>(source: IngestSource, work: (source: IngestSource) => Promise<Result>): Promise<Result> {
    const { handle } = source;
    return this.take(handle)?.until(work(source)) ?? work({ ...source, handle: -Math.abs(handle) });
  }

  private take(handle: number): Loan | undefined {
    const loan = this.loans.peek(handle);
    this.loans.delete(handle);
    return loan;
  }
}
