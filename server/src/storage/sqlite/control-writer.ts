import type { SQLInputValue } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { serveOperations } from '../threads/threads.ts';
import { CONTROL_PRAGMAS, orRefuse } from './control-database.ts';
import { KEEP_LOG, onceByText, openSqlite } from './open-sqlite.ts';

/** The thread with the only writing connection to the control database. */
const { path, keepsLog } = workerData as { path: string; keepsLog: boolean };
const database = openSqlite(path, keepsLog ? CONTROL_PRAGMAS + KEEP_LOG : CONTROL_PRAGMAS);
const prepare = onceByText((sql) => database.prepare(sql));

serveOperations({
  execute({ sql, parameters }: { sql: string; parameters: SQLInputValue[] }) {
    // A full disk may have ended the transaction already. The caller gets the error of the disk, not that of the failed
    // rollback.
    if (sql === 'rollback' && !database.isTransaction) return { rows: [] };
    const statement = prepare(sql);
    if (statement.columns().length > 0) return { rows: orRefuse(() => statement.all(...parameters)) };
    const { changes, lastInsertRowid } = orRefuse(() => statement.run(...parameters));
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  },
});
