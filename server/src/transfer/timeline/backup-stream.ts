import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { closeUnused } from '../../storage/sqlite/sqlite.ts';
import { dataFolderAt, syncFolderNow, writeOwnFile } from '../../storage/storage.ts';
import { classify, FAILURES, fromData, inData } from './failures.ts';
import * as leasing from './leases.ts';
import { packObject } from './objects.ts';
import { keepHouse, listSpans, type Retention } from './retention.ts';
import { nameOf, spansOf } from './spans.ts';
import { openTarget, readSmall, type TargetSettings, writeSmall } from './target.ts';
import { connect } from './watched-file.ts';
import { type Cut, type SentFiles, WatchedFolder } from './watched-folder.ts';

export interface StreamSettings extends Retention {
  readonly dataDir: string;
  readonly target: TargetSettings;
  /** How much may wait for an unreachable target; beyond it a new base copy is made when the target is back. */
  readonly backlogBytes: number;
}

/** Numbers that all threads may read at any time, by their index in the shared array. */
export const STATE = {
  /** Epoch milliseconds of the last segment; 0: none yet. */
  sentAt: 0,
  /** Since when there is something that the target lacks; 0: there is nothing. */
  behindSince: 1,
  unsentBytes: 2,
  sentBytes: 3,
  segments: 4,
  failures: 5,
  /** The reason why the backup does not go on, an index in FAILURES. */
  failure: 6,
  /** Whether another process writes to the target now. */
  isSuperseded: 7,
  /** Epoch milliseconds of the base copy that restores begin with; 0: none is complete yet. */
  basedAt: 8,
  /** On a standby, the instant that its files have reached. */
  followedAt: 9,
  /** On a standby, whether it has become the writer. */
  isPromoted: 10,
  /** Whether changes are refused while another service takes over. */
  isHandingOver: 11,
} as const;

export type StreamState = Float64Array<SharedArrayBuffer>;

export const createStreamState = (): StreamState =>
  new Float64Array(new SharedArrayBuffer(8 * Object.keys(STATE).length));

/** @returns the index of the failure in FAILURES */
export function noteFailure(state: StreamState, error: unknown): number {
  state[STATE.failures] = (state[STATE.failures] ?? 0) + 1;
  state[STATE.failure] = FAILURES.indexOf(classify(error));
  return state[STATE.failure] ?? 0;
}

/** Another service writes to the target, or the contents of the directory do not come from it. */
export class NotTheWriter extends Error {
  override readonly name = 'NotTheWriter';
}

/** What the directory knows about its backup. It may be older than the target; sending something twice is harmless. */
export interface LocalState {
  readonly holder: string;
  readonly epoch: number;
  /** The segment whose state the files have. */
  readonly seq: number;
  readonly at: number;
  readonly files: SentFiles;
  /** The target that the files came from. */
  readonly url: string;
}

/** For files that all have to be sent again, or that another service sends. */
export const NOTHING_SENT: SentFiles = { databases: {}, others: {} };

const statePath = (dataDir: string) => join(dataDir, 'backup-state.json');

export function readLocalState(dataDir: string): LocalState | undefined {
  try {
    return JSON.parse(readFileSync(statePath(dataDir), 'utf8')) as LocalState;
  } catch {
    return undefined;
  }
}

/** Durable: even after a loss of power, a directory without it is not known as the writer. */
export function writeLocalState(dataDir: string, state: LocalState): void {
  writeOwnFile(`${statePath(dataDir)}.part`, JSON.stringify(state), 'w');
  renameSync(`${statePath(dataDir)}.part`, statePath(dataDir));
  syncFolderNow(dataDir);
}

export const makeHolder = () => randomBytes(8).toString('hex');

/** How often changes are looked for; and the least time between segments, ms. */
const POLL_MS = 150;
const CUT_MS = 400;
const LEASE_CHECK_MS = 1_000;
const STATE_MS = 1_000;
/** Interval between checks of the retention. */
const HOUSE_MS = 60_000;

export type BackupStream = ReturnType<typeof createBackupStream>;

/** Sends what changes in a data directory to a target, until it is stopped. */
export function createBackupStream(settings: StreamSettings, state: StreamState) {
  const { dataDir, key, target: place } = settings;
  const target = openTarget(place);
  const read = (place: number) => state[place] ?? 0;
  let local = readLocalState(dataDir);
  const folder = new WatchedFolder(dataDir, local?.files ?? NOTHING_SENT, key !== undefined);
  folder.hold();
  const stopped = new AbortController();
  let lease: leasing.HeldLease | undefined;
  let seq = 0;
  let needsBase = false;
  /** Nothing in the target leads to what comes next, so a base must. */
  let isAfresh = false;
  let isLost = false;
  let checkedAt = 0;
  let renewedAt = 0;
  let savedAt = 0;
  let saved = '';
  let house: Promise<void> | undefined;
  let housedAt = 0;
  /** Why the last base copy or merge failed, although segments may go on: an index in FAILURES. */
  let houseFailure = 0;
  let isFailing = false;
  /** Keeps others from changing the control database, which records everything that is accepted. */
  let handover: { readonly lock: DatabaseSync; readonly until: number } | undefined;
  let working: Promise<void> | undefined;
  let lastError = '';

  async function work(): Promise<void> {
    while (!stopped.signal.aborted && state[STATE.isSuperseded] === 0) {
      const begun = performance.now();
      const isSent = await attempt(step).catch((error: unknown) => {
        note(error);
        state[STATE.isSuperseded] = 1;
        return false;
      });
      const rest = isSent ? Math.max(CUT_MS - (performance.now() - begun), POLL_MS) : POLL_MS;
      await delay(isFailing ? 1_000 : rest, undefined, { signal: stopped.signal }).catch(() => {});
    }
  }

  /** @returns whether something was sent */
  async function step(): Promise<boolean> {
    const held = lease ?? (await begin());
    await checkLease(held);
    const isSent = await sendChanges(held);
    inData(() => {
      for (const database of folder.databases) database.tidy();
      save(STATE_MS);
    });
    tidyTarget(held);
    return isSent;
  }

  /** @throws NotTheWriter */
  async function attempt<Result>(work: () => Promise<Result>): Promise<Result | false> {
    try {
      const result = await work();
      isFailing = false;
      state[STATE.failure] = houseFailure;
      return result;
    } catch (error) {
      if (error instanceof NotTheWriter) throw error;
      isFailing = true;
      note(error);
      try {
        inData(boundBacklog);
      } catch (failure) {
        note(failure);
      }
      return false;
    }
  }

  /** @returns the index of the failure in FAILURES */
  function note(error: unknown): number {
    lastError = (error as Error).message;
    return noteFailure(state, error);
  }

  async function begin(): Promise<leasing.HeldLease> {
    const leases = await leasing.listLeases(target);
    const last = leases.at(-1);
    const isOwn = last !== undefined && last.holder === local?.holder;
    const held = isOwn ? last : await takeNext(leases);
    const own = isOwn ? spansOf(await listSpans(target, ['segments']), leases, last.epoch) : [];
    // No segment leads across an earlier loss.
    seq = Math.max(held.from, ...own.map(({ to }) => to)) + (isLost ? 1 : 0);
    const bases = spansOf(await listSpans(target, ['bases']), [...leases, held], held.epoch);
    const usable = bases.filter(({ from }) => from <= seq);
    state[STATE.basedAt] = Math.max(0, ...usable.map(({ at }) => at));
    needsBase = isLost || usable.length === 0;
    if (needsBase) forgetAll();
    // Set only here: when one of these calls fails, all of them are repeated.
    lease = held;
    return held;
  }

  async function takeNext(leases: readonly leasing.HeldLease[]): Promise<leasing.HeldLease> {
    const last = leases.at(-1);
    if (last !== undefined) {
      refuseForeign(leases, local, place.url);
      await waitForEnd(last);
    }
    const { url } = place;
    const own = local ?? { holder: makeHolder(), epoch: 0, seq: 0, at: 0, files: NOTHING_SENT, url };
    writeLocalState(dataDir, own);
    // Saved before it is taken, so that a lease whose answer is lost is recognised as its own.
    local = own;
    const taken = await leasing.takeLease(target, last, { holder: own.holder, from: own.seq });
    if (taken === undefined) {
      if (own.epoch === 0) rmSync(statePath(dataDir));
      throw new NotTheWriter(`Another service began to write to ${place.url}`);
    }
    return taken;
  }

  /** @throws NotTheWriter unless the lease expires, because its holder is gone */
  async function waitForEnd(last: leasing.HeldLease): Promise<void> {
    for (
      const until = performance.now() + leasing.LEASE_MS;
      performance.now() < until;
      await delay(leasing.RENEW_MS / 4)
    ) {
      const now = await leasing.readLease(target, last.epoch);
      if (now?.renewedAt !== last.renewedAt)
        throw new NotTheWriter(
          `Another service writes to ${place.url}: stop it, or make this one the writer by relata promote`,
        );
    }
  }

  function forgetAll(): void {
    isAfresh = true;
    folder.forget();
  }

  /** @throws NotTheWriter when another writer has taken the next epoch */
  async function checkLease(held: leasing.HeldLease): Promise<void> {
    const now = performance.now();
    if (now - checkedAt < LEASE_CHECK_MS) return;
    if ((await leasing.readLease(target, held.epoch + 1)) !== undefined)
      throw new NotTheWriter('Another service was promoted and writes to the target of the backup now');
    checkedAt = now;
    const isAsked = (await readSmall(target, leasing.handoverOf(held.epoch))) !== undefined;
    if (isAsked || handover !== undefined) await handOver(held);
    else if (now - renewedAt >= leasing.RENEW_MS) await renew(held);
  }

  async function renew(held: leasing.HeldLease): Promise<void> {
    await leasing.renewLease(target, { ...held, renewedAt: Date.now() });
    renewedAt = performance.now();
  }

  /** Refuses changes, even in requests under way, sends what there is, and announces it; until another service has the lease. */
  async function handOver(held: leasing.HeldLease): Promise<void> {
    handover ??= beginHandover();
    if (performance.now() < handover.until) {
      await sendChanges(held);
      return renew({ ...held, handedOver: seq });
    }
    await target.remove(leasing.handoverOf(held.epoch));
    await renew(held);
    handover.lock.close();
    handover = undefined;
    state[STATE.isHandingOver] = 0;
  }

  /** Sets the state first, so that few changes wait for the lock until they fail. */
  function beginHandover() {
    state[STATE.isHandingOver] = 1;
    try {
      return { lock: inData(() => lockChanges(dataDir)), until: performance.now() + leasing.HANDOVER_MS };
    } catch (error) {
      state[STATE.isHandingOver] = 0;
      throw error;
    }
  }

  async function sendChanges(held: leasing.HeldLease): Promise<boolean> {
    if (!needsBase && !folder.hasChanged()) {
      state[STATE.behindSince] = 0;
      return false;
    }
    state[STATE.behindSince] ||= Date.now();
    const cut = inData(() => folder.findCut());
    const begun = Date.now();
    try {
      const isEmpty = cut.changes.length + cut.opened.length + cut.gone.length === 0;
      if (!isEmpty || needsBase) await send(cut, held);
      state[STATE.behindSince] = folder.hasChanged() ? begun : 0;
      state[STATE.unsentBytes] = 0;
      return !isEmpty;
    } finally {
      folder.closeCut(cut);
    }
  }

  async function send(cut: Cut, { epoch }: leasing.HeldLease): Promise<void> {
    const [from, isBase] = [seq, needsBase];
    const at = Math.max(cut.at, read(STATE.sentAt) + 1);
    const name = nameOf({ kind: 'segments', from, to: from + 1, epoch, at });
    const entries = fromData(folder.readCut(cut, { isBase, isAfresh }));
    const length = await target.write(name, packObject(name, key, entries));
    folder.noteSent(cut);
    seq = from + 1;
    state[STATE.sentAt] = at;
    state[STATE.sentBytes] = read(STATE.sentBytes) + (length ?? 0);
    state[STATE.segments] = read(STATE.segments) + 1;
    isLost = false;
    if (!isBase) return;
    needsBase = false;
    isAfresh = false;
    beginHousework(() => makeBase(from, epoch), true);
  }

  /** Copies the main files while segments go on; the base is valid from the first segment that follows it. */
  async function makeBase(from: number, epoch: number) {
    const copy = `copies/${epoch}-${from}-${Date.now()}`;
    await target.write(copy, packObject(copy, key, fromData(folder.readAll(stopped.signal))));
    // What was written back during the copy is in the next segment.
    const last = seq;
    while (seq === last && folder.hasChanged() && !stopped.signal.aborted) await delay(POLL_MS);
    const at = Math.max(1, read(STATE.sentAt));
    await writeSmall(target, nameOf({ kind: 'bases', from, to: seq, epoch, at }), { text: copy });
    state[STATE.basedAt] = at;
    return { wantsBase: false };
  }

  function tidyTarget({ epoch }: leasing.HeldLease): void {
    const now = performance.now();
    if (now - housedAt < HOUSE_MS) return;
    housedAt = now;
    if (house === undefined) beginHousework(() => keepHouse(target, epoch, settings), false);
  }

  /** Runs after the housework under way. @param wantsBase whether a failure makes a new base necessary */
  function beginHousework(work: () => Promise<{ wantsBase: boolean }>, wantsBase: boolean): void {
    const before = house;
    const added = (async () => {
      await before;
      const done = await work();
      needsBase ||= done.wantsBase;
      houseFailure = 0;
    })()
      .catch((error: unknown) => {
        houseFailure = note(error);
        needsBase ||= wantsBase;
      })
      .finally(() => {
        if (house === added) house = undefined;
      });
    house = added;
  }

  /** Keeps the logs from filling the disk while the target is unreachable. */
  function boundBacklog(): void {
    // No cut is made meanwhile, and only files that are held are written back here.
    folder.hold();
    if (isLost) {
      for (const database of folder.databases) database.tidy();
      return;
    }
    const unsent = folder.countUnsent();
    state[STATE.unsentBytes] = unsent;
    if (state[STATE.behindSince] === 0 && folder.hasChanged()) state[STATE.behindSince] = Date.now();
    if (unsent < settings.backlogBytes) return;
    isLost = true;
    needsBase = true;
    // No segment leads across the loss.
    seq += 1;
    forgetAll();
  }

  function save(everyMs: number): void {
    const now = performance.now();
    if (lease === undefined || now - savedAt < everyMs || !existsSync(dataDir)) return;
    savedAt = now;
    const { holder, epoch } = lease;
    const present = { holder, epoch, seq, at: read(STATE.sentAt), files: folder.sent, url: place.url };
    // Nothing is written while idle.
    const text = JSON.stringify(present);
    if (text !== saved) writeLocalState(dataDir, present);
    saved = text;
  }

  return {
    /** @returns why it may not write. If the target is unreachable, the service works while it waits for it */
    async start(): Promise<string | undefined> {
      try {
        await attempt(begin);
      } catch (error) {
        return (error as Error).message;
      }
      working = work();
      return undefined;
    },
    /** Sends what is left, and closes the files: no other process may have them open any more. */
    async stop(): Promise<void> {
      stopped.abort();
      await working;
      await house;
      const held = lease;
      if (held !== undefined && state[STATE.isSuperseded] === 0) await attempt(() => sendChanges(held));
      handover?.lock.close();
      for (const database of folder.databases) database.release();
      closeUnused();
      save(0);
    },
    describe: () => lastError,
  };
}

/** Nothing is added to the control database while the lock is held. */
function lockChanges(dataDir: string): DatabaseSync {
  const lock = connect(dataFolderAt(dataDir).control, 1_000);
  if (lock === undefined) throw new Error('there is no control.db any more');
  try {
    lock.exec('begin immediate');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** @throws NotTheWriter unless the directory was restored or is a standby: a former writer has changes of its own */
function refuseForeign(
  leases: readonly leasing.HeldLease[],
  local: LocalState | undefined,
  url: string,
): void {
  if (leases.some(({ holder }) => holder === local?.holder))
    throw new NotTheWriter(
      `This data directory was left behind: another service was promoted and has written to ${url} since. Begin anew with an empty directory: relata serve --standby ${url}`,
    );
  // Epoch 0: it asked for its first lease and did not get it.
  if (local === undefined || local.epoch === 0)
    throw new NotTheWriter(
      `${url} holds the backup of another data directory: restore it first (relata restore --from ${url} DIR), or name an empty place`,
    );
}
