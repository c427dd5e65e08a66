import { listProductErrors } from '../../catalog/products/products.ts';
import { PRODUCTS_PER_REQUEST } from '../../catalog/products/schemas/schemas.ts';
import { shareText } from '../../storage/threads/threads.ts';
import { REPORT_LINES, type ReportLine } from '../../tasks/tasks.ts';
import {
  type CellProblem,
  isOfPairs,
  type MappedProduct,
  type PipelineMode,
  type RowOutcome,
} from '../mapping/mapping.ts';
import type { BatchCounts } from '../pipeline-definitions/pipeline-definitions.ts';

/** A batch of the products that a run has read. */
export interface RunBatch {
  /** In shared memory, in the form of an upload; absent if no row made a product. */
  readonly bytes: Uint8Array | undefined;
  readonly counts: BatchCounts;
  /** The rejected rows, with a line for each reason. */
  readonly report: readonly ReportLine[];
  /** The number of lines beyond the limit of a run's report. */
  readonly unreported: number;
}

/** In characters. A batch is parsed and written as a whole. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;
/** For links: about 10,000 pairs are staged as a whole. */
const LINK_CHARACTERS = 256 * 1024;
/** Rows without a product also fill a batch. The serving thread needs a few milliseconds for this many lines. */
const BATCH_LINES = 1_000;
/** A run has to report its progress from time to time, whatever its rows are. */
const BATCH_ROWS = 100_000;
/** A source may choose names of any length, and a report is in memory until its run ends. */
const COLUMN_CHARACTERS = 1_000;
const MESSAGE_CHARACTERS = 2_000;

const beginBatch = () => ({
  texts: [] as string[],
  characters: 0,
  counts: { rows: 0, products: 0, filtered: 0, rejected: 0 },
  report: [] as ReportLine[],
  unreported: 0,
});

interface BatchOptions {
  readonly mode: PipelineMode;
  /** Whether a rejected row ends the reading. */
  readonly stopsAtProblem: boolean;
}

/** Collects the products of rows, up to the size of one request. */
export function createBatches({ mode, stopsAtProblem }: BatchOptions) {
  const mostCharacters = isOfPairs(mode) ? LINK_CHARACTERS : BATCH_CHARACTERS;
  let batch = beginBatch();
  /** How many more lines the report of the run can take. */
  let room = REPORT_LINES;

  function isFull(): boolean {
    const { texts, characters, counts, report } = batch;
    if (stopsAtProblem && counts.rejected > 0) return true;
    if (report.length >= BATCH_LINES || counts.rows >= BATCH_ROWS) return true;
    return texts.length >= PRODUCTS_PER_REQUEST || characters >= mostCharacters;
  }

  function reject(
    row: number,
    problems: readonly CellProblem[],
    { file, identifier }: { readonly file: string | undefined; readonly identifier: unknown },
  ): void {
    const reported = problems.slice(0, room);
    room -= reported.length;
    batch.counts.rejected += 1;
    batch.unreported += problems.length - reported.length;
    for (const { field, column, reason } of reported)
      batch.report.push({
        ...(typeof identifier === 'string' && { identifier: identifier.slice(0, 255) }),
        row,
        ...(column !== undefined && { column: column.slice(0, COLUMN_CHARACTERS) }),
        code: 'row_rejected',
        message: `${file === undefined ? '' : `${file}: `}${field} ${reason}`.slice(0, MESSAGE_CHARACTERS),
      });
  }

  return {
    /**
     * @param file the name for the report, if there are several files
     * @returns whether the batch is full, so that the caller should take it
     */
    add(outcome: RowOutcome, file: string | undefined): boolean {
      batch.counts.rows += 1;
      const { problems, product } = judgeRow(outcome, mode);
      if (problems !== undefined) reject(outcome.row, problems, { file, identifier: product?.identifier });
      else if (product === undefined) batch.counts.filtered += 1;
      else {
        const text = JSON.stringify(toSent(product, mode));
        batch.texts.push(text);
        batch.characters += text.length;
        batch.counts.products += 1;
      }
      return isFull();
    },

    /** @returns the batch, and begins a new one */
    take(): RunBatch {
      const { texts, counts, report, unreported } = batch;
      batch = beginBatch();
      const bytes = texts.length === 0 ? undefined : shareText(`[${texts.join(',')}]`);
      return { bytes, counts, report, unreported };
    },
  };
}

/**
 * The mapping has checked what it mapped. For deletes and links that is everything. Products that a source contains in
 * the form of an upload are not checked yet.
 * @returns the product of a row, and the problems that the mapping or the catalog found; neither if the filter excludes
 * the row
 */
export function judgeRow(
  outcome: RowOutcome,
  mode: PipelineMode,
): { product?: MappedProduct; problems?: readonly CellProblem[] } {
  if (!('product' in outcome)) return 'problems' in outcome ? { problems: outcome.problems } : {};
  const { product } = outcome;
  if (mode === 'delete' || isOfPairs(mode)) return { product };
  const errors = listProductErrors(product, mode === 'partial' ? 'patches' : 'products');
  if (errors.length === 0) return { product };
  return { product, problems: errors.map((reason) => ({ field: 'product', reason })) };
}

/** @returns the form of a product in an upload */
export function toSent(product: MappedProduct, mode: PipelineMode): object | string {
  if (mode === 'delete') return product.identifier;
  return isOfPairs(mode) ? { source: product.identifier, targets: product.targets ?? [] } : product;
}
