/**
 * The door of ingest: a body becomes checked products, their facts and their stored form, in parsing threads.
 * Never writes a catalog.
 */
import { randomInt } from 'node:crypto';
import type { IncomingPayload, RawBody } from '../../http/bodies/bodies.ts';
import type { PayloadFiles, PayloadWriter } from '../../storage/payloads/payloads.ts';
import { mayBeStored } from '../../storage/storage.ts';
import {
  type BudgetTerms,
  type BufferPool,
  type Loan,
  refuseOtherBytes,
  sampleBytes,
  type ThreadPool,
} from '../../storage/threads/threads.ts';
import type { BodyForm, OnInvalid } from '../products/products.ts';
import type { DraftedNotes, DraftOrder, JudgedNotes } from './batch-notes.ts';
import { openBody } from './checked-body.ts';
import {
  type CheckInput,
  type CheckResult,
  describeChecked,
  type Extracted,
  type ExtractionOrder,
  type FollowedPage,
  type IngestSource,
  type ReviewedBatch,
  type ReviewInput,
} from './ingest-thread.ts';

import { isLegacyForm, type LegacyProducts, readLegacyForm } from './legacy-items.ts';

export { type CheckResult, type IngestSource, ingestOperations } from './ingest-thread.ts';

/** The parsing threads as the serving thread sees them. */
export type Ingest = ReturnType<typeof createIngest>;

/** Products in memory that is given back once they are written. */
export interface Packed extends Extracted {
  readonly loan: Loan;
}

/**
 * Bodies up to this size are checked in the serving thread, 64 KiB in about a millisecond, so that a small
 * update never queues behind a batch of 15 MB.
 */
const SMALL_BODY_BYTES = 64 * 1024;

interface SentBody {
  readonly projectId: number;
  readonly body: RawBody;
  readonly form: BodyForm;
  readonly onInvalid?: OnInvalid;
  /** Whether its digest is requested; default: no. */
  readonly isDigested?: boolean;
}

interface AcceptedBody extends CheckResult {
  readonly source: IngestSource;
}

interface LegacyBody {
  readonly body: RawBody;
  readonly items: number;
}

/** A body of the largest size takes seconds. */
const READING: BudgetTerms = { ms: 300_000, refusal: 'question_too_long' };

interface IngestParts {
  readonly threads: ThreadPool;
  readonly payloads: PayloadFiles;
  readonly maxMib: number;
  readonly buffers: BufferPool;
}

export function createIngest({ threads, payloads, maxMib, buffers }: IngestParts) {
  const held = createHeldBodies();
  /** The next batch is nearly always as large as the last: growing by doubling would take twice the memory. */
  let expectedBytes = 1024 * 1024;
  /** Stored tasks have handles of a former process, which must not be mistaken for ours. */
  let nextHandle = randomInt(2 ** 40) * 1024;
  const run = <Output>(operation: string, projectId: number, input: object) =>
    threads.run<Output>(operation, { projectId, ...input }, { key: projectId });

  async function check(projectId: number, input: CheckInput): Promise<CheckResult> {
    if (input.bytes.length > SMALL_BODY_BYTES || input.encoding !== 'identity')
      return threads.ask<CheckResult>('check', input, { key: projectId, terms: READING });
    return describeChecked(openBody(input, input.form, input.isDigested));
  }

  const openPayload = (projectId: number): IncomingPayload => ({
    ...payloads.open(projectId, `${(nextHandle++).toString(36)}.body`),
    buffers,
  });

  /**
   * Checks a body and makes it durable, in parallel.
   * @throws every refusal of docs/interface §7.3, storage_full; then nothing is stored
   */
  async function accept({ projectId, body, form, ...rules }: SentBody): Promise<AcceptedBody> {
    const { onInvalid = 'refuse', isDigested = false } = rules;
    const { bytes, encoding, payload = openPayload(projectId) } = body;
    const loan = body.loan?.move();
    // Private memory needs no hold.
    const handle = loan === undefined ? -nextHandle++ : nextHandle++;
    const checking = check(projectId, { handle, form, maxMib, onInvalid, isDigested, bytes, encoding });
    const accepting = acceptBoth(checking, payload, bytes);
    try {
      const checked = await (loan?.unlessFailed(accepting) ?? accepting);
      if (loan !== undefined) held.hold(handle, loan);
      return { ...checked, source: { handle, payloadName: payload.name, encoding, maxMib, form } };
    } catch (error) {
      await payloads.remove(projectId, payload.name);
      throw error;
    }
  }

  return {
    openPayload,
    accept,
    /** The same for a task that `work` stores; on failure the body is removed, unless the task may be stored all the same. */
    async acceptWith<Result>(sent: SentBody, work: (body: AcceptedBody) => Promise<Result>): Promise<Result> {
      const body = await accept(sent);
      try {
        return await work(body);
      } catch (error) {
        held.release(body.source);
        if (!mayBeStored(error)) await payloads.remove(sent.projectId, body.source.payloadName);
        throw error;
      }
    },
    /**
     * @returns the body in the form of an update, and its number of items; undefined if it is not of the form of an old plug-in
     * @throws body_not_json, request_invalid
     */
    async readLegacyForm(projectId: number, body: RawBody): Promise<LegacyBody | undefined> {
      if (!isLegacyForm(body)) return undefined;
      const { bytes: sent, encoding } = body;
      const { bytes, items } =
        sent.length > SMALL_BODY_BYTES
          ? await threads.ask<LegacyProducts>(
              'readLegacyForm',
              { bytes: sent },
              { key: projectId, terms: READING },
            )
          : readLegacyForm(sent);
      return { body: { bytes, encoding }, items };
    },
    /** @returns how many pages of a shop a body contains; undefined if that is unclear, or it is too large */
    countPages: (projectId: number, { bytes, encoding }: RawBody): Promise<number | undefined> =>
      threads.ask('countPages', { bytes, encoding }, { key: projectId, terms: READING }),
    async extract(projectId: number, { source: accepted, context }: ExtractionOrder): Promise<Packed> {
      const room = buffers.take(Math.max(expectedBytes, held.sizeOf(accepted)));
      const extracted = await held.use(accepted, (source) =>
        room.unlessFailed(run<Extracted>('extract', projectId, { source, context, room: room.bytes })),
      );
      const { bytes } = extracted.packed;
      expectedBytes = Math.ceil(bytes.length * 1.05) + 256 * 1024;
      // What did not fit is in the thread's own memory.
      if (bytes.buffer.byteLength !== room.bytes.length) room.giveBack();
      return { ...extracted, loan: room };
    },
    /** @returns the observations of all staged batches, for `ExtractionOrder` */
    joinNotes: (projectId: number, fullUpdateId: number) =>
      run<Uint8Array>('joinNotes', projectId, { fullUpdateId }),
    /** Finds what a full update will create, and which of its batches other definitions have judged. */
    judgeNotes: (projectId: number, fullUpdateId: number) =>
      run<JudgedNotes>('judgeNotes', projectId, { fullUpdateId }),
    draftNotes: (projectId: number, order: DraftOrder) => run<DraftedNotes>('draftNotes', projectId, order),
    /** Drops a body that will not be extracted. */
    release: held.release,
    review: (projectId: number, batch: Omit<ReviewInput, 'projectId'>) =>
      run<ReviewedBatch>('review', projectId, batch),
    /** Compares the facts of products that follow an older ontology, a page of a re-extraction. */
    follow: (projectId: number, after: number) => run<FollowedPage>('follow', projectId, { after }),
  };
}

/** @throws the refusal of the check, else why the payload is missing, once both have ended */
async function acceptBoth(checking: Promise<CheckResult>, payload: PayloadWriter, bytes: Uint8Array) {
  const sample = sampleBytes(bytes);
  const [checked, written] = await Promise.allSettled([checking, payload.finish(bytes)]);
  if (checked.status === 'rejected') throw checked.reason;
  if (written.status === 'rejected') throw written.reason;
  refuseOtherBytes(bytes, sample);
  return checked.value;
}

/** As much as two parsing threads hold. */
const HELD_BYTES = 96 * 1024 * 1024;

/**
 * The memory of bodies that wait in a parsing thread for their extraction, by handle. A body whose memory is
 * no longer held has another handle, under which a thread reads it from its payload.
 */
export function createHeldBodies() {
  const loans = new Map<number, Loan>();
  let bytes = 0;

  function take(handle: number): Loan | undefined {
    const loan = loans.get(handle);
    loans.delete(handle);
    bytes -= loan?.bytes.length ?? 0;
    return loan;
  }

  return {
    /** If there are too many, the oldest are left to the threads alone, which drop them eventually. */
    hold(handle: number, loan: Loan): void {
      loans.set(handle, loan);
      bytes += loan.bytes.length;
      for (const oldest of loans.keys()) {
        if (bytes <= HELD_BYTES || oldest === handle) return;
        take(oldest)?.abandon();
      }
    },
    /** @returns how many bytes of a body are held */
    sizeOf: ({ handle }: IngestSource): number => loans.get(handle)?.bytes.length ?? 0,
    /** Gives back the memory of a body that will not be extracted, unless a thread is using it. */
    release: ({ handle }: IngestSource): void => take(handle)?.giveBack(),
    /** Gives the memory back when the thread has answered. */
    async use<Result>(source: IngestSource, work: (source: IngestSource) => Promise<Result>) {
      const { handle } = source;
      return take(handle)?.until(work(source)) ?? work({ ...source, handle: -Math.abs(handle) });
    },
  };
}
