/**
 * The door of ingest: parsing threads turn a body into checked products, their facts and their stored form. It never
 * writes a catalog.
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
import { HeldBodies } from './held-bodies.ts';
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

/** Products in memory that is returned to the pool once they are written. */
export interface Packed extends Extracted {
  readonly loan: Loan;
}

/**
 * Bodies up to this size are checked in the serving thread, so that a small update never queues behind a batch of 15
 * MB. Checking 64 KiB takes about a millisecond.
 */
const SMALL_BODY_BYTES = 64 * 1024;

interface SentBody {
  readonly projectId: number;
  readonly body: RawBody;
  readonly form: BodyForm;
  readonly onInvalid?: OnInvalid;
  /** Whether the digest of the body is requested; default: no. */
  readonly isDigested?: boolean;
}

/** A body that is checked and durable but has no task yet. */
export interface AcceptedBody extends CheckResult {
  readonly source: IngestSource;
}

interface LegacyBody {
  readonly body: RawBody;
  readonly items: number;
}

/** Reading a body of the largest size takes seconds. */
const READING: BudgetTerms = { ms: 300_000, refusal: 'question_too_long' };

interface IngestParts {
  readonly threads: ThreadPool;
  readonly payloads: PayloadFiles;
  readonly maxMib: number;
  readonly buffers: BufferPool;
}

/** The parsing threads from the view of the serving thread. */
export class Ingest {
  private readonly threads: ThreadPool;
  private readonly payloads: PayloadFiles;
  private readonly maxMib: number;
  private readonly buffers: BufferPool;
  private readonly heldBodies = new HeldBodies();
  /** The next batch usually has the size of the last one. Growing by doubling would take twice the memory. */
  private expectedBytes = 1024 * 1024;
  /**
   * Stored tasks have handles of a former process. Handles start at a random number, so those of a former process
   * do not equal a handle of this process.
   */
  private nextHandle = randomInt(2 ** 40) * 1024;

  constructor({ threads, payloads, maxMib, buffers }: IngestParts) {
    this.threads = threads;
    this.payloads = payloads;
    this.maxMib = maxMib;
    this.buffers = buffers;
  }

  /** @returns the payload into which the body of a request is written while it arrives */
  openPayload(projectId: number): IncomingPayload {
    const writer = this.payloads.open(projectId, `${(this.nextHandle++).toString(36)}.body`);
    return { ...writer, buffers: this.buffers };
  }

  /**
   * Checks a body and makes it durable, in parallel.
   * @throws every refusal of docs/interface §7.3, storage_full; then nothing is stored
   */
  async accept({ projectId, body, form, ...rules }: SentBody): Promise<AcceptedBody> {
    const { maxMib } = this;
    const { onInvalid = 'refuse', isDigested = false } = rules;
    const { bytes, encoding, payload = this.openPayload(projectId) } = body;
    const loan = body.loan?.move();
    // Memory that belongs to no pool need not be held.
    const handle = loan === undefined ? -this.nextHandle++ : this.nextHandle++;
    const input = { handle, form, maxMib, onInvalid, isDigested, bytes, encoding };
    const accepting = acceptBoth(this.check(projectId, input), payload, bytes);
    try {
      const checked = await (loan?.unlessFailed(accepting) ?? accepting);
      if (loan !== undefined) this.heldBodies.hold(handle, loan);
      return { ...checked, source: { handle, payloadName: payload.name, encoding, maxMib, form } };
    } catch (error) {
      await this.payloads.remove(projectId, payload.name);
      throw error;
    }
  }

  /**
   * Waits until the task of a body is stored. On failure it removes the body, unless the task may have been stored
   * anyway.
   */
  async keepIfStored<Result>(
    projectId: number,
    source: IngestSource,
    storing: Promise<Result>,
  ): Promise<Result> {
    try {
      return await storing;
    } catch (error) {
      this.release(source);
      if (!mayBeStored(error)) await this.payloads.remove(projectId, source.payloadName);
      throw error;
    }
  }

  /** Drops a body that will not be extracted. */
  release(source: IngestSource): void {
    this.heldBodies.release(source);
  }

  /**
   * @returns the body in the form of an update, and its number of items; undefined if it does not have the form of an
   * old plug-in
   * @throws body_not_json, request_invalid
   */
  async readLegacyForm(projectId: number, body: RawBody): Promise<LegacyBody | undefined> {
    if (!isLegacyForm(body)) return undefined;
    const { bytes: sent, encoding } = body;
    const options = { key: projectId, terms: READING };
    const { bytes, items } =
      sent.length > SMALL_BODY_BYTES
        ? await this.threads.ask<LegacyProducts>('readLegacyForm', { bytes: sent }, options)
        : readLegacyForm(sent);
    return { body: { bytes, encoding }, items };
  }

  /** @returns how many pages of a shop a body contains; undefined if that is unclear, or if the body is too large */
  countPages(projectId: number, { bytes, encoding }: RawBody): Promise<number | undefined> {
    return this.threads.ask('countPages', { bytes, encoding }, { key: projectId, terms: READING });
  }

  async extract(projectId: number, { source: accepted, context }: ExtractionOrder): Promise<Packed> {
    const room = this.buffers.take(Math.max(this.expectedBytes, this.heldBodies.sizeOf(accepted)));
    const extracted = await this.heldBodies.use(accepted, (source) =>
      room.unlessFailed(this.run<Extracted>('extract', projectId, { source, context, room: room.bytes })),
    );
    const { bytes } = extracted.packed;
    this.expectedBytes = Math.ceil(bytes.length * 1.05) + 256 * 1024;
    // If the products did not fit into the room, the thread has used other memory for them.
    if (bytes.buffer.byteLength !== room.bytes.length) room.giveBack();
    return { ...extracted, loan: room };
  }

  /** @returns the observations of all staged batches, for `ExtractionOrder` */
  joinNotes(projectId: number, fullUpdateId: number): Promise<Uint8Array> {
    return this.run('joinNotes', projectId, { fullUpdateId });
  }

  /** Finds the attributes that a full update will create, and the batches that other definitions have judged. */
  judgeNotes(projectId: number, fullUpdateId: number): Promise<JudgedNotes> {
    return this.run('judgeNotes', projectId, { fullUpdateId });
  }

  draftNotes(projectId: number, order: DraftOrder): Promise<DraftedNotes> {
    return this.run('draftNotes', projectId, order);
  }

  review(projectId: number, batch: Omit<ReviewInput, 'projectId'>): Promise<ReviewedBatch> {
    return this.run('review', projectId, batch);
  }

  /** Compares the facts of a page of products that follow an older ontology. */
  follow(projectId: number, after: number): Promise<FollowedPage> {
    return this.run('follow', projectId, { after });
  }

  private run<Output>(operation: string, projectId: number, input: object): Promise<Output> {
    return this.threads.run<Output>(operation, { projectId, ...input }, { key: projectId });
  }

  private async check(projectId: number, input: CheckInput): Promise<CheckResult> {
    if (input.bytes.length > SMALL_BODY_BYTES || input.encoding !== 'identity')
      return this.threads.ask<CheckResult>('check', input, { key: projectId, terms: READING });
    return describeChecked(openBody(input, input.form, input.isDigested));
  }
}

/** Waits for both to end. @throws the refusal of the check, otherwise the reason why the payload is missing */
async function acceptBoth(checking: Promise<CheckResult>, payload: PayloadWriter, bytes: Uint8Array) {
  const sample = sampleBytes(bytes);
  const [checked, written] = await Promise.allSettled([checking, payload.finish(bytes)]);
  if (checked.status === 'rejected') throw checked.reason;
  if (written.status === 'rejected') throw written.reason;
  refuseOtherBytes(bytes, sample);
  return checked.value;
}
