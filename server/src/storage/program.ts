import { renderFor, type Sql, type SqlSession } from './sql-statement.ts';

/**
 * Control flow that is written once for both engines: a generator that yields statements and receives their rows, at once
 * from a file, later from PostgreSQL. docs/decisions/0019-one-program-two-dialects.md says why it is not an async function.
 */
export type Program<Result> = Generator<Step, Result, unknown>;

type Step = (session: ProgramSession) => unknown;

/** What a driver provides: answers, or promises of answers. */
export interface ProgramSession {
  rows(statement: Sql): unknown;
  run(statement: Sql): unknown;
  controlRows(statement: Sql): unknown;
}

export function* rows<Row>(statement: Sql): Program<Row[]> {
  return (yield (session) => session.rows(statement)) as Row[];
}

/** @returns the first row, if there is one */
export function* row<Row>(statement: Sql): Program<Row | undefined> {
  return (yield* rows<Row>(statement))[0];
}

/** Rows of the service's own tables, which the embedded store has in another file; `PROJECT` is the catalog's project. */
export function* controlRows<Row>(statement: Sql): Program<Row[]> {
  return (yield (session) => session.controlRows(statement)) as Row[];
}

/** @returns how many rows were changed */
export function* run(statement: Sql): Program<number> {
  return (yield (session) => session.run(statement)) as number;
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

/** Runs a program on a project's rows in PostgreSQL. */
export async function performOn<Result>(
  session: SqlSession,
  projectId: number,
  program: Program<Result>,
): Promise<Result> {
  const answer = (ask: 'rows' | 'run') => (statement: Sql) => {
    const { text, values } = renderFor('postgres', statement, projectId);
    return session[ask](text, values);
  };
  const ready = { rows: answer('rows'), run: answer('run'), controlRows: answer('rows') };
  let next = program.next();
  while (!next.done) next = program.next(await next.value(ready));
  return next.value;
}
