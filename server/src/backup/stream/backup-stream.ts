import { existsSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { dataFolderAt } from '../../storage/folder/folder.ts';
import { closeUnused } from '../../storage/sqlite/sqlite.ts';
import {
  type Cut,
  connect,
  makeHolder,
  NOTHING_SENT,
  readLocalState,
  statePath,
  WatchedFolder,
  writeLocalState,
} from '../files/files.ts';
import { IDENTITY, makeBackupId, openTarget, VanishedTarget } from '../target/target.ts';
import {
  findMissing,
  HANDOVER_MS,
  type HeldLease,
  handoverOf,
  keepHouse,
  LEASE_MS,
  type Lease,
  listLeases,
  listSpans,
  MissingObject,
  nameOf,
  RENEW_MS,
  readHandover,
  readLease,
  refuseOther,
  removeBroken,
  renewLease,
  type Span,
  spansOf,
  takeLease,
} from '../timeline/timeline.ts';
import { FAILURES, fromData, inData } from './failures.ts';
import { findBase, findLast, findOwnTarget, refuseForeign } from './own-target.ts';
import { NotTheWriter, noteFailure, STATE, type StreamSettings, type StreamState } from './stream-state.ts';

/** How often changes are looked for; and the least time between segments, ms. */
const POLL_MS = 150;
const CUT_MS = 400;
const LEASE_CHECK_MS = 1_000;
const STATE_MS = 1_000;
/** Interval between checks of the retention, and of what the target holds. */
const HOUSE_MS = 60_000;

export type BackupStream = ReturnType<typeof createBackupStream>;

/** Sends what changes in a data directory to a target, until it is stopped. */
export function createBackupStream(settings: StreamSettings, state: StreamState) {
  const { dataDir, target: place, checkMs = HOUSE_MS } = settings;
  const isSealed = place.key !== undefined;
  const target = openTarget(place);
  const read = (place: number) => state[place] ?? 0;
  let local = readLocalState(dataDir);
  const folder = new WatchedFolder(dataDir, local?.files ?? NOTHING_SENT, isSealed);
  folder.hold();
  const stopped = new AbortController();
  let lease: HeldLease | undefined;
  /** The leases that led to this one; they do not change any more. */
  let leases: readonly HeldLease[] = [];
  let seq = 0;
  /** The highest number that a segment may have got. */
  let attempts = 0;
  /** The last segment that was written. */
  let sent: Lease['sent'];
  /** The base that a restore of the last segment begins with. */
  let base: Span | undefined;
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
  /** When what the target holds was last checked. */
  let inspectedAt = performance.now();
  /** Why the last base copy or merge failed, although segments may go on: an index in FAILURES. */
  let houseFailure = 0;
  /** The request to hand over that nobody followed up. */
  let ignoredRequest: string | undefined;
  let isFailing = false;
  /** Keeps others from changing the control database, which records everything that is accepted. */
  let handover: { readonly lock: DatabaseSync; readonly until: number; readonly request: string } | undefined;
  let working: Promise<void> | undefined;
  let lastError = '';
  /** The id of a backup that begins at a new place. */
  const fresh = makeBackupId();

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
    await checkTarget(held);
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
      state[STATE.failure] = houseFailure || read(STATE.isIncomplete) * FAILURES.indexOf('incomplete');
      return result;
    } catch (error) {
      if (error instanceof NotTheWriter) throw error;
      noteAttempt(error);
      return false;
    }
  }

  function noteAttempt(error: unknown): void {
    isFailing = true;
    // What is there when it comes back decides how it continues.
    if (error instanceof VanishedTarget) lease = undefined;
    // A target that fails meanwhile does not keep the changes refused.
    if (handover !== undefined && performance.now() >= handover.until) endHandover(handover);
    note(error);
    try {
      inData(boundBacklog);
    } catch (failure) {
      note(failure);
    }
  }

  /** @returns the index of the failure in FAILURES */
  function note(error: unknown): number {
    lastError = (error as Error).message;
    return noteFailure(state, error);
  }

  async function begin(): Promise<HeldLease> {
    const backup = await findOwnTarget(target, { local, fresh });
    const found = await listLeases(target);
    const last = found.at(-1);
    const isOwn = last !== undefined && last.holder === local?.holder;
    const held = isOwn ? { ...last, handedOver: undefined } : await takeNext(found, backup);
    if ((await target.findIdentity()) === undefined) await target.writeIdentity(backup);
    leases = isOwn ? found : [...found, held];
    const line = spansOf(await listSpans(target), leases, held.epoch);
    continueFrom(findLast(line), held);
    base = isLost ? undefined : findBase(line, seq);
    await checkBase(held);
    // Set only here: when one of these calls fails, all of them are repeated.
    lease = held;
    savedAt = 0;
    return held;
  }

  /** Nothing that was sent may be missing in the target, because what follows builds on it. */
  function continueFrom(last: Span | undefined, held: HeldLease): void {
    const reached = Math.max(held.from, last?.to ?? 0);
    const known = Math.max(seq, held.sent?.to ?? 0, local?.seq ?? 0);
    sent = last && { to: last.to, at: last.at };
    if (known > reached && !isLost) {
      isLost = true;
      noteMissing(`segments up to number ${known} are missing, the last one is ${reached}`);
    }
    // No segment leads across a loss.
    seq = Math.max(reached, known) + Number(isLost);
  }

  async function checkBase({ epoch }: HeldLease): Promise<void> {
    const problem = await findProblem(epoch);
    if (problem !== undefined) noteMissing(problem);
    needsBase = base === undefined || problem !== undefined;
    state[STATE.basedAt] = needsBase ? 0 : Number(base?.at);
    if (needsBase) forgetAll();
  }

  async function findProblem(epoch: number): Promise<string | undefined> {
    if (base !== undefined) return findMissing(target, { leases, epoch, base, reached: seq });
    const known = local?.url === place.url && !isLost ? local.base : undefined;
    return known && `${known} is missing`;
  }

  async function takeNext(found: readonly HeldLease[], backup: string): Promise<HeldLease> {
    const last = found.at(-1);
    if (last !== undefined) {
      refuseForeign(found, local, place.url);
      await waitForEnd(last);
    }
    const { url } = place;
    const known = local ?? { holder: makeHolder(), epoch: 0, seq: 0, at: 0, files: NOTHING_SENT, url };
    const own = known.epoch === 0 ? { ...known, backup } : known;
    writeLocalState(dataDir, own);
    // Saved before it is taken, so that a lease whose answer is lost is recognised as its own.
    local = own;
    const taken = await takeLease(target, last, { holder: own.holder, from: own.seq });
    if (taken === undefined) {
      if (own.epoch === 0) rmSync(statePath(dataDir));
      throw new NotTheWriter(`Another service began to write to ${place.url}`);
    }
    return taken;
  }

  /** @throws NotTheWriter unless the lease expires, because its holder is gone */
  async function waitForEnd(last: HeldLease): Promise<void> {
    for (const until = performance.now() + LEASE_MS; performance.now() < until; await delay(RENEW_MS / 4)) {
      const now = await readLease(target, last.epoch);
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
  async function checkLease(held: HeldLease): Promise<void> {
    const now = performance.now();
    if (now - checkedAt < LEASE_CHECK_MS) return;
    if ((await readLease(target, held.epoch + 1)) !== undefined)
      throw new NotTheWriter('Another service was promoted and writes to the target of the backup now');
    checkedAt = now;
    const request = await findRequest(held);
    if (request !== undefined) await handOver(held, request);
    else if (now - renewedAt >= RENEW_MS) await renew(held);
  }

  /** @returns the request that is followed, or a new one */
  async function findRequest({ epoch }: HeldLease): Promise<string | undefined> {
    const request = await readHandover(target, epoch, isSealed);
    return handover?.request ?? (request === ignoredRequest ? undefined : request);
  }

  async function renew(held: HeldLease): Promise<void> {
    await renewLease(target, { ...held, renewedAt: Date.now(), sent });
    renewedAt = performance.now();
  }

  /** Looks whether the target still holds this backup, with its base and segments. @throws VanishedTarget */
  async function checkTarget({ epoch }: HeldLease): Promise<void> {
    const now = performance.now();
    if (now - inspectedAt < checkMs || house !== undefined) return;
    inspectedAt = now;
    await checkIdentity(target.own() ?? '');
    if (base === undefined || needsBase || isLost) return;
    const line = { leases, epoch, base, reached: seq };
    beginHousework(async () => {
      const problem = await findMissing(target, line);
      state[STATE.checkedAt] = Date.now();
      state[STATE.isIncomplete] = 0;
      if (problem !== undefined) noteMissing(problem);
      return { wantsBase: problem !== undefined };
    }, false);
  }

  /** A bucket that lost what it is gets it again, as its lease is still the own one. */
  async function checkIdentity(own: string): Promise<void> {
    const found = await target.findIdentity();
    if (found !== undefined) return refuseOther(target, found, own);
    noteMissing(`${IDENTITY} is missing`);
    await target.writeIdentity(own);
  }

  /** It counts until a check finds everything. */
  function noteMissing(what: string): void {
    note(new MissingObject(what));
    state[STATE.isIncomplete] = 1;
    state[STATE.gaps] = read(STATE.gaps) + 1;
    state[STATE.basedAt] = 0;
  }

  /** Refuses changes, even in requests under way, sends what there is, and announces it; until another service has the lease. */
  async function handOver(held: HeldLease, request: string): Promise<void> {
    handover ??= beginHandover(request);
    if (performance.now() < handover.until) {
      await sendChanges(held);
      return renew({ ...held, handedOver: seq });
    }
    await target.remove(handoverOf(held.epoch));
    await renew(held);
    endHandover(handover);
  }

  /** Accepts changes again. */
  function endHandover({ lock, request }: NonNullable<typeof handover>): void {
    ignoredRequest = isSealed ? request : undefined;
    lock.close();
    handover = undefined;
    state[STATE.isHandingOver] = 0;
  }

  /** Sets the state first, so that few changes wait for the lock until they fail. */
  function beginHandover(request: string) {
    state[STATE.isHandingOver] = 1;
    try {
      const until = performance.now() + HANDOVER_MS;
      return { lock: inData(() => lockChanges(dataDir)), until, request };
    } catch (error) {
      state[STATE.isHandingOver] = 0;
      throw error;
    }
  }

  async function sendChanges(held: HeldLease): Promise<boolean> {
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

  async function send(cut: Cut, { epoch }: HeldLease): Promise<void> {
    const [from, isBase] = [seq, needsBase];
    // An attempt whose answer is lost may have arrived, so no other segment gets its number.
    attempts = Math.max(attempts, from) + 1;
    const to = attempts;
    const at = Math.max(cut.at, read(STATE.sentAt) + 1);
    const name = nameOf({ kind: 'segments', from, to, epoch, at });
    const entries = fromData(folder.readCut(cut, { isBase, isAfresh }));
    const length = await target.writeEntries(name, entries);
    folder.noteSent(cut);
    seq = to;
    sent = { to, at };
    state[STATE.sentAt] = at;
    state[STATE.sentBytes] = read(STATE.sentBytes) + length;
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
    await target.writeEntries(copy, fromData(folder.readAll(stopped.signal)));
    // What was written back during the copy is in the next segment.
    const last = seq;
    while (seq === last && folder.hasChanged() && !stopped.signal.aborted) await delay(POLL_MS);
    const made = { kind: 'bases' as const, from, to: seq, epoch, at: Math.max(1, read(STATE.sentAt)) };
    const name = nameOf(made);
    await target.writeText(name, copy);
    base = { ...made, name };
    state[STATE.basedAt] = base.at;
    await removeBroken(target);
    return { wantsBase: false };
  }

  function tidyTarget({ epoch }: HeldLease): void {
    const now = performance.now();
    if (now - housedAt < HOUSE_MS || house !== undefined) return;
    housedAt = now;
    beginHousework(() => keepHouse(target, epoch, settings), false);
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

  async function finish(held: HeldLease): Promise<void> {
    await sendChanges(held);
    // It says which segment is the last one.
    if (handover === undefined) await renew(held);
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
    const { url } = place;
    const backup = target.own();
    // The number that a loss took has no segment.
    const present = {
      holder,
      epoch,
      seq: isLost ? seq - 1 : seq,
      at: read(STATE.sentAt),
      files: folder.sent,
      url,
      backup,
      base: needsBase ? undefined : base?.name,
    };
    // Nothing is written while idle.
    const text = JSON.stringify(present);
    if (text !== saved) writeLocalState(dataDir, present);
    saved = text;
    local = present;
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
      if (held !== undefined && state[STATE.isSuperseded] === 0) await attempt(() => finish(held));
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
