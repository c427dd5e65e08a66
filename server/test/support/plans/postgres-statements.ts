import pg from 'pg';

const CHANGES_OR_READS = /^(?:select|with|insert|update|delete|merge)\b/i;

/** The service begins each statement with the number of its project, so that a pooler keeps them apart. */
export const withoutProject = (sql: string) => sql.replace(/^\/\* \d+ \*\//, '').trim();

/** Reports each statement text that this thread sends to PostgreSQL, once. */
export function watchPostgres(report: (sql: string) => void): void {
  const { query } = pg.Client.prototype;
  const seen = new Set<string>();
  pg.Client.prototype.query = function watched(this: pg.Client, ...given: unknown[]) {
    const [first] = given;
    const text = typeof first === 'string' ? first : (first as { text?: unknown } | undefined)?.text;
    const sql = typeof text === 'string' ? withoutProject(text) : '';
    if (CHANGES_OR_READS.test(sql) && !seen.has(sql)) {
      seen.add(sql);
      report(sql);
    }
    return Reflect.apply(query, this, given);
  } as typeof query;
}
