import { randomInt } from 'node:crypto';
import type { IncomingPayload, RawBody } from '../../http/http.ts';
import {
  type BufferPool,
  type Loan,
  type PayloadFiles,
  type PayloadWriter,
  refuseOtherBytes,
  sampleBytes,
  type ThreadPool,
} from '../../storage/storage.ts';
import type { Attribute } from '../ontology/ontology.ts';
import type { BodyForm, OnInvalid } from '../products/products.ts';
import { openBody } from './checked-body.ts';
import {
  type CheckInput,
  type CheckResult,
  describeChecked,
  type Extracted,
  type FollowedPage,
  type IngestSource,
  type ReviewedBatch,
  type UnknownNames,
} from './ingest-thread.ts';

/**
 * The door of ingest: a body becomes checked products, their facts and their stored form, on the parsing threads. Never
 * writes a catalog.
 */

export { type IngestSource, ingestOperations } from './ingest-thread.ts';

/** The parsing threads as the serving thread sees them. */
export interface Ingest {
  /** Begins the payload of a body that is about to be received. */
  openPayload(projectId: number): IncomingPayload;
  /**
   * Checks a body and makes it durable, both at once.
   * @throws every refusal of docs/interface.md §7.3, storage_full; then nothing is kept
   */
  accept(projectId: number, body: RawBody, wanted: AcceptedForm): Promise<AcceptedBody>;
  /** @returns how many pages of a shop a body holds; undefined when nothing says so, or it is too large */
  countPages(projectId: number, body: RawBody): Promise<number | undefined>;
  findUnknownNames(projectId: number, source: IngestSource): Promise<UnknownNames>;
  extractProducts(projectId: number, source: IngestSource, drafts: readonly Attribute[]): Promise<Packed>;
  extractPatches(projectId: number, source: IngestSource): Promise<Packed>;
  /** Drops a body that is not to be extracted. */
  release(source: IngestSource): void;
  /** Looks at a staged batch once more. */
  review(
    projectId: number,
    wanted: { fullUpdateId: number; batch: number; drafts: readonly Attribute[] },
  ): Promise<ReviewedBatch>;
  /** Looks at products whose facts follow an older ontology. */
  follow(projectId: number, after: number): Promise<FollowedPage>;
}

/** Products in memory that is given back when they are written. */
export interface Packed extends Extracted {
  readonly loan: Loan;
}

interface AcceptedBody extends CheckResult {
  readonly source: IngestSource;
}

interface AcceptedForm {
  readonly form: BodyForm;
  readonly onInvalid?: OnInvalid;
}

interface BodyToCheck {
  readonly body: RawBody;
  readonly form: BodyForm;
  readonly handle: number;
  readonly onInvalid: OnInvalid;
}

/**
 * Bodies up to this size are checked where they arrive, 64 KiB in about a millisecond: a small update then never
 * queues behind a batch of 15 MB.
 */
const SMALL_BODY_BYTES = 64 * 1024;
const FIRST_PACKED_BYTES = 1024 * 1024;

interface IngestParts {
  readonly threads: ThreadPool;
  readonly payloads: PayloadFiles;
  readonly maxMib: number;
  readonly buffers: BufferPool;
}

export function createIngest({ threads, payloads, maxMib, buffers }: IngestParts): Ingest {
  const held = new HeldBodies();
  /** The next batch is as large as the last one, nearly always: growing by doubling would take twice the memory. */
  let expectedBytes = FIRST_PACKED_BYTES;
  /** Handles of a former process are in stored tasks and must not be taken for ours. */
  let nextHandle = randomInt(2 ** 40) * 1024;
  const run = <Output>(operation: string, projectId: number, input: object) =>
    threads.run<Output>(operation, { projectId, ...input }, { key: projectId });

  async function extract(
    operation: string,
    projectId: number,
    { source: given, ...more }: { source: IngestSource; drafts?: readonly Attribute[] },
  ): Promise<Packed> {
    const room = buffers.take(Math.max(expectedBytes, held.sizeOf(given)));
    const work = (source: IngestSource) =>
      room.unlessFailed(run<Extracted>(operation, projectId, { source, room: room.bytes, ...more }));
    const extracted = await held.use(given, work, { isLast: true });
    const { bytes } = extracted.packed;
    expectedBytes = Math.ceil(bytes.length * 1.05) + 256 * 1024;
    // What did not fit is in memory of the thread's own.
    if (bytes.buffer.byteLength !== room.bytes.length) room.giveBack();
    return { ...extracted, loan: room };
  }

  async function check(
    projectId: number,
    { body, form, handle, onInvalid }: BodyToCheck,
  ): Promise<CheckResult> {
    const { bytes, encoding } = body;
    const input: CheckInput = { handle, form, maxMib, onInvalid, bytes, encoding };
    if (bytes.length > SMALL_BODY_BYTES || encoding !== 'identity') {
      return threads.run<CheckResult>('check', input, { key: projectId, unordered: true });
    }
    return describeChecked(openBody(input, form));
  }

  const openPayload = (projectId: number) => ({
    ...payloads.open(projectId, `${(nextHandle++).toString(36)}.body`),
    buffers,
  });

  return {
    openPayload,
    async accept(projectId, body, { form, onInvalid = 'refuse' }) {
      const { bytes, encoding, payload = openPayload(projectId) } = body;
      const loan = body.loan?.move();
      // Memory of its own needs nobody to hold it.
      const handle = loan === undefined ? -nextHandle++ : nextHandle++;
      const accepting = acceptBoth(check(projectId, { body, form, handle, onInvalid }), payload, bytes);
      try {
        const checked = await (loan?.unlessFailed(accepting) ?? accepting);
        if (loan !== undefined) held.hold(handle, loan);
        return { ...checked, source: { handle, payloadName: payload.name, encoding, maxMib, form } };
      } catch (error) {
        await payloads.remove(projectId, payload.name);
        throw error;
      }
    },
    countPages: (projectId, { bytes, encoding }) =>
      threads.run('countPages', { bytes, encoding }, { key: projectId, unordered: true }),
    findUnknownNames: (projectId, given) =>
      held.use(given, (source) => run('findUnknownNames', projectId, { source }), { isLast: false }),
    extractProducts: (projectId, source, drafts) => extract('extractProducts', projectId, { source, drafts }),
    extractPatches: (projectId, source) => extract('extractPatches', projectId, { source }),
    release: (source) => held.release(source),
    review: (projectId, wanted) => run('review', projectId, wanted),
    follow: (projectId, after) => run('follow', projectId, { after }),
  };
}

/** @throws what the check refused, else why the payload is not there, when both have ended */
async function acceptBoth(
  checking: Promise<CheckResult>,
  payload: PayloadWriter,
  bytes: Uint8Array,
): Promise<CheckResult> {
  const sample = sampleBytes(bytes);
  const [checked, written] = await Promise.allSettled([checking, payload.finish(bytes)]);
  if (checked.status === 'rejected') throw checked.reason;
  if (written.status === 'rejected') throw written.reason;
  refuseOtherBytes(bytes, sample);
  return checked.value;
}

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
