import { DatabaseSync } from 'node:sqlite';
import type { RefusedLoops } from './allowed-loops.ts';
import { SELECTIVE, SMALL } from './small-tables.ts';
import { listLoops, type SqliteLoop } from './sqlite-loops.ts';

/** Refuses statements on files whose time grows with the square of a catalog or of a caller's list. */

const isLong = ({ source, kind, columns }: SqliteLoop): boolean => {
  if (source in SMALL || source === '') return false;
  // SQLite makes an index of a list only to find values in it.
  if (kind === 'range' && source === '(temporary)') return false;
  return kind === 'scan' || !columns.some((column) => SELECTIVE.has(column));
};

const write = ({ source, kind, columns }: SqliteLoop) =>
  kind === 'scan' ? `all of ${source}` : `${source} by ${columns.join(', ') || 'a range of keys'}`;

/**
 * @returns the loops that read a list again for each row of another one, such as `all of product > all of (virtual)`
 */
export function judgeLoops(loops: readonly SqliteLoop[], sql: string): string[] {
  // A list keeps the rows of a partition, and its frame reads them once more.
  const isOfWindow = ({ source }: SqliteLoop) => source === '(temporary)' && /\bover \(/.test(sql);
  const refused = loops.filter((loop) => {
    if (!isLong(loop) || loop.isOfRow || isOfWindow(loop)) return false;
    // A list of different keys finds each row once.
    const around =
      loop.kind === 'range' && loop.outer.at(-1)?.isDistinct ? loop.outer.slice(0, -1) : loop.outer;
    return around.some(isLong);
  });
  return refused.map((loop) => [...loop.outer, loop].map(write).join(' > '));
}

const CHANGES_OR_READS = /^\s*(?:select|with|insert|update|delete|replace)\b/i;

/** Reports each statement that this thread prepares on any file, once. @returns a function that stops the reports */
export function watchSqlite(report: (seen: RefusedLoops) => void): () => void {
  const { prepare } = DatabaseSync.prototype;
  const reported = new Set<string>();
  DatabaseSync.prototype.prepare = function watched(...given: Parameters<typeof prepare>) {
    const prepared = prepare.apply(this, given);
    const [sql] = given;
    if (!reported.has(sql) && CHANGES_OR_READS.test(sql)) {
      reported.add(sql);
      report({
        sql: sql.replace(/\s+/g, ' ').trim(),
        refused: judgeLoops(listLoops(this, prepare, sql), sql),
      });
    }
    return prepared;
  };
  return () => {
    DatabaseSync.prototype.prepare = prepare;
  };
}
