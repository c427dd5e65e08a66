import { listProductErrors, PRODUCTS_PER_REQUEST } from '../../catalog/catalog.ts';
import { REPORT_LINES, type ReportLine } from '../../tasks/tasks.ts';
import type { BatchCounts } from '../definitions/definitions.ts';
import type { SourceRow } from '../formats/formats.ts';
import type { CellProblem, MappedProduct, PipelineMode, RowOutcome } from '../mapping/mapping.ts';

/** What a run has read, a batch at a time. */
export interface RunBatch {
  /** In shared memory, as an upload would send it; absent when no row made a product. */
  readonly bytes: Uint8Array | undefined;
  readonly counts: BatchCounts;
  /** Rejected rows, a line for each reason. */
  readonly report: readonly ReportLine[];
  /** Lines beyond those that the report of a run holds. */
  readonly unreported: number;
}

/** In characters; a batch is parsed and written at once. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;
/** Of links: 10,000 pairs or so are staged at once. */
const LINK_CHARACTERS = 256 * 1024;
/** Rows that make no product make a batch too: the thread that serves takes a few milliseconds for as many lines. */
const BATCH_LINES = 1_000;
/** Sooner or later a run has to say how far it is, whatever the rows are. */
const BATCH_ROWS = 100_000;
/** Names that a source has chosen may be of any length, and a report is kept in memory until its run ends. */
const COLUMN_CHARACTERS = 1_000;
const MESSAGE_CHARACTERS = 2_000;
const countNothing = () => ({ rows: 0, products: 0, filtered: 0, rejected: 0 });

/** Gathers what rows make, until it is as much as one request may hold. */
export class BatchBuilder {
  private readonly mode: PipelineMode;
  private readonly stopsAtProblem: boolean;
  private texts: string[] = [];
  private characters = 0;
  private counts = countNothing();
  private report: ReportLine[] = [];
  private unreported = 0;
  /** What the report of the run still has room for. */
  private room = REPORT_LINES;

  /** `stopsAtProblem`: a rejected row is to be heard of at once. */
  constructor({ mode, stopsAtProblem }: { mode: PipelineMode; stopsAtProblem: boolean }) {
    this.mode = mode;
    this.stopsAtProblem = stopsAtProblem;
  }

  get isFull(): boolean {
    if (this.stopsAtProblem && this.counts.rejected > 0) return true;
    if (this.report.length >= BATCH_LINES || this.counts.rows >= BATCH_ROWS) return true;
    return (
      this.texts.length >= PRODUCTS_PER_REQUEST ||
      this.characters >= (this.mode === 'links' ? LINK_CHARACTERS : BATCH_CHARACTERS)
    );
  }

  /** @param file named in the report where there are several */
  add(outcome: RowOutcome, file: string | undefined): void {
    this.counts.rows += 1;
    if ('isFiltered' in outcome) this.counts.filtered += 1;
    else if ('problems' in outcome) this.reject(outcome.row, outcome.problems, { file });
    else this.addProduct(outcome.row, outcome.product, file);
  }

  /** @returns what was gathered, and begins anew */
  take(): RunBatch {
    const { texts, counts, report, unreported } = this;
    this.texts = [];
    this.characters = 0;
    this.counts = countNothing();
    this.report = [];
    this.unreported = 0;
    const bytes = texts.length === 0 ? undefined : shareText(`[${texts.join(',')}]`);
    return { bytes, counts, report, unreported };
  }

  /** The mapping has checked what it mapped; products that come as they are have not been looked at. */
  private addProduct(row: number, product: MappedProduct, file: string | undefined): void {
    const errors = listErrors(product, this.mode);
    if (errors.length > 0) {
      const problems = errors.map((reason) => ({ field: 'product', reason }));
      this.reject(row, problems, { file, identifier: product.identifier });
      return;
    }
    const text = JSON.stringify(toSent(product, this.mode));
    this.texts.push(text);
    this.characters += text.length;
    this.counts.products += 1;
  }

  private reject(
    row: number,
    problems: readonly CellProblem[],
    { file, identifier }: { file: string | undefined; identifier?: unknown },
  ): void {
    this.counts.rejected += 1;
    const reported = problems.slice(0, this.room);
    this.room -= reported.length;
    this.unreported += problems.length - reported.length;
    for (const { field, column, reason } of reported) {
      const place = [file === undefined ? [] : `${file}:`, field].flat().join(' ');
      this.report.push({
        ...(typeof identifier === 'string' && { identifier: identifier.slice(0, 255) }),
        row,
        ...(column !== undefined && { column: column.slice(0, COLUMN_CHARACTERS) }),
        code: 'row_rejected',
        message: `${place} ${reason}`.slice(0, MESSAGE_CHARACTERS),
      });
    }
  }
}

/** @returns what the catalog would refuse; of deletes and links the mapping has checked all there is */
export function listErrors(product: MappedProduct, mode: PipelineMode): readonly string[] {
  if (mode === 'delete' || mode === 'links') return [];
  return listProductErrors(product, mode === 'partial' ? 'patches' : 'products');
}

/** @returns what is written of a product */
export function toSent(product: MappedProduct, mode: PipelineMode): object | string {
  if (mode === 'delete') return product.identifier;
  return mode === 'links' ? { source: product.identifier, targets: product.targets ?? [] } : product;
}

/** A product that the source has in the shape of an upload. */
export function takeNative(row: SourceRow): RowOutcome {
  const { number, source, problems = [] } = row;
  if (problems.length > 0)
    return { row: number, problems: problems.map(({ message }) => ({ field: 'row', reason: message })) };
  const { identifier } = source as { identifier?: unknown };
  if (typeof identifier !== 'string' || identifier === '')
    return { row: number, problems: [{ field: 'identifier', reason: 'is missing' }] };
  return { row: number, product: source as { identifier: string } };
}

/** @returns UTF-8 in memory that another thread reads without a copy */
function shareText(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.from(new SharedArrayBuffer(length));
  bytes.write(text);
  return new Uint8Array(bytes.buffer, 0, length);
}
