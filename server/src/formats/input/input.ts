/**
 * The door of input: what all input formats share. An input format turns a file into rows. It trusts nothing in a file:
 * sizes, depths and counts are bounded.
 */
export { decodeText, encoding } from './decode-text.ts';
export {
  type DefaultMapping,
  defineInputFormat,
  type FormatReading,
  headerRowOption,
  type InputFormat,
  languageOption,
} from './input-format.ts';
export { writePlainNumber } from './plain-number.ts';
export {
  FormatProblem,
  fieldTooLarge,
  LIMITS,
  RowSize,
  rowTooLarge,
  tooDeep,
  tooLarge,
} from './reading-limits.ts';
export { ReadingNotes, reportDamage } from './reading-notes.ts';
export {
  type Columns,
  type ColumnValue,
  cellOf,
  createColumns,
  isSelector,
  listColumns,
  makePlain,
  type RowCells,
  type RowProblem,
  RowValues,
  type SourceRow,
} from './source-row.ts';
export { nameByPosition as nameByPlace, openTable } from './table-header.ts';
export {
  type ChunkParser,
  copyText,
  cutChunks,
  parseText,
  readAfterPeek,
  type TextStream,
} from './text-chunks.ts';
