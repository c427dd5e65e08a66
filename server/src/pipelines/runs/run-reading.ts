import { ServiceError } from '../../kernel/errors.ts';
import type { TriedDefinition, UploadedFile } from '../definitions/definitions.ts';
import type { Format, SourceRow } from '../formats/formats.ts';
import {
  FormatProblem,
  findDefaultMapping,
  getFormat,
  readRows,
  type SourceReading,
} from '../formats/formats.ts';
import {
  type CompiledMapping,
  compileMapping,
  createRowMapper,
  type Mapping,
  MappingProblem,
  type PipelineMode,
  type RowOutcome,
} from '../mapping/mapping.ts';
import {
  type OpenedSource,
  type Source,
  type SourceFile,
  SourceProblem,
  type SourceStamp,
  type Sources,
} from '../sources/sources.ts';
import { BatchBuilder, type RunBatch, takeNative } from './run-batch.ts';

/** What a thread reads for a run. */
export interface ReadOrder {
  readonly projectId: number;
  readonly source: Source;
  readonly format: Format;
  readonly mapping: Mapping | undefined;
  readonly mode: PipelineMode;
  /** Of the last run that ended well. */
  readonly last: SourceStamp | undefined;
  readonly upload: UploadedFile | undefined;
  /** A rejected row ends the reading. */
  readonly stopsAtProblem: boolean;
}

export interface ReadingParts {
  readonly sources: Sources;
  readonly tempDir: string;
  /** A piece of a file that was sent in. */
  readPiece(projectId: number, name: string): Promise<Uint8Array>;
}

/** One step of a reading, in its order. */
export type ReadEvent =
  | { readonly kind: 'nothing-new' }
  | { readonly kind: 'opened'; readonly files: readonly string[] }
  | { readonly kind: 'batch'; readonly batch: RunBatch; readonly percent: number | undefined }
  | {
      readonly kind: 'end';
      readonly stamp: SourceStamp | undefined;
      readonly found: Readonly<Record<string, string>>;
      /** Read by the mapping and in no row. */
      readonly missing: readonly string[];
    };

/**
 * Reads a source to its end, in steps that wait until they are asked for.
 * @throws source_unreadable, format_unreadable, mapping_unfit
 */
export async function* readSource(parts: ReadingParts, order: ReadOrder): AsyncGenerator<ReadEvent> {
  let opened: OpenedSource | undefined;
  try {
    const upload = order.upload && uploadedSource(parts, order.projectId, order.upload);
    opened = await parts.sources.open(order.source, { ...order, upload });
    if (opened === undefined) {
      yield { kind: 'nothing-new' };
      return;
    }
    yield { kind: 'opened', files: opened.files.map(({ name }) => name) };
    yield* readFiles(parts, order, opened);
  } catch (error) {
    throw translateProblem(error);
  } finally {
    await opened?.close();
  }
}

/** @throws SourceProblem, FormatProblem, MappingProblem */
async function* readFiles(
  parts: ReadingParts,
  order: ReadOrder,
  { files, stamp }: OpenedSource,
): AsyncGenerator<ReadEvent> {
  const plan = openPlan(order);
  const meter = new ByteMeter(files);
  const batch = new BatchBuilder(order);
  const readings: SourceReading[] = [];
  try {
    for (const file of files) {
      const reading = openReading(parts, order, { ...file, bytes: meter.count(file.bytes) });
      readings.push(reading);
      const label = files.length > 1 ? file.name : undefined;
      for await (const full of gather(mapFile(reading, order, { plan, label }), batch, label))
        yield { kind: 'batch', batch: full, percent: meter.percent };
    }
    yield { kind: 'batch', batch: batch.take(), percent: meter.percent };
    const seen = new Set(readings.flatMap(({ columns }) => columns));
    const missing = plan.columns.filter((name) => !seen.has(name));
    yield { kind: 'end', stamp, found: readings[0]?.found ?? {}, missing };
  } finally {
    await plan.close();
  }
}

/** @returns batches as they become full */
async function* gather(
  outcomes: AsyncIterable<RowOutcome>,
  batch: BatchBuilder,
  label: string | undefined,
): AsyncGenerator<RunBatch> {
  for await (const outcome of outcomes) {
    batch.add(outcome, label);
    if (batch.isFull) yield batch.take();
  }
}

/** @param label  names the file where there are several */
async function* mapFile(
  reading: SourceReading,
  { format }: ReadOrder,
  { plan, label }: { readonly plan: MappingPlan; readonly label: string | undefined },
): AsyncGenerator<RowOutcome> {
  let isChecked = getFormat(format.type).isTable !== true;
  for await (const rows of reading) {
    if (!isChecked) plan.checkColumns(reading.columns, label);
    isChecked = true;
    yield* await plan.mapRows(rows);
  }
}

export function openReading(
  { sources, tempDir }: ReadingParts,
  { source, format }: Pick<ReadOrder, 'source' | 'format'>,
  file: SourceFile,
): SourceReading {
  return readRows(format, sources.unpack(file, source), { tempDir, charset: file.charset });
}

export interface MappingPlan {
  /** What the mapping reads by name. */
  readonly columns: readonly string[];
  readonly hasExpressions: boolean;
  mapRows(rows: readonly SourceRow[]): Promise<readonly RowOutcome[]>;
  /** @throws MappingProblem for a column that is not there. @param file  named in the problem */
  checkColumns(columns: readonly string[], file: string | undefined): void;
  close(): Promise<void>;
}

/** @throws MappingProblem when the mapping cannot be used, or there is none and the format needs one */
export function openPlan({ format, mapping, mode }: Omit<TriedDefinition, 'source'>): MappingPlan {
  if (getFormat(format.type).mapping === 'none')
    return {
      columns: [],
      hasExpressions: false,
      mapRows: async (rows) => rows.map(takeNative),
      checkColumns() {},
      close: async () => {},
    };
  const chosen = mapping ?? (findDefaultMapping(format.type) as Mapping | undefined);
  if (chosen === undefined) throw new MappingProblem(`the format ${format.type} needs a mapping`);
  const compiled = compileMapping(chosen, mode);
  const mapper = createRowMapper(compiled);
  return {
    columns: compiled.columns,
    hasExpressions: compiled.expressions.length > 0,
    mapRows: (rows) => mapper.mapRows(rows),
    checkColumns(columns, file = 'the source') {
      if (mapping !== undefined) refuseMissing(compiled, columns, file);
    },
    close: () => mapper.close(),
  };
}

function refuseMissing({ columns: wanted }: CompiledMapping, columns: readonly string[], file: string): void {
  const missing = wanted.filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  const present = columns.slice(0, 50).map((name) => JSON.stringify(name));
  throw new MappingProblem(`${file} has no column ${names}; it has ${present.join(', ')}`);
}

function uploadedSource(
  { readPiece }: ReadingParts,
  projectId: number,
  { pieces, ...file }: UploadedFile,
): SourceFile {
  async function* read() {
    for (const piece of pieces) yield await readPiece(projectId, piece);
  }
  return { ...file, bytes: read() };
}

/** How far the reading of all files has come, where their senders said how large they are. */
class ByteMeter {
  private read = 0;
  private readonly total: number | undefined;

  constructor(files: readonly SourceFile[]) {
    const sizes = files.map(({ sizeBytes }) => sizeBytes);
    this.total = sizes.includes(undefined)
      ? undefined
      : sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  }

  get percent(): number | undefined {
    return this.total === undefined || this.total === 0 ? undefined : (100 * this.read) / this.total;
  }

  async *count(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      this.read += chunk.length;
      yield chunk;
    }
  }
}

/** @returns the refusal that says it to the owner of the pipeline; anything else as it is */
export function translateProblem(error: unknown): unknown {
  const details = [(error as Error).message];
  if (error instanceof SourceProblem) return new ServiceError('source_unreadable', { details, cause: error });
  if (error instanceof FormatProblem) return new ServiceError('format_unreadable', { details, cause: error });
  if (error instanceof MappingProblem) return new ServiceError('mapping_unfit', { details, cause: error });
  return error;
}
