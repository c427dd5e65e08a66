import type { Loan } from '../../storage/storage.ts';
import type { IngestSource } from './ingest-thread.ts';

/** As much as two parsing threads keep. */
const HELD_BYTES = 96 * 1024 * 1024;

/**
 * The memory of bodies that wait on a parsing thread for their extraction, by handle. While one is used nobody else has it. A
 * body whose memory is held no more has another handle, under which a thread reads it from its payload.
 */
export class HeldBodies {
  private readonly loans = new Map<number, Loan>();
  private bytes = 0;

  /** When there are too many, the oldest are the threads' alone, which drop them some time. */
  hold(handle: number, loan: Loan): void {
    this.loans.set(handle, loan);
    this.bytes += loan.bytes.length;
    for (const oldest of this.loans.keys()) {
      if (this.bytes <= HELD_BYTES || oldest === handle) return;
      this.take(oldest)?.abandon();
    }
  }

  /** @returns how many bytes are held of a body */
  sizeOf({ handle }: IngestSource): number {
    return this.loans.get(handle)?.bytes.length ?? 0;
  }

  /** Gives back the memory of a body that is not wanted, unless a thread is using it. */
  release({ handle }: IngestSource): void {
    this.take(handle)?.giveBack();
  }

  /** @param isLast  whether the thread drops the body then */
  async use<Result>(
    source: IngestSource,
    work: (source: IngestSource) => Promise<Result>,
    { isLast }: { isLast: boolean },
  ): Promise<Result> {
    const { handle } = source;
    const loan = this.take(handle);
    if (loan === undefined) return work({ ...source, handle: -Math.abs(handle) });
    if (isLast) return loan.until(work(source));
    const result = await loan.unlessFailed(work(source));
    this.hold(handle, loan);
    return result;
  }

  private take(handle: number): Loan | undefined {
    const loan = this.loans.get(handle);
    if (loan === undefined) return undefined;
    this.loans.delete(handle);
    this.bytes -= loan.bytes.length;
    return loan;
  }
}
