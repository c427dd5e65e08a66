import { toSnake } from '../database.ts';

export type SqlValue = string | number | bigint | boolean | null | Uint8Array | readonly unknown[];

/**
 * Runs statements one at a time. Each has its own transaction, unless the session is a transaction. Values are `$1`,
 * `$2`, …
 */
export interface SqlSession {
  /**
   * @throws not_ready when the database cannot be reached, storage_full when its disk is full, schema_moved for a write
   * after a newer program has migrated the database
   */
  rows<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** @returns the number of rows that were changed */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
}

/**
 * Statements that both engines run. A value fills a hole of the template and becomes a parameter. `own` and similar
 * parts differ by engine, because a row in PostgreSQL belongs to a project and a file holds only one project.
 */
export type Sql = { readonly parts: readonly string[]; readonly holes: readonly Hole[] } | Difference;

type Hole = Sql | SqlValue | typeof PROJECT;

/** A function if preparing the values for the engine is expensive. */
type Choice = Sql | (() => Sql);

interface Difference {
  readonly sqlite: Choice;
  readonly postgres: Choice;
}

/** The project whose rows the statement reads or writes; set only on PostgreSQL. */
export const PROJECT: unique symbol = Symbol('project');

export const sql = (parts: readonly string[], ...holes: Hole[]): Sql => ({ parts, holes });

/** A literal part of a statement; never a caller's value. */
export const text = (part: string): Sql => sql([part]);

export const byEngine = (difference: Difference): Sql => difference;

/** Whether a row belongs to the statement's project. */
export const own = (alias?: string): Sql => ({
  sqlite: text('true'),
  postgres: sql`${text(alias === undefined ? '' : `${alias}.`)}project_id = ${PROJECT}`,
});

/** The columns of a key, for `on conflict`. */
export const ownKey = (columns: string): Sql => ({
  sqlite: text(`(${columns})`),
  postgres: text(`(project_id, ${columns})`),
});

/**
 * The beginning of `insert into … (…) select …`. The values of the columns follow it, and a condition if they come from
 * a table.
 */
export const insertInto = (table: string, columns: string): Sql => ({
  sqlite: text(`insert into ${table} (${columns}) select`),
  postgres: sql`${text(`insert into ${table} (project_id, ${columns}) select`)} ${PROJECT},`,
});

/** Makes `in` with a list that is passed as one parameter. */
export const among = (values: readonly (number | string)[]): Sql => ({
  sqlite: () => sql`in (select value from json_each(${JSON.stringify(values)}))`,
  postgres: sql`= any(${values})`,
});

/** Rows of one column, passed as parameters and read as `${name}.value`. */
export const listed = (name: string, type: 'bigint' | 'text', values: readonly (number | string)[]): Sql => ({
  sqlite: () => sql`json_each(${JSON.stringify(values)}) ${text(name)}`,
  postgres: sql`unnest(${values}${text(`::${type}[]`)}) ${text(`${name} (value)`)}`,
});

type Cell = number | string | null;

/** Rows of several columns, passed as parameters and read as `name.column`. */
export function tabled(
  name: string,
  columns: Readonly<Record<string, 'bigint' | 'text'>>,
  rows: readonly (readonly Cell[])[],
): Sql {
  const names = Object.keys(columns);
  const cells = names.map((column, index) => `value ->> ${index} as ${column}`).join(', ');
  const casts = Object.values(columns).map((type) => `::${type}[]`);
  const last = `${casts.at(-1)}) ${name} (${names.join(', ')})`;
  return {
    sqlite: () => sql([`(select ${cells} from json_each(`, `)) ${name}`], JSON.stringify(rows)),
    postgres: () =>
      sql(
        ['unnest(', ...casts.slice(0, -1).map((cast) => `${cast}, `), last],
        ...names.map((_, index) => rows.map((row) => row[index] ?? null)),
      ),
  };
}

/** Inserts a row, given by the names of its columns. */
export const insertRow = (table: string, values: Readonly<Record<string, SqlValue>>): Sql => {
  const holes = Object.values(values).map((value) => sql`${value}`);
  return sql`${insertInto(table, Object.keys(toSnake(values)).join(', '))} ${joined(holes, ', ')}`;
};

/** Inserts rows. The select has a condition, because SQLite needs one before `on conflict`. */
export const insertRows = (
  table: string,
  columns: Readonly<Record<string, 'bigint' | 'text'>>,
  values: readonly (readonly Cell[])[],
): Sql =>
  sql`${insertInto(table, Object.keys(columns).join(', '))} n.* from ${tabled('n', columns, values)} where true`;

/**
 * Joins the row of `table` that `on` finds by an index, row by row. A limit forces PostgreSQL to use the index. With a
 * plain join it may read the whole table, because it has no statistics yet or plans for a list of any length (14 s for
 * 10,000 of 60,000 rows).
 */
export const lookupJoin = (table: string, alias: string, on: Sql): Sql => ({
  sqlite: sql`cross join ${text(`${table} ${alias} on`)} ${on}`,
  postgres: sql`cross join lateral (select * from ${text(`${table} ${alias}`)}
      where ${own(alias)} and ${on} limit 1) ${text(alias)}`,
});

/**
 * Deletes at most a given number of a project's rows: by their key in a file, by their physical addresses in
 * PostgreSQL.
 */
export const deleteSome = (
  table: string,
  key: string,
  { where, limit }: { where: Sql; limit: number },
): Sql => ({
  sqlite: sql`delete from ${text(`${table} where (${key}) in (select ${key} from ${table}`)} where ${where} limit ${limit})`,
  postgres: sql`delete from ${text(table)} where ${own()} and ctid = any(array(
      select ctid from ${text(table)} where ${own()} and ${where} limit ${limit}))`,
});

export const joined = (parts: readonly Sql[], comma: string): Sql =>
  sql(['', ...parts.map((_, index) => (index < parts.length - 1 ? comma : ''))], ...parts);

const isSql = (hole: Hole): hole is Sql =>
  typeof hole === 'object' && hole !== null && ('parts' in hole || 'sqlite' in hole);

/** Renders the same text for the same template, whatever its values are, so that the text is prepared only once. */
export function renderFor(engine: 'sqlite' | 'postgres', statement: Sql, projectId?: number) {
  const values: SqlValue[] = [];
  const mark = engine === 'sqlite' ? () => '?' : () => `$${values.length}`;
  let project: string | undefined;
  function fillHole(hole: Hole): string {
    if (isSql(hole)) return render(hole);
    if (hole !== PROJECT) {
      values.push(hole);
      return mark();
    }
    if (project === undefined) {
      values.push(projectId as number);
      project = mark();
    }
    return project;
  }
  function render(part: Sql): string {
    if ('sqlite' in part) {
      const choice = part[engine];
      return render(typeof choice === 'function' ? choice() : choice);
    }
    return part.parts
      .map((piece, index) => (index === 0 ? '' : fillHole(part.holes[index - 1] as Hole)) + piece)
      .join('');
  }
  return { text: render(statement), values };
}
