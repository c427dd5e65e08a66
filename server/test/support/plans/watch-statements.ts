import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { watchPostgres } from './postgres-statements.ts';
import { watchSqlite } from './sqlite-plans.ts';

/**
 * Imported before a program. It writes the statements of all threads of its process to the folder that a setting names.
 * The name of the setting does not begin with RELATA_, because tests start services without such settings of their
 * caller.
 */

const folder = process.env.STATEMENTS_FOLDER;

if (folder !== undefined) {
  const write = (statement: object) =>
    appendFileSync(join(folder, `${process.pid}-${threadId}.jsonl`), `${JSON.stringify(statement)}\n`);
  watchSqlite(({ sql, refused }) => write({ engine: 'sqlite', sql, refused }));
  watchPostgres((sql) => write({ engine: 'postgres', sql }));
}
