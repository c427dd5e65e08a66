import { setTimeout } from 'node:timers/promises';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { traced } from '../../kernel/trace.ts';
import type { Database } from '../../storage/storage.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import type { IngestSource } from '../ingest/ingest.ts';

/** An accepted batch to be staged. */
interface AcceptedBatch {
  readonly batch: number;
  readonly source: IngestSource;
}

/** A full update whose batches are staged one after another, in the order of their acceptance. */
interface Session {
  readonly projectId: number;
  readonly fullUpdateId: number;
  /** Batches that this process accepted. Another process stages the batches that it accepted, unless it died. */
  readonly own: Set<number>;
  /** The observations of the batches so far, as parsing threads joined them. */
  observed: Uint8Array;
  readonly locale: string;
  turn: Promise<void>;
  /** The last write, which may be in progress while the next batch is extracted. */
  write: Promise<boolean>;
  failure: unknown;
}

interface StagingParts extends Pick<CatalogParts, 'getLocale' | 'store' | 'ingest' | 'logger'> {
  readonly database: Pick<Database, 'isShared'>;
}

/** How often a batch is extracted again because its products have changed. Then the caller must retry. */
const ATTEMPTS = 10;
/** Another process takes a second or two per batch. A process that stages nothing for this long counts as dead. */
const STALL_TIMEOUT_MS = 5_000;
const CHECK_EVERY_MS = 100;
/** An empty list, as JSON. */
const NOTHING: Uint8Array = new TextEncoder().encode('[]');
/**
 * If another process closes a full update, this process receives no notice of it, so the oldest sessions are dropped.
 */
const MOST_SESSIONS = 2_000;

/** Stages the batches of full updates in their catalogs. */
export class Staging {
  private readonly parts: StagingParts;
  private readonly onStaged: (projectId: number, fullUpdateId: number) => void;
  private readonly sessions = new BoundedMap<number, Session>({ most: MOST_SESSIONS });

  constructor(parts: StagingParts, onStaged: (projectId: number, fullUpdateId: number) => void) {
    this.parts = parts;
    this.onStaged = onStaged;
  }

  /**
   * Stages a batch after the batches before it. It never fails, because the batch is accepted: `complete` stages
   * missing batches.
   * @returns when another batch can be added
   */
  async add(projectId: number, fullUpdateId: number, batch: AcceptedBatch): Promise<void> {
    const { ingest } = this.parts;
    try {
      const session = await this.openSession(projectId, fullUpdateId);
      session.own.add(batch.batch);
      const before = session.turn;
      session.turn = before
        .then(async () => {
          if (session.failure === undefined) await this.stage(session, batch);
        })
        // The upload was answered already. The session records the failure, and the commit stages the missing batch.
        .catch((error: unknown) => this.fail(session, error))
        .finally(() => ingest.release(batch.source));
      await before;
    } catch (error) {
      // Only opening the session can throw here. The batch is stored, so the commit stages it.
      ingest.release(batch.source);
      this.logFailure(fullUpdateId, error);
    }
  }

  /** Waits until all accepted batches are staged. It stages missing batches now, for example after a crash. */
  async complete(projectId: number, fullUpdateId: number, batches: readonly AcceptedBatch[]): Promise<void> {
    const session = await this.openSession(projectId, fullUpdateId);
    const turn = session.turn.then(() => this.stageMissing(session, batches));
    // The caller gets the failure from `turn`. Later callers must not fail because of it.
    session.turn = turn.catch((error: unknown) => this.fail(session, error));
    await turn;
  }

  /**
   * Judges again the batches that were staged under another ontology. If a later batch changed a drafted type,
   * nothing needs to be done, because all values of a new attribute fit it.
   * @returns the attributes to create; undefined if the ontology has changed since
   */
  async settle(projectId: number, fullUpdateId: number, revision: number) {
    const { ingest, store, getLocale } = this.parts;
    const { unsettled, names, nameCount, ...judged } = await ingest.judgeNotes(projectId, fullUpdateId);
    if (judged.revision !== revision) return undefined;
    const ids = nameCount === 0 ? NOTHING : await store.reserveNames(projectId, { names });
    const order = { ...judged, ids, locale: await getLocale(projectId) };
    const { drafts, extractedBy, report } = await ingest.draftNotes(projectId, order);
    for (const batch of unsettled) {
      const key = { fullUpdateId, batch };
      const { revision: present, ...reviewed } = await ingest.review(projectId, { ...key, drafts });
      if (present !== revision) return undefined;
      await store.reviewBatch(projectId, { ...reviewed, ...key, extractedBy });
    }
    return { newAttributes: drafts, report };
  }

  forget(fullUpdateId: number): void {
    this.sessions.delete(fullUpdateId);
  }

  private async openSession(projectId: number, fullUpdateId: number): Promise<Session> {
    const { sessions } = this;
    const present = sessions.get(fullUpdateId);
    if (present !== undefined) return present;
    const { store, ingest, getLocale } = this.parts;
    const staged = await store.listStagedBatches(projectId, fullUpdateId);
    const observed = staged.length === 0 ? NOTHING : await ingest.joinNotes(projectId, fullUpdateId);
    const locale = await getLocale(projectId);
    const opened = sessions.get(fullUpdateId);
    if (opened !== undefined) return opened;
    const session: Session = {
      projectId,
      fullUpdateId,
      own: new Set(),
      observed,
      locale,
      turn: Promise.resolve(),
      write: Promise.resolve(true),
      failure: undefined,
    };
    sessions.set(fullUpdateId, session);
    return session;
  }

  private stage(session: Session, accepted: AcceptedBatch): Promise<void> {
    const { projectId, fullUpdateId } = session;
    const of = { 'relata.project.id': projectId, 'relata.full_update.id': fullUpdateId };
    const attributes = { ...of, 'relata.batch': accepted.batch };
    return traced({ name: 'stage batch', attributes }, () => this.extract(session, accepted));
  }

  /** Extracts a batch and begins to write it; `write` resolves when it is written. */
  private async extract(session: Session, { batch, source }: AcceptedBatch): Promise<void> {
    const { store, ingest } = this.parts;
    const { projectId, fullUpdateId, observed, locale } = session;
    const extracted = await ingest.extract(projectId, { source, context: { observed, locale } });
    const { packed, report, derivationRevision, notes, loan } = extracted;
    if (notes === undefined) throw new Error('a batch of a full update was extracted without notes');
    const { joined, ...described } = notes;
    session.observed = joined;
    await loan.unlessFailed(session.write);
    const staged = { fullUpdateId, batch, packed, derivationRevision, report, ...described };
    const write = traced({ name: 'write batch', attributes: { 'relata.batch': batch } }, async () => {
      const isStaged = await loan.until(store.stageBatch(projectId, staged));
      this.onStaged(projectId, fullUpdateId);
      return isStaged;
    });
    // The next batch, or the commit, waits for the write and fails with it. This only records the failure in the
    // session immediately.
    write.catch((error: unknown) => this.fail(session, error));
    session.write = write;
  }

  private async stageMissing(session: Session, batches: readonly AcceptedBatch[]): Promise<void> {
    const { projectId, fullUpdateId } = session;
    await Promise.allSettled([session.write]);
    await this.waitForOthers(session, batches);
    await this.parts.store.dropOutdated(projectId, { fullUpdateId });
    const missing = await this.listMissing(session, batches);
    session.failure = undefined;
    session.write = Promise.resolve(true);
    for (const batch of missing) await this.stageSurely(session, batch);
  }

  private async listMissing({ projectId, fullUpdateId }: Session, batches: readonly AcceptedBatch[]) {
    const present = await this.parts.store.listStagedBatches(projectId, fullUpdateId);
    const staged = new Set(present.map(({ batch }) => batch));
    return batches.filter(({ batch }) => !staged.has(batch));
  }

  /** Waits for other processes while they make progress, because they have already parsed their batches. */
  private async waitForOthers(session: Session, batches: readonly AcceptedBatch[]): Promise<void> {
    if (!this.parts.database.isShared) return;
    const countOthers = async () =>
      (await this.listMissing(session, batches)).filter(({ batch }) => !session.own.has(batch)).length;
    let left = await countOthers();
    for (let until = performance.now() + STALL_TIMEOUT_MS; left > 0 && performance.now() <= until; ) {
      await setTimeout(CHECK_EVERY_MS);
      const remaining = await countOthers();
      if (remaining < left) until = performance.now() + STALL_TIMEOUT_MS;
      left = remaining;
    }
  }

  /** @throws not_ready if products change faster than they are extracted */
  private async stageSurely(session: Session, batch: AcceptedBatch): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      await this.stage(session, batch);
      if (await session.write) return;
    }
    throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
  }

  private fail(session: Session, error: unknown): void {
    session.failure ??= error;
    // A closed full update needs no log line, because its bodies are removed.
    if (this.sessions.peek(session.fullUpdateId) === session) this.logFailure(session.fullUpdateId, error);
  }

  private logFailure(fullUpdateId: number, error: unknown): void {
    // The process is stopping. Missing batches are staged when it starts again.
    if (error instanceof ServiceError && error.code === 'not_ready') return;
    this.parts.logger.error(
      { err: error, fullUpdate: fullUpdateId },
      'staging a batch failed; the commit stages it again',
    );
  }
}
