import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { closeUnused } from '../../storage/sqlite/sqlite.ts';
import { dataFolderAt, syncFolderNow, writeOwnFile } from '../../storage/storage.ts';
import { classify, FAILURES, fromData, inData } from './failures.ts';
import {
  HANDOVER_MS,
  type HeldLease,
  handoverOf,
  LEASE_MS,
  listLeases,
  RENEW_MS,
  readLease,
  renewLease,
  takeLease,
} from './leases.ts';
import { packObject } from './objects.ts';
import { keepHouse } from './retention.ts';
import { nameOf, readSpan, spansOf } from './spans.ts';
import { type BackupTarget, openTarget, readSmall, type TargetSettings, writeSmall } from './target.ts';
import { connect } from './watched-file.ts';
import { type Cut, type SentFiles, WatchedFolder } from './watched-folder.ts';

export interface StreamSettings {
  readonly dataDir: string;
  readonly target: TargetSettings;
  /** undefined: nothing is encrypted. */
  readonly key: Uint8Array | undefined;
  readonly keepSecondsHours: number;
  readonly keepHoursDays: number;
  /** How much may wait for a target that is away; then a new base copy is made when it is back. */
  readonly backlogBytes: number;
}

/** What all threads may read at any time: numbers by these places. */
export const STATE = {
  /** Epoch milliseconds of the last segment; 0: none yet. */
  sentAt: 0,
  /** Since when there is something that is not in the target; 0: there is nothing. */
  behindSince: 1,
  unsentBytes: 2,
  sentBytes: 3,
  segments: 4,
  failures: 5,
  /** Why it does not go on: a place in FAILURES. */
  failure: 6,
  /** Whether somebody else writes to the target now. */
  isSuperseded: 7,
  /** Epoch milliseconds of the base copy that restores begin with; 0: none is whole yet. */
  basedAt: 8,
  /** Of a standby: the instant that it has. */
  followedAt: 9,
  /** Of a standby: whether it is the one that writes now. */
  isPromoted: 10,
  /** Whether changes are refused while another service takes over. */
  isHandingOver: 11,
} as const;

export type StreamState = Float64Array<SharedArrayBuffer>;

export const createStreamState = (): StreamState =>
  new Float64Array(new SharedArrayBuffer(8 * Object.keys(STATE).length));

/** @returns its place in FAILURES */
export function noteFailure(state: StreamState, error: unknown): number {
  state[STATE.failures] = (state[STATE.failures] ?? 0) + 1;
  state[STATE.failure] = FAILURES.indexOf(classify(error));
  return state[STATE.failure] ?? 0;
}

/** Another service writes to the target, or what is in the directory does not come from it. */
export class NotTheWriter extends Error {
  override readonly name = 'NotTheWriter';
}

/** What the directory knows of its backup. It may be older than the target: what is sent twice is the same. */
export interface LocalState {
  readonly holder: string;
  readonly epoch: number;
  /** Of the segment whose state the files have. */
  readonly seq: number;
  readonly at: number;
  readonly files: SentFiles;
  /** Of the target that the files came from. */
  readonly url: string;
}

const statePath = (dataDir: string) => join(dataDir, 'backup-state.json');

export function readLocalState(dataDir: string): LocalState | undefined {
  try {
    return JSON.parse(readFileSync(statePath(dataDir), 'utf8')) as LocalState;
  } catch {
    return undefined;
  }
}

/** Durable: without it a directory is not known as the one that writes, after a loss of power too. */
export function writeLocalState(dataDir: string, state: LocalState): void {
  writeOwnFile(`${statePath(dataDir)}.part`, JSON.stringify(state), 'w');
  renameSync(`${statePath(dataDir)}.part`, statePath(dataDir));
  syncFolderNow(dataDir);
}

export const makeHolder = () => randomBytes(8).toString('hex');

/** Something is looked for this often, and sent at most every second of these. */
const POLL_MS = 150;
const CUT_MS = 400;
const LEASE_CHECK_MS = 1_000;
const STATE_MS = 1_000;
/** The retention is looked after this often. */
const HOUSE_MS = 60_000;

/** Sends what changes in a data directory to a target, until it is stopped. */
export class BackupStream {
  private readonly settings: StreamSettings;
  private readonly state: StreamState;
  private readonly target: BackupTarget;
  private lease: HeldLease | undefined;
  private folder: WatchedFolder;
  private local: LocalState | undefined;
  private seq = 0;
  private needsBase = false;
  /** Nothing that is in the target leads to what comes next: a base has to. */
  private isAfresh = false;
  private isLost = false;
  private checkedAt = 0;
  private renewedAt = 0;
  private savedAt = 0;
  private saved = '';
  private house: Promise<void> | undefined;
  private housedAt = 0;
  /** Why the last base copy or merge did not come about, while segments may go on: a place in FAILURES. */
  private houseFailure = 0;
  private isFailing = false;
  /** Keeps others from changing the control database: what is accepted is in it. */
  private handover: { readonly lock: DatabaseSync; readonly until: number } | undefined;
  private readonly stopped = new AbortController();
  private working: Promise<void> | undefined;
  lastError = '';

  constructor(settings: StreamSettings, state: StreamState) {
    this.settings = settings;
    this.state = state;
    this.target = openTarget(settings.target);
    this.local = readLocalState(settings.dataDir);
    const files = this.local?.files ?? { databases: {}, others: {} };
    this.folder = new WatchedFolder(settings.dataDir, files, settings.key !== undefined);
    this.folder.hold();
  }

  /** @returns why it may not write. A target that is away is waited for while the service works */
  async start(): Promise<string | undefined> {
    try {
      await this.attempt(() => this.takeLease());
    } catch (error) {
      return (error as Error).message;
    }
    this.working = this.work();
    return undefined;
  }

  /** Sends what is left, and lets go of the files: nobody else may have them open any more. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.working;
    await this.house;
    if (this.lease !== undefined && this.state[STATE.isSuperseded] === 0)
      await this.attempt(() => this.sendChanges());
    this.handover?.lock.close();
    for (const database of this.folder.databases) database.release();
    closeUnused();
    this.save(0);
  }

  private async work(): Promise<void> {
    while (!this.stopped.signal.aborted && this.state[STATE.isSuperseded] === 0) {
      const begun = performance.now();
      const isSent = await this.attempt(() => this.step()).catch((error: unknown) => {
        this.noteFailure(error);
        this.state[STATE.isSuperseded] = 1;
        return false;
      });
      const rest = isSent ? Math.max(CUT_MS - (performance.now() - begun), POLL_MS) : POLL_MS;
      await delay(this.isFailing ? 1_000 : rest, undefined, {
        signal: this.stopped.signal,
      }).catch(() => {});
    }
  }

  /** @returns whether something was sent */
  private async step(): Promise<boolean> {
    if (this.lease === undefined) await this.takeLease();
    await this.checkLease();
    const isSent = await this.sendChanges();
    inData(() => {
      for (const database of this.folder.databases) database.tidy();
      this.save(STATE_MS);
    });
    this.keepHouse();
    return isSent;
  }

  /** @throws NotTheWriter */
  private async attempt<Result>(work: () => Promise<Result>): Promise<Result | false> {
    try {
      const result = await work();
      this.isFailing = false;
      this.state[STATE.failure] = this.houseFailure;
      return result;
    } catch (error) {
      if (error instanceof NotTheWriter) throw error;
      this.isFailing = true;
      this.noteFailure(error);
      this.boundBacklog();
      return false;
    }
  }

  /** @returns its place in FAILURES */
  private noteFailure(error: unknown): number {
    this.lastError = (error as Error).message;
    return noteFailure(this.state, error);
  }

  private async takeLease(): Promise<void> {
    const { target, local } = this;
    const leases = await listLeases(target);
    const last = leases.at(-1);
    const spans = (await target.list('segments')).flatMap((name) => readSpan(name) ?? []);
    if (last !== undefined && last.holder === local?.holder) {
      const own = spansOf(spans, leases, last.epoch);
      this.seq = Math.max(last.from, ...own.map(({ to }) => to));
      this.lease = last;
    } else {
      this.lease = await this.takeNext(leases);
      this.seq = this.lease.from;
    }
    const { epoch } = this.lease;
    const bases = (await target.list('bases')).flatMap((name) => readSpan(name) ?? []);
    const own = spansOf(bases, [...leases, this.lease], epoch).filter(({ from }) => from <= this.seq);
    this.state[STATE.basedAt] = Math.max(0, ...own.map(({ at }) => at));
    this.needsBase = own.length === 0;
    if (this.needsBase) this.forgetAll();
  }

  private async takeNext(leases: readonly HeldLease[]): Promise<HeldLease> {
    const { target, local } = this;
    const last = leases.at(-1);
    if (last !== undefined) await this.refuseForeign(last, leases);
    const { dataDir, target: place } = this.settings;
    const files = { databases: {}, others: {} };
    const own = local ?? { holder: makeHolder(), epoch: 0, seq: 0, at: 0, files, url: place.url };
    writeLocalState(dataDir, own);
    const lease = await takeLease(target, last, { holder: own.holder, from: own.seq });
    if (lease !== undefined) return lease;
    if (local === undefined) rmSync(statePath(dataDir));
    throw new NotTheWriter(`Another service began to write to ${this.settings.target.url}`);
  }

  /** @throws NotTheWriter unless the directory has what the lease covers, and its holder is gone */
  private async refuseForeign(last: HeldLease, leases: readonly HeldLease[]): Promise<void> {
    const { url } = this.settings.target;
    refuseForeign(leases, this.local, url);
    for (const until = performance.now() + LEASE_MS; performance.now() < until; await delay(RENEW_MS / 4)) {
      const now = await readLease(this.target, last.epoch);
      if (now?.renewedAt !== last.renewedAt)
        throw new NotTheWriter(
          `Another service writes to ${url}: stop it, or make this one the writer by relata promote`,
        );
    }
  }

  private forgetAll(): void {
    this.isAfresh = true;
    this.folder.forget();
  }

  /** @throws NotTheWriter when somebody has taken the next epoch */
  private async checkLease(): Promise<void> {
    const { lease, target } = this;
    const now = performance.now();
    if (lease === undefined || now - this.checkedAt < LEASE_CHECK_MS) return;
    const next = await readLease(target, lease.epoch + 1);
    if (next !== undefined)
      throw new NotTheWriter('Another service was promoted and writes to the target of the backup now');
    this.checkedAt = now;
    const isAsked = (await readSmall(target, handoverOf(lease.epoch))) !== undefined;
    if (isAsked || this.handover !== undefined) await this.handOver(lease);
    else if (now - this.renewedAt >= RENEW_MS) await this.renew(lease);
  }

  private async renew(lease: HeldLease): Promise<void> {
    await renewLease(this.target, { ...lease, renewedAt: Date.now() });
    this.renewedAt = performance.now();
  }

  /** Refuses changes, also of requests that are under way, sends what there is, and says so; until another service has the lease. */
  private async handOver(lease: HeldLease): Promise<void> {
    this.handover ??= this.beginHandover();
    if (performance.now() < this.handover.until) {
      await this.sendChanges();
      return this.renew({ ...lease, handedOver: this.seq });
    }
    await this.target.remove(handoverOf(lease.epoch));
    await this.renew(lease);
    this.handover.lock.close();
    this.handover = undefined;
    this.state[STATE.isHandingOver] = 0;
  }

  /** Refuses first, so that few changes wait for the lock until they fail. */
  private beginHandover() {
    this.state[STATE.isHandingOver] = 1;
    try {
      return { lock: inData(() => this.lockChanges()), until: performance.now() + HANDOVER_MS };
    } catch (error) {
      this.state[STATE.isHandingOver] = 0;
      throw error;
    }
  }

  private lockChanges(): DatabaseSync {
    const lock = connect(dataFolderAt(this.settings.dataDir).control, 1_000);
    if (lock === undefined) throw new Error('there is no control.db any more');
    try {
      lock.exec('begin immediate');
      return lock;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  private async sendChanges(): Promise<boolean> {
    const { folder, state, needsBase } = this;
    const hasChanged = needsBase || folder.hasChanged();
    if (!hasChanged) state[STATE.behindSince] = 0;
    else if (state[STATE.behindSince] === 0) state[STATE.behindSince] = Date.now();
    return hasChanged && this.sendCut(inData(() => folder.findCut()));
  }

  private async sendCut(cut: Cut): Promise<boolean> {
    const { folder, state } = this;
    const begun = Date.now();
    try {
      const isEmpty = cut.changes.length + cut.opened.length + cut.gone.length === 0;
      if (!isEmpty || this.needsBase) await this.send(cut);
      state[STATE.behindSince] = folder.hasChanged() ? begun : 0;
      state[STATE.unsentBytes] = 0;
      return !isEmpty;
    } finally {
      folder.closeCut(cut);
    }
  }

  private async send(cut: Cut): Promise<void> {
    const { folder, state, lease, settings, needsBase, isAfresh } = this;
    if (lease === undefined) return;
    const seq = this.seq + 1;
    const at = Math.max(cut.at, (state[STATE.sentAt] ?? 0) + 1);
    const name = nameOf({ kind: 'segments', from: this.seq, to: seq, epoch: lease.epoch, at });
    const bytes = packObject(
      name,
      settings.key,
      fromData(folder.readCut(cut, { isBase: needsBase, isAfresh })),
    );
    const length = await this.target.write(name, bytes);
    folder.noteSent(cut);
    this.seq = seq;
    state[STATE.sentAt] = at;
    state[STATE.sentBytes] = (state[STATE.sentBytes] ?? 0) + (length ?? 0);
    state[STATE.segments] = (state[STATE.segments] ?? 0) + 1;
    this.isLost = false;
    if (!needsBase) return;
    this.needsBase = false;
    this.isAfresh = false;
    this.beginBase(seq - 1, lease.epoch);
  }

  /** Copies the main files while the segments go on: it is good from the first one on that comes after it. */
  private beginBase(from: number, epoch: number): void {
    const { target, settings, folder, state } = this;
    const copy = `copies/${epoch}-${from}-${Date.now()}`;
    const make = async () => {
      await target.write(copy, packObject(copy, settings.key, fromData(folder.readAll(this.stopped.signal))));
      // What was written back while it was read is in the next one.
      const last = this.seq;
      while (this.seq === last && folder.hasChanged() && !this.stopped.signal.aborted) await delay(POLL_MS);
      const at = Math.max(1, state[STATE.sentAt] ?? 0);
      await writeSmall(target, nameOf({ kind: 'bases', from, to: this.seq, epoch, at }), { text: copy });
      state[STATE.basedAt] = at;
      return { wantsBase: false };
    };
    this.beginHousework(make, true);
  }

  private keepHouse(): void {
    const now = performance.now();
    const { house, lease, target, settings } = this;
    if (lease === undefined || now - this.housedAt < HOUSE_MS) return;
    this.housedAt = now;
    if (house === undefined) this.beginHousework(() => keepHouse(target, lease.epoch, settings), false);
  }

  /** After what is under way. @param wantsBase  where it fails */
  private beginHousework(work: () => Promise<{ wantsBase: boolean }>, wantsBase: boolean): void {
    const before = this.house;
    const house = (async () => {
      await before;
      const done = await work();
      this.needsBase ||= done.wantsBase;
      this.houseFailure = 0;
    })()
      .catch((error: unknown) => {
        this.houseFailure = this.noteFailure(error);
        this.needsBase ||= wantsBase;
      })
      .finally(() => {
        if (this.house === house) this.house = undefined;
      });
    this.house = house;
  }

  /** Keeps the logs from filling the disk while the target is away. */
  private boundBacklog(): void {
    const { folder, state, settings } = this;
    if (this.isLost) for (const database of folder.databases) database.tidy();
    else {
      const unsent = folder.countUnsent();
      state[STATE.unsentBytes] = unsent;
      if (state[STATE.behindSince] === 0 && folder.hasChanged()) state[STATE.behindSince] = Date.now();
      if (unsent < settings.backlogBytes) return;
      this.isLost = true;
      this.needsBase = true;
      // No segment leads across what is lost.
      this.seq += 1;
      this.forgetAll();
    }
  }

  private save(everyMs: number): void {
    const now = performance.now();
    if (this.lease === undefined || now - this.savedAt < everyMs || !existsSync(this.settings.dataDir))
      return;
    this.savedAt = now;
    const { holder, epoch } = this.lease;
    const { dataDir, target } = this.settings;
    const at = this.state[STATE.sentAt] ?? 0;
    const state = { holder, epoch, seq: this.seq, at, files: this.folder.sent, url: target.url };
    // Idle, nothing is written.
    const text = JSON.stringify(state);
    if (text !== this.saved) writeLocalState(dataDir, state);
    this.saved = text;
  }
}

/** @throws NotTheWriter unless the directory was restored, or follows: one that wrote before has changes of its own */
function refuseForeign(leases: readonly HeldLease[], local: LocalState | undefined, url: string): void {
  if (local === undefined)
    throw new NotTheWriter(
      `${url} holds the backup of another data directory: restore it first (relata restore --from ${url} DIR), or name an empty place`,
    );
  if (leases.some(({ holder }) => holder === local.holder))
    throw new NotTheWriter(
      `This data directory was left behind: another service was promoted and has written to ${url} since. Begin anew with an empty directory: relata serve --standby ${url}`,
    );
}
