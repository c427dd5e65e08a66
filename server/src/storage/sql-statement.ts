export type SqlValue = string | number | bigint | boolean | null | Uint8Array | readonly unknown[];

/** Runs statements one at a time, each in its own transaction unless the session is one. Values are `$1`, `$2`, … */
export interface SqlSession {
  /** @throws not_ready when the database cannot be reached, storage_full when its disk is full, schema_moved for a write */
  rows<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** @returns how many rows were changed */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
}

/**
 * Statements that both engines run. A value fills a hole of the template and becomes a parameter. `own` and similar parts differ
 * by engine: a row in PostgreSQL belongs to a project, a file holds one project.
 */
export type Sql = Text | Difference;

type Hole = Sql | SqlValue | typeof PROJECT;
export type Engine = 'sqlite' | 'postgres';

class Text {
  readonly parts: readonly string[];
  readonly holes: readonly Hole[];
  constructor(parts: readonly string[], holes: readonly Hole[]) {
    this.parts = parts;
    this.holes = holes;
  }
}

/** A function where the values are prepared for the engine at some cost. */
type Choice = Sql | (() => Sql);

class Difference {
  readonly sqlite: Choice;
  readonly postgres: Choice;
  constructor({ sqlite, postgres }: Record<Engine, Choice>) {
    this.sqlite = sqlite;
    this.postgres = postgres;
  }
}

/** The project whose rows the statement reads or writes; only on PostgreSQL. */
export const PROJECT: unique symbol = Symbol('project');

export const sql = (parts: TemplateStringsArray, ...holes: Hole[]): Sql => new Text(parts, holes);

/** A literal part of a statement; never a caller's value. */
export const text = (part: string): Sql => new Text([part], []);

export const byEngine = (difference: Record<Engine, Choice>): Sql => new Difference(difference);

/** Whether a row belongs to the statement's project. */
export const own = (alias?: string): Sql =>
  new Difference({
    sqlite: text('true'),
    postgres: new Text([`${alias === undefined ? '' : `${alias}.`}project_id = `, ''], [PROJECT]),
  });

/** The columns of a key, for `on conflict`. */
export const ownKey = (columns: string): Sql =>
  new Difference({ sqlite: text(`(${columns})`), postgres: text(`(project_id, ${columns})`) });

/** `insert into … (…) select …`; `from` begins with the values of the columns, and has a condition when it names a table. */
export const insertInto = (table: string, columns: string, from: Sql): Sql =>
  new Difference({
    sqlite: sql`${text(`insert into ${table} (${columns}) select `)}${from}`,
    postgres: sql`${text(`insert into ${table} (project_id, ${columns}) select `)}${PROJECT}, ${from}`,
  });

/** `in` a list, passed as a parameter. */
export const among = (values: readonly (number | string)[]): Sql =>
  new Difference({
    sqlite: () => sql`in (select value from json_each(${JSON.stringify(values)}))`,
    postgres: sql`= any(${values})`,
  });

/** Rows passed as parameters, `${name}.value`. */
export const listed = (name: string, type: 'bigint' | 'text', values: readonly (number | string)[]): Sql =>
  new Difference({
    sqlite: () => sql`json_each(${JSON.stringify(values)}) ${text(name)}`,
    postgres: sql`unnest(${values}${text(`::${type}[]`)}) ${text(`${name} (value)`)}`,
  });

type Cell = number | string | null;

/** Rows of several columns, passed as parameters, `name.column`. */
export function tabled(
  name: string,
  columns: Readonly<Record<string, 'bigint' | 'text'>>,
  rows: readonly (readonly Cell[])[],
): Sql {
  const names = Object.keys(columns);
  const cells = names.map((column, at) => `value ->> ${at} as ${column}`).join(', ');
  const casts = Object.values(columns).map((type) => `::${type}[]`);
  const last = `${casts.at(-1)}) ${name} (${names.join(', ')})`;
  return new Difference({
    sqlite: () => new Text([`(select ${cells} from json_each(`, `)) ${name}`], [JSON.stringify(rows)]),
    postgres: () =>
      new Text(
        ['unnest(', ...casts.slice(0, -1).map((cast) => `${cast}, `), last],
        names.map((_, at) => rows.map((row) => row[at] ?? null)),
      ),
  });
}

/**
 * Joins the row of `table` that `on` finds by an index, row by row. PostgreSQL gets a limit for that: joined as it is, it
 * may read the whole table instead, when it has no statistics yet or plans for any list (14 s for 10,000 of 60,000 rows).
 */
export const lookupJoin = (table: string, alias: string, on: Sql): Sql =>
  new Difference({
    sqlite: sql`cross join ${text(`${table} ${alias} on`)} ${on}`,
    postgres: sql`cross join lateral (select * from ${text(`${table} ${alias}`)}
      where ${own(alias)} and ${on} limit 1) ${text(alias)}`,
  });

/** Deletes at most so many rows of a project: in a file by their key, in PostgreSQL by their addresses. */
export const deleteSome = (
  table: string,
  key: string,
  { where, limit }: { where: Sql; limit: number },
): Sql =>
  new Difference({
    sqlite: sql`delete from ${text(`${table} where (${key}) in (select ${key} from ${table}`)} where ${where} limit ${limit})`,
    postgres: sql`delete from ${text(table)} where ${own()} and ctid = any(array(
      select ctid from ${text(table)} where ${own()} and ${where} limit ${limit}))`,
  });

/** Joins parts with `comma` between them. */
export const joined = (parts: readonly Sql[], comma: string): Sql =>
  new Text(['', ...parts.map((_, at) => (at < parts.length - 1 ? comma : ''))], parts);

export interface RenderedStatement {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** The text is the same for the same template, whatever the values, so that it is prepared once. */
export function renderFor(engine: Engine, statement: Sql, projectId?: number): RenderedStatement {
  const values: SqlValue[] = [];
  const mark = engine === 'sqlite' ? () => '?' : () => `$${values.length}`;
  let project: string | undefined;
  function place(hole: Hole): string {
    if (hole instanceof Text || hole instanceof Difference) return render(hole);
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
    if (part instanceof Difference) {
      const choice = part[engine];
      return render(typeof choice === 'function' ? choice() : choice);
    }
    return part.parts
      .map((piece, at) => (at === 0 ? '' : place(part.holes[at - 1] as Hole)) + piece)
      .join('');
  }
  return { text: render(statement), values };
}
