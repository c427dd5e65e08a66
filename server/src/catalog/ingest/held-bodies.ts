import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Loan } from '../../storage/threads/threads.ts';
import type { IngestSource } from './ingest-thread.ts';

/** As much as two parsing threads hold. */
const HELD_BYTES = 96 * 1024 * 1024;

/**
 * The memory of bodies that wait in a parsing thread for their extraction, by handle. A body whose memory is
 * no longer held has another handle, under which a thread reads it from its payload.
 */
export class HeldBodies {
  private readonly loans = new BoundedMap<number, Loan>({
    most: HELD_BYTES,
    weigh: ({ bytes }) => bytes.length,
    onEvict: (loan) => loan.abandon(),
  });

  /** If there are too many, the oldest are left to the threads alone, which drop them eventually. */
  hold(handle: number, loan: Loan): void {
    this.loans.set(handle, loan);
  }

  /** @returns how many bytes of a body are held */
  sizeOf({ handle }: IngestSource): number {
    return this.loans.peek(handle)?.bytes.length ?? 0;
  }

  /** Gives back the memory of a body that will not be extracted, unless a thread is using it. */
  release({ handle }: IngestSource): void {
    this.take(handle)?.giveBack();
  }

  /** Gives the memory back when the thread has answered. */
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
