import type { BackupTarget } from '../target/target.ts';
import { listLeases } from './leases.ts';
import { mergeObjects } from './merged-objects.ts';
import type { Lease, Span } from './spans.ts';
import { HOUR_MS, hourOf, nameOf, planRestore, spansOf } from './spans.ts';
import { listSpans, readCopyName } from './timeline-reads.ts';

/** Decides which objects of a target are merged and removed as they become older. */

export interface Retention {
  readonly keepSecondsHours: number;
  readonly keepHoursDays: number;
}

const DAY_MS = 24 * HOUR_MS;
/** An hour is merged when no more segments of it can arrive. */
const SETTLED_MS = 60_000;

/** @returns whether it is time for a new base copy */
export async function keepHouse(
  target: BackupTarget,
  epoch: number,
  { now = Date.now(), ...retention }: Retention & { readonly now?: number },
): Promise<{ wantsBase: boolean }> {
  const leases: Lease[] = await listLeases(target);
  const line = spansOf(await listSpans(target), leases, epoch);
  for (const run of listUnmerged(line, now - SETTLED_MS)) line.push(await mergeRun(target, run));
  const { old, wantsBase } = sortOut(line, leases, { ...retention, now });
  for (const span of old) {
    const copy = span.kind === 'bases' ? await readCopyName(target, span.name) : undefined;
    await target.remove(span.name);
    if (copy !== undefined) await target.remove(copy);
  }
  return { wantsBase };
}

/** @returns the segments of each hour that has ended, up to the first gap */
function listUnmerged(line: readonly Span[], until: number): Span[][] {
  const merged = new Set(line.filter(({ kind }) => kind === 'hours').map(({ at }) => hourOf(at)));
  const runs: Span[][] = [];
  const segments = line.filter(({ kind, at }) => kind === 'segments' && !merged.has(hourOf(at)));
  for (const segment of segments.sort((a, b) => a.to - b.to || a.at - b.at)) {
    if (hourOf(segment.at) >= hourOf(until)) continue;
    const before = runs.at(-1)?.at(-1);
    const follows =
      before !== undefined && segment.from <= before.to && hourOf(before.at) === hourOf(segment.at);
    if (follows) runs.at(-1)?.push(segment);
    else runs.push([segment]);
  }
  return runs.filter((run) => run.length > 1);
}

async function mergeRun(target: BackupTarget, run: readonly Span[]) {
  const [first, last] = [run[0] as Span, run.at(-1) as Span];
  const merged = { kind: 'hours' as const, from: first.from, to: last.to, epoch: last.epoch, at: last.at };
  const name = nameOf(merged);
  const read = (index: number) => target.readEntries((run[index] as Span).name);
  await target.writeEntries(name, mergeObjects(read, run.length));
  return { ...merged, name };
}

/** Removes bases whose copy is missing, because a restore of their instants would fail. */
export async function removeBroken(target: BackupTarget): Promise<void> {
  const bases = await target.list('bases');
  const copies = new Set(await target.list('copies'));
  for (const name of bases) {
    const copy = await readCopyName(target, name).catch(() => undefined);
    // A damaged or forged base stays, and a check of all objects reports it.
    if (copy !== undefined && !copies.has(copy)) await target.remove(name);
  }
}

/** @returns the objects that no retained instant needs */
export function sortOut(
  line: readonly Span[],
  leases: readonly Lease[],
  { keepSecondsHours, keepHoursDays, now }: Retention & { readonly now: number },
): { old: Span[]; wantsBase: boolean } {
  const of = (kind: Span['kind']) => line.filter((span) => span.kind === kind);
  const bases = of('bases').sort((a, b) => a.at - b.at);
  const last = bases.at(-1);
  const first = bases.findLast(({ at }) => at <= now - keepHoursDays * DAY_MS);
  const isBefore = ({ to }: Span) => first !== undefined && to <= first.from;
  const isMerged = ({ from, to }: Span) => of('hours').some((hour) => hour.from <= from && to <= hour.to);
  const secondsUntil = now - keepSecondsHours * HOUR_MS;
  const old = line.filter(
    (span) => isBefore(span) || (span.kind === 'segments' && span.at < secondsUntil && isMerged(span)),
  );
  // A base between two others is needed only if no path leads to it from the base before.
  const rest = new Set(line.filter((span) => !old.includes(span)));
  for (const base of bases.filter((base) => base !== first && base !== last && rest.has(base))) {
    rest.delete(base);
    const without = planRestore([...rest], leases, base.at);
    if (without !== undefined && without.to >= base.to) old.push(base);
    else rest.add(base);
  }
  const isNews = of('segments').some(({ at }) => last !== undefined && at > last.at);
  return { old, wantsBase: last !== undefined && isNews && last.at < now - DAY_MS };
}
