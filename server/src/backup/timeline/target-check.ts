import { readLocalState } from '../files/files.ts';
import {
  type BackupTarget,
  DamagedObject,
  IDENTITY,
  openTarget,
  type TargetSettings,
  VanishedTarget,
} from '../target/target.ts';
import { listLeases } from './leases.ts';
import { findPath, HOUR_MS, hourOf, type Lease, planRestore, type Span, spansOf } from './spans.ts';
import { listSpans, readCopyName } from './timeline-reads.ts';

/** Checks whether a target still has the objects that a restore of the last instant needs. */

/** An object that was written to a target no longer exists there. */
export class MissingObject extends Error {
  override readonly name = 'MissingObject';
}

interface Line {
  readonly leases: readonly Lease[];
  readonly epoch: number;
  /** The base with which a restore begins. */
  readonly base: Span;
  /** The last segment that was written. */
  readonly reached: number;
}

/**
 * Lists only names: the bases, their copies, the hours, and the segments since the last merged hour.
 * @returns what is missing on the way to the last segment; undefined: nothing
 */
export async function findMissing(target: BackupTarget, line: Line): Promise<string | undefined> {
  const { base, reached } = line;
  const bases = await target.list('bases');
  if (!bases.includes(base.name)) return `${base.name} is missing`;
  const copy = await findCopy(target, base);
  if (copy.problem !== undefined) return copy.problem;
  const end = await follow(target, line, copy.begunAt);
  return end < reached ? `the segment after number ${end} is missing` : undefined;
}

/** @returns when the copy of a base was begun, according to its name, or the problem of the copy */
async function findCopy(
  target: BackupTarget,
  base: Span,
): Promise<{ problem: string } | { problem?: never; begunAt: number }> {
  try {
    const copy = await readCopyName(target, base.name);
    if (!(await target.list('copies')).includes(copy)) return { problem: `${copy} is missing` };
    const [, begun] = /-(\d{13})$/.exec(copy) ?? [];
    return { begunAt: begun === undefined ? base.at : Number(begun) };
  } catch (error) {
    if (error instanceof DamagedObject) return { problem: error.message };
    throw error;
  }
}

/** @returns the number of the last segment that can be reached from the base */
async function follow(
  target: BackupTarget,
  { leases, epoch, base, reached }: Line,
  begunAt: number,
): Promise<number> {
  const read = async (folder: string) => spansOf(await listSpans(target, [folder]), leases, epoch);
  const steps = await read('hours');
  // If a clock was set back, the last segment may be in a later hour.
  const last = Math.floor(Date.now() / HOUR_MS) + 1;
  let end = findPath(steps, base).at(-1);
  // The segment with which a copy begins may belong to the hour before.
  for (let hour = Number(hourOf(begunAt)) - 1; hour <= last; hour += 1) {
    if ((end?.to ?? base.from) >= reached) break;
    if (end !== undefined && Number(hourOf(end.at)) > hour) continue;
    steps.push(...(await read(`segments/${hourOf(hour * HOUR_MS)}`)));
    end = findPath(steps, base).at(-1);
  }
  return end?.to ?? base.from;
}

/**
 * Reads a target while the service writes to it.
 * @returns the problem of the target; `at`: the last instant that can be restored
 */
export async function inspectTarget(
  settings: TargetSettings,
  dataDir: string,
): Promise<{ readonly at?: number; readonly problem?: string }> {
  const target = openTarget(settings);
  const local = readLocalState(dataDir);
  const isUsed = local !== undefined && local.epoch > 0 && local.url === settings.url;
  if (!(await target.isThere()))
    return { problem: isUsed ? 'it does not exist' : 'it does not exist yet; the service creates it' };
  const identity = await target.findIdentity();
  if (isUsed && local.backup !== undefined) refuseOther(target, identity, local.backup);
  return inspectLine(target);
}

async function inspectLine(
  target: BackupTarget,
): Promise<{ readonly at?: number; readonly problem?: string }> {
  const spans = await listSpans(target);
  const plan = planRestore(spans, await listLeases(target));
  const base = plan?.spans[0];
  if (plan === undefined || base === undefined) return { problem: 'there is no complete base copy' };
  const { problem } = await findCopy(target, base);
  if (problem !== undefined) return { problem };
  if (plan.lostAt === undefined) return { at: plan.at };
  const [from, to] = [plan.at, plan.lostAt].map((instant) => new Date(instant).toISOString());
  return { at: plan.at, problem: `objects are missing between ${from} and ${to}` };
}

/** @throws VanishedTarget if the target no longer holds the backup that it held */
export function refuseOther(target: BackupTarget, identity: string | undefined, own: string): void {
  if (identity === own) return;
  const difference = identity === undefined ? `no longer has the object ${IDENTITY}` : 'holds another backup';
  throw new VanishedTarget(
    `${target.url} ${difference}: mount or name the target to which this service sent its backup`,
  );
}
