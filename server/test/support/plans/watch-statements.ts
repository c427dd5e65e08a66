import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { watchSqlite } from './sqlite-plans.ts';

/** Imported before a test file: writes the statements of all threads of its process to the folder that a setting names. */

const folder = process.env.RELATA_TEST_STATEMENTS ?? '';

watchSqlite((statement) =>
  appendFileSync(join(folder, `${process.pid}-${threadId}.jsonl`), `${JSON.stringify(statement)}\n`),
);
