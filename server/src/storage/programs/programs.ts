/**
 * The door of programs: statements that both engines run, programs of several statements, and the calls that are
 * derived from tables of programs (docs/decisions/0019-one-program-two-dialects.md).
 */

export {
  type Calls,
  callsOfProject,
  callsOfState,
  callsOfThreads,
  mapTable,
  type Programs,
} from './calls.ts';
export {
  ask,
  cell,
  column,
  controlRows,
  type Program,
  type ProgramSession,
  pairs,
  performNow,
  performOn,
  row,
  rows,
  run,
  SERVICE,
} from './program.ts';
export {
  among,
  byEngine,
  deleteSome,
  insertInto,
  insertRow,
  insertRows,
  joined,
  listed,
  lookupJoin,
  own,
  ownKey,
  PROJECT,
  renderFor,
  type Sql,
  type SqlSession,
  type SqlValue,
  sql,
  tabled,
  text,
} from './statement.ts';
