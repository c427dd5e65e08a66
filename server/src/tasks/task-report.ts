import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../storage/storage.ts';
import type { Task } from './task.ts';
import { findReportPart } from './task-store.ts';

/** Yields the stored report of a task, some lines at a time. */
export async function* readReport(database: Database, task: Task): AsyncGenerator<string> {
  for (let part = 0; ; part += 1) {
    const lines = await findReportPart(database, task, part);
    if (lines === undefined) return;
    yield lines;
    // Yields to other work, because reads of the embedded store and a fast receiver never wait, so a whole report would
    // block the event loop.
    await nextTurn();
  }
}
