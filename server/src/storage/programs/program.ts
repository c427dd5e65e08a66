import { renderFor, type Sql, type SqlSession, sql } from './statement.ts';

/**
 * Control flow that both engines share: a generator that yields statements and receives their rows. A file returns them
 * immediately, PostgreSQL later. docs/decisions/0019-one-program-two-dialects.md says why it is not an async function.
 */
export type Program<Result> = Generator<(session: ProgramSession) => unknown, Result, unknown>;

/** What a driver returns: answers, or promises of answers. */
export interface ProgramSession {
  rows(statement: Sql): unknown;
  run(statement: Sql): unknown;
  controlRows(statement: Sql): unknown;
}

/** A statement, or its template: rows`select …`. */
type Given = [statement: Sql] | Parameters<typeof sql>;

const toSql = (statement: Given): Sql =>
  Array.isArray(statement[0]) ? sql(...(statement as Parameters<typeof sql>)) : (statement[0] as Sql);

export function* rows<Row>(...statement: Given): Program<Row[]> {
  return (yield (session) => session.rows(toSql(statement))) as Row[];
}

/** @returns the first row, if there is one */
export function* row<Row>(...statement: Given): Program<Row | undefined> {
  return (yield* rows<Row>(...statement))[0];
}

/** @returns the only value of each row */
export function* column<Value>(...statement: Given): Program<Value[]> {
  return (yield* rows<Record<string, Value>>(...statement)).map((row) => Object.values(row)[0] as Value);
}

/** @returns the only value of the first row, if there is one */
export function* cell<Value>(...statement: Given): Program<Value | undefined> {
  return (yield* column<Value>(...statement))[0];
}

/** @returns the second value of each row by the first */
export function* pairs<Key, Value>(...statement: Given): Program<Map<Key, Value>> {
  const read = yield* rows<Record<string, unknown>>(...statement);
  return new Map(read.map((row) => Object.values(row) as [Key, Value]));
}

/**
 * Reads rows of the service's own tables, which the embedded store keeps in another file. `PROJECT` is the catalog's
 * project.
 */
export function* controlRows<Row>(...statement: Given): Program<Row[]> {
  return (yield (session) => session.controlRows(toSql(statement))) as Row[];
}

export function* run(...statement: Given): Program<number> {
  return (yield (session) => session.run(toSql(statement))) as number;
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

/**
 * Runs a program on a project's rows in PostgreSQL. A statement that only the other engine needs is empty and is not
 * sent.
 */
export async function performOn<Result>(session: SqlSession, projectId: number, program: Program<Result>) {
  const answer = (method: 'rows' | 'run') => (statement: Sql) => {
    const { text, values } = renderFor('postgres', statement, projectId);
    if (text === '') return method === 'rows' ? [] : 0;
    return session[method](text, values);
  };
  const ready = { rows: answer('rows'), run: answer('run'), controlRows: answer('rows') };
  let next = program.next();
  while (!next.done) next = program.next(await next.value(ready));
  return next.value;
}

/** Replaces the id of a project in statements without one. Ids of projects begin at 1. */
export const SERVICE = 0;
