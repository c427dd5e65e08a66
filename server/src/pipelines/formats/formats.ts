/**
 * The door of formats: a file becomes rows. Nothing of a file is trusted: sizes, depths and counts are bounded.
 */

export { type Format, FormatSchema } from './format.ts';
export { FormatProblem } from './format-problem.ts';
export { findDefaultMapping, readRows, type SourceReading } from './read-rows.ts';
export type { Columns, ColumnValue, RowProblem, SourceRow } from './source-row.ts';
