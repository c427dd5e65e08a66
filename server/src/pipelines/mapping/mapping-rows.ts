import type { SourceRow } from '../formats/formats.ts';
import { type ExpressionOptions, type Expressions, openExpressions } from './expressions/expressions.ts';
import type { CompiledMapping, RowOutcome } from './mapping.ts';

export interface RowMapper {
  /**
   * @returns an outcome for each row, in their order
   * @throws MappingProblem when the expressions run away in too many rows
   */
  mapRows(rows: readonly SourceRow[]): Promise<RowOutcome[]>;
  /** Ends the process of the expressions, where there is one. */
  close(): Promise<void>;
}

/** What goes to the process of the expressions at a time. */
const BATCH_ROWS = 200;
const BATCH_CHARACTERS = 1024 * 1024;

export function createRowMapper(mapping: CompiledMapping, options: ExpressionOptions = {}): RowMapper {
  if (mapping.expressions.length === 0) {
    return { mapRows: async (rows) => rows.map((row) => mapping.mapRow(row)), close: async () => {} };
  }
  const expressions = openExpressions(mapping.expressions, options);
  return {
    async mapRows(rows) {
      const outcomes: RowOutcome[] = [];
      for (const batch of cutBatches(rows)) outcomes.push(...(await mapBatch(mapping, batch, expressions)));
      return outcomes;
    },
    close: () => expressions.close(),
  };
}

async function mapBatch(
  mapping: CompiledMapping,
  rows: readonly SourceRow[],
  expressions: Expressions,
): Promise<RowOutcome[]> {
  const results = await expressions.evaluate(rows.map(({ source, values }) => source ?? values));
  return rows.map((row, at) => mapping.mapRow(row, results[at] ?? []));
}

function* cutBatches(rows: readonly SourceRow[]): Generator<SourceRow[]> {
  let batch: SourceRow[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    characters += weighRow(row);
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** @returns the characters of its names and values */
export function weighRow({ values }: SourceRow): number {
  let characters = 0;
  for (const name in values) {
    const value = values[name];
    characters += name.length;
    for (const text of typeof value === 'string' ? [value] : (value ?? [])) characters += text.length;
  }
  return characters;
}
