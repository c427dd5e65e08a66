import type { BackupTarget } from '../target/target.ts';
import {
  KINDS,
  listPoints,
  listSpans,
  planRestore,
  readLine,
  readSpanObject,
  type Span,
} from '../timeline/timeline.ts';

/** A report for people about a target: the instants that can be restored, and whether every object is intact. */

export type BackupListing = Awaited<ReturnType<typeof listBackups>>;
export type CheckedTimeline = Awaited<ReturnType<typeof verifyTimeline>>;

/**
 * @returns `ranges` of close instants. For any time within a range, the last instant before that time can be restored.
 */
export async function listBackups(target: BackupTarget) {
  const { spans, leases } = await readLine(target);
  const ranges: { from: string; to: string; points: number; kind: 'seconds' | 'hours' }[] = [];
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

/** Reads everything. @returns the problems, by object; empty if every object is intact */
export async function verifyTimeline(target: BackupTarget) {
  const problems: string[] = [];
  const note = (error: Error) => void problems.push(error.message);
  let bytes = 0;
  const count = async (span: Span) => {
    for await (const entry of readSpanObject(target, span)) bytes += entry.bytes.length;
  };
  const spans: Span[] = [];
  for (const kind of KINDS)
    await listSpans(target, [kind]).then((spansOfKind) => spans.push(...spansOfKind), note);
  for (const span of spans) await count(span).catch(note);
  await checkPlan(target).then((planProblems) => problems.push(...planProblems), note);
  return { objects: spans.length, bytes, problems: [...new Set(problems)] };
}

async function checkPlan(target: BackupTarget): Promise<string[]> {
  const { spans, leases } = await readLine(target);
  const plan = planRestore(spans, leases);
  if (plan === undefined) return ['there is no complete base copy'];
  if (plan.lostAt === undefined) return [];
  const [from, to] = [plan.at, plan.lostAt].map((instant) => new Date(instant).toISOString());
  return [`objects are missing between ${from} and ${to}`];
}
