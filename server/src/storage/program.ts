import { toSnake } from './database.ts';

export type SqlValue = string | number | bigint | boolean | null | Uint8Array | readonly unknown[];

/** Runs statements one at a time, each in its own transaction unless the session is one. Values are `$1`, `$2`, … */
export interface SqlSession {
  /** @throws not_ready when the database cannot be reached, storage_full when its disk is full, schema_moved for a write */
  rows<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** @returns how many rows were changed */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
}

/**
 * Statements that both engines run. A value fills a hole of the template and becomes a parameter. `own` and
 * similar parts differ by engine: a row in PostgreSQL belongs to a project, a file holds one project.
 */
export type Sql = { readonly parts: readonly string[]; readonly holes: readonly Hole[] } | Difference;

type Hole = Sql | SqlValue | typeof PROJECT;

/** A function if preparing the values for the engine costs something. */
type Choice = Sql | (() => Sql);

interface Difference {
  readonly sqlite: Choice;
  readonly postgres: Choice;
}

/** The project whose rows the statement reads or writes; only on PostgreSQL. */
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

/** The beginning of `insert into … (…) select …`: the values of the columns follow, with a condition if they are of a table. */
export const insertInto = (table: string, columns: string): Sql => ({
  sqlite: text(`insert into ${table} (${columns}) select`),
  postgres: sql`${text(`insert into ${table} (project_id, ${columns}) select`)} ${PROJECT},`,
});

/** `in` a list that is passed as a parameter. */
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
  const cells = names.map((column, at) => `value ->> ${at} as ${column}`).join(', ');
  const casts = Object.values(columns).map((type) => `::${type}[]`);
  const last = `${casts.at(-1)}) ${name} (${names.join(', ')})`;
  return {
    sqlite: () => sql([`(select ${cells} from json_each(`, `)) ${name}`], JSON.stringify(rows)),
    postgres: () =>
      sql(
        ['unnest(', ...casts.slice(0, -1).map((cast) => `${cast}, `), last],
        ...names.map((_, at) => rows.map((row) => row[at] ?? null)),
      ),
  };
}

/** Inserts a row, given by the names of its columns. */
export const insertRow = (table: string, values: Readonly<Record<string, SqlValue>>): Sql => {
  const holes = Object.values(values).map((value) => sql`${value}`);
  return sql`${insertInto(table, Object.keys(toSnake(values)).join(', '))} ${joined(holes, ', ')}`;
};

/** Inserts rows; has a condition, because `on conflict` may follow. */
export const insertRows = (
  table: string,
  columns: Readonly<Record<string, 'bigint' | 'text'>>,
  values: readonly (readonly Cell[])[],
): Sql =>
  sql`${insertInto(table, Object.keys(columns).join(', '))} n.* from ${tabled('n', columns, values)} where true`;

/**
 * Joins the row of `table` that `on` finds by an index, row by row. A limit forces PostgreSQL to do so: with a plain join it
 * may read the whole table instead, when it has no statistics yet or plans for any list (14 s for 10,000 of 60,000 rows).
 */
export const lookupJoin = (table: string, alias: string, on: Sql): Sql => ({
  sqlite: sql`cross join ${text(`${table} ${alias} on`)} ${on}`,
  postgres: sql`cross join lateral (select * from ${text(`${table} ${alias}`)}
      where ${own(alias)} and ${on} limit 1) ${text(alias)}`,
});

/** Deletes at most a given number of a project's rows: in a file by their key, in PostgreSQL by their addresses. */
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
  sql(['', ...parts.map((_, at) => (at < parts.length - 1 ? comma : ''))], ...parts);

const isSql = (hole: Hole): hole is Sql =>
  typeof hole === 'object' && hole !== null && ('parts' in hole || 'sqlite' in hole);

/** Renders the same text for the same template, whatever the values, so that it is prepared once. */
export function renderFor(engine: 'sqlite' | 'postgres', statement: Sql, projectId?: number) {
  const values: SqlValue[] = [];
  const mark = engine === 'sqlite' ? () => '?' : () => `$${values.length}`;
  let project: string | undefined;
  function place(hole: Hole): string {
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
      .map((piece, at) => (at === 0 ? '' : place(part.holes[at - 1] as Hole)) + piece)
      .join('');
  }
  return { text: render(statement), values };
}

/**
 * Control flow that is written once for both engines: a generator that yields statements and receives their rows, immediately
 * from a file, later from PostgreSQL. docs/decisions/0019-one-program-two-dialects.md says why it is not an async function.
 */
export type Program<Result> = Generator<(session: ProgramSession) => unknown, Result, unknown>;

/** What a driver provides: answers, or promises of answers. */
export interface ProgramSession {
  rows(statement: Sql): unknown;
  run(statement: Sql): unknown;
  controlRows(statement: Sql): unknown;
}

/** A statement, or its template: rows`select …`. */
type Given = [statement: Sql] | Parameters<typeof sql>;

const toSql = (given: Given): Sql =>
  Array.isArray(given[0]) ? sql(...(given as Parameters<typeof sql>)) : (given[0] as Sql);

export function* rows<Row>(...given: Given): Program<Row[]> {
  return (yield (session) => session.rows(toSql(given))) as Row[];
}

/** @returns the first row, if there is one */
export function* row<Row>(...given: Given): Program<Row | undefined> {
  return (yield* rows<Row>(...given))[0];
}

/** @returns the only value of each row */
export function* column<Value>(...given: Given): Program<Value[]> {
  return (yield* rows<Record<string, Value>>(...given)).map((row) => Object.values(row)[0] as Value);
}

/** @returns the only value of the first row, if there is one */
export function* cell<Value>(...given: Given): Program<Value | undefined> {
  return (yield* column<Value>(...given))[0];
}

/** @returns the second value of each row by the first */
export function* pairs<Key, Value>(...given: Given): Program<Map<Key, Value>> {
  const found = yield* rows<Record<string, unknown>>(...given);
  return new Map(found.map((row) => Object.values(row) as [Key, Value]));
}

/** Rows of the service's own tables, which the embedded store has in another file; `PROJECT` is the catalog's project. */
export function* controlRows<Row>(...given: Given): Program<Row[]> {
  return (yield (session) => session.controlRows(toSql(given))) as Row[];
}

export function* run(...given: Given): Program<number> {
  return (yield (session) => session.run(toSql(given))) as number;
}

/** Runs work that each engine does in its own way, for example in bulk. */
export function* ask<Result>(work: () => Result | Promise<Result>): Program<Result> {
  return (yield () => work()) as Result;
}

/** Runs a program without yielding to the event loop, so that no other work runs inside an open transaction. */
export function performNow<Result>(program: Program<Result>, session: ProgramSession): Result {
  let next = program.next();
  while (!next.done) {
    const answer = next.value(session);
    if (answer instanceof Promise) throw new Error('a program on a file must not wait');
    next = program.next(answer);
  }
  return next.value;
}

/** Runs a program on a project's rows in PostgreSQL; an empty statement, of what only the other engine does, asks nothing. */
export async function performOn<Result>(session: SqlSession, projectId: number, program: Program<Result>) {
  const answer = (ask: 'rows' | 'run') => (statement: Sql) => {
    const { text, values } = renderFor('postgres', statement, projectId);
    if (text === '') return ask === 'rows' ? [] : 0;
    return session[ask](text, values);
  };
  const ready = { rows: answer('rows'), run: answer('run'), controlRows: answer('rows') };
  let next = program.next();
  while (!next.done) next = program.next(await next.value(ready));
  return next.value;
}

/**
 * A table of operations is an interface: a method for each, from its input to its result. Its programs and the calls
 * that other rooms make are derived from it by type; a call finds its program by name, in this thread or in another.
 */

/** A program for each operation. */
export type Programs<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? (...input: Input) => Program<Result>
    : never;
};

/** A call for each operation. `Given`: arguments that precede its input, for example the project. */
export type Calls<Table, Given extends unknown[] = []> = {
  [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? (...input: [...Given, ...Input]) => Promise<Result>
    : never;
};

type OfProject<Table> = Calls<Table, [projectId: number]>;
type AnyProgram = (...input: never[]) => Program<unknown>;

/** Calls on an open state. */
export const callsOfState = <Table>(
  programs: Programs<Table>,
  perform: <Result>(program: Program<Result>) => Promise<Result>,
): Calls<Table> =>
  mapTable(
    programs,
    (program: AnyProgram) =>
      (...input: never[]) =>
        perform(program(...input)),
  ) as Calls<Table>;

/** Calls on the catalogs of projects. */
export const callsOfProject = <Table>(
  programs: Programs<Table>,
  perform: <Result>(projectId: number, program: Program<Result>) => Promise<Result>,
): OfProject<Table> =>
  mapTable(
    programs,
    (program: AnyProgram) =>
      (projectId: number, ...input: never[]) =>
        perform(projectId, program(...input)),
  ) as OfProject<Table>;

/** Calls on threads, which serve the operations by the same names. `names`: any object with those keys. */
export const callsOfThreads = <Table>(
  names: { readonly [Name in keyof Table]: unknown },
  call: (name: keyof Table & string, projectId: number, input: never) => Promise<unknown>,
): OfProject<Table> =>
  mapTable(
    names,
    (_: unknown, name) => (projectId: number, input: never) => call(name as never, projectId, input),
  ) as OfProject<Table>;

/** @returns an object with the keys of a table, each with what `make` returns for its entry */
export const mapTable = <Entry, Made>(
  table: object,
  make: (entry: Entry, name: string) => Made,
): Record<string, Made> =>
  Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, make(entry as Entry, name)]));
