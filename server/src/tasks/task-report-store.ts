import type { ControlTransaction, Database } from '../storage/storage.ts';
import type { TaskReportPart } from './task-report.ts';
import type { TaskKey } from './task-store.ts';

/** Reports of tasks, in parts. */

/** Replaces the report: a task that runs again after a crash reports again. */
export async function saveReport(
  tx: ControlTransaction,
  { projectId, number }: TaskKey,
  parts: Iterable<TaskReportPart>,
): Promise<void> {
  await tx
    .deleteFrom('task_report')
    .where('project_id', '=', projectId)
    .where('task_number', '=', number)
    .execute();
  let part = 0;
  for (const { lines, lineCount } of parts) {
    await tx
      .insertInto('task_report')
      .values({ project_id: projectId, task_number: number, part, line_count: lineCount, lines })
      .execute();
    part += 1;
  }
}

/** @returns one part of the report as NDJSON; undefined after the last. */
export async function findReportPart(
  database: Database,
  { projectId, number }: TaskKey,
  part: number,
): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('task_report')
    .select('lines')
    .where('project_id', '=', projectId)
    .where('task_number', '=', number)
    .where('part', '=', part)
    .executeTakeFirst();
  return row?.lines;
}
