import { listLeases } from './leases.ts';
import { readSpanObject } from './restore-timeline.ts';
import { listSpans } from './retention.ts';
import { listPoints, planRestore, type Span } from './spans.ts';
import type { BackupTarget } from './target.ts';

/** Instants that follow each other closely: any between the first and the last can be restored, to the one before it. */
interface RestoreRange {
  readonly from: string;
  to: string;
  points: number;
  readonly kind: 'seconds' | 'hours';
}

export type BackupListing = Awaited<ReturnType<typeof listBackups>>;
export type CheckedTimeline = Awaited<ReturnType<typeof verifyTimeline>>;

export async function listBackups(target: BackupTarget) {
  const spans = await listSpans(target);
  const leases = await listLeases(target);
  const ranges: RestoreRange[] = [];
  for (const { at, kind } of listPoints(spans, leases)) {
    const instant = new Date(at).toISOString();
    const grain = kind === 'hours' ? 'hours' : 'seconds';
    const last = ranges.at(-1);
    if (last?.kind === grain) {
      last.to = instant;
      last.points += 1;
    } else ranges.push({ from: instant, to: instant, points: 1, kind: grain });
  }
  return { ranges, leases, objects: spans.length };
}

/** Reads everything. @returns what is wrong, by object; none: all of it is as it was written */
export async function verifyTimeline(target: BackupTarget, key: Uint8Array | undefined) {
  const spans = await listSpans(target);
  const problems: string[] = [];
  let bytes = 0;
  const count = async (span: Span) => {
    for await (const entry of readSpanObject(target, span, key)) bytes += entry.bytes.length;
  };
  for (const span of spans) await count(span).catch((error: Error) => problems.push(error.message));
  const plan = planRestore(spans, await listLeases(target));
  if (plan === undefined) problems.push('there is no base copy that is whole');
  else if (plan.lostAt !== undefined)
    problems.push(
      `objects are missing between ${new Date(plan.at).toISOString()} and ${new Date(plan.lostAt).toISOString()}`,
    );
  return { objects: spans.length, bytes, problems };
}
