import { findDefaultMapping, getInputFormat, readRows, type SourceReading } from '../../formats/formats.ts';
import { FormatProblem, type SourceRow } from '../../formats/input/input.ts';
import { ServiceError } from '../../kernel/errors.ts';
import {
  compileMapping,
  createRowMapper,
  type Mapping,
  MappingProblem,
  type RowMapper,
  type RowOutcome,
} from '../mapping/mapping.ts';
import { type FoundList, findUnsplit } from '../mapping/mapping-suggestions/mapping-suggestions.ts';
import type { TriedDefinition, UploadedFile } from '../pipeline-definitions/pipeline-definitions.ts';
import {
  type OpenedSource,
  type SourceFile,
  SourceProblem,
  type SourceStamp,
  type Sources,
} from '../sources/sources.ts';
import { createBatches, type RunBatch } from './run-batches.ts';

const SAMPLE_ROWS = 1_000;

/** What a thread reads for a run. */
export interface ReadOrder extends TriedDefinition {
  readonly projectId: number;
  /** The stamp of the last successful run. */
  readonly last: SourceStamp | undefined;
  readonly upload: UploadedFile | undefined;
  /** Whether a rejected row ends the reading. */
  readonly stopsAtProblem: boolean;
}

export interface ReadingParts {
  readonly sources: Sources;
  readonly tempDir: string;
  /** Reads a piece of an uploaded file. */
  readPiece(projectId: number, name: string): Promise<Uint8Array>;
}

/** One step of a reading. */
export type ReadEvent =
  | { readonly kind: 'nothing-new' }
  | { readonly kind: 'opened'; readonly files: readonly string[] }
  | { readonly kind: 'batch'; readonly batch: RunBatch; readonly percent: number | undefined }
  | {
      readonly kind: 'end';
      readonly stamp: SourceStamp | undefined;
      readonly found: Readonly<Record<string, string>>;
      /** Columns that the mapping reads and that no row has. */
      readonly missing: readonly string[];
      /** Paths of elements that made no value, with their counts. */
      readonly unread: ReadonlyMap<string, number>;
      /** Columns that look like lists, but are mapped as single link targets. */
      readonly unsplit: readonly FoundList[];
    };

/**
 * Reads a source to its end. Each step waits until the caller asks for the next one.
 * @throws source_unreadable, format_unreadable, mapping_unfit
 */
export async function* readSource(parts: ReadingParts, order: ReadOrder): AsyncGenerator<ReadEvent> {
  try {
    const upload = order.upload && uploadedSource(parts, order.projectId, order.upload);
    await using opened = await parts.sources.open(order.source, { ...order, upload });
    if (opened === undefined) return yield { kind: 'nothing-new' };
    yield { kind: 'opened', files: opened.files.map(({ name }) => name) };
    yield* readFiles(parts, order, opened);
  } catch (error) {
    throw translateProblem(error);
  }
}

/** @throws SourceProblem, FormatProblem, MappingProblem */
async function* readFiles(
  parts: ReadingParts,
  order: ReadOrder,
  { files, stamp }: OpenedSource,
): AsyncGenerator<ReadEvent> {
  await using mapper = openMapper(order);
  const meter = createMeter(files);
  const batch = createBatches(order);
  const readings: SourceReading[] = [];
  /** For links: the first rows, which show whether their targets are lists. */
  const sample: SourceRow[] = [];
  for (const file of files) {
    const reading = openReading(parts, order, { ...file, bytes: meter.count(file.bytes) });
    readings.push(reading);
    const label = files.length > 1 ? file.name : undefined;
    for await (const outcomes of mapFile(reading, order, { mapper, label, sample }))
      for (const full of fillBatches(batch, outcomes, label))
        yield { kind: 'batch', batch: full, percent: meter.percent() };
  }
  yield { kind: 'batch', batch: batch.take(), percent: meter.percent() };
  const presentColumns = new Set(readings.flatMap(({ columns }) => columns));
  const missing = mapper.columns.filter((name) => !presentColumns.has(name));
  const unread = sumUnread(readings);
  const unsplit = findUnsplit(order.mapping, sample, []);
  yield { kind: 'end', stamp, found: readings[0]?.found ?? {}, missing, unread, unsplit };
}

function sumUnread(readings: readonly SourceReading[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [path, count] of readings.flatMap(({ unread }) => [...unread]))
    sums.set(path, (sums.get(path) ?? 0) + count);
  return sums;
}

/** @returns a text for people about an element that made no value */
export const describeUnread = (path: string, count: number): string =>
  `${path} makes no value (${count.toLocaleString('en')} times)`;

/** @returns the batches that the rows fill */
function* fillBatches(
  batch: ReturnType<typeof createBatches>,
  outcomes: readonly RowOutcome[],
  label: string | undefined,
): Generator<RunBatch> {
  for (const outcome of outcomes) if (batch.add(outcome, label)) yield batch.take();
}

/** @param label names the file if there are several files */
async function* mapFile(
  reading: SourceReading,
  { format, mapping, mode }: ReadOrder,
  {
    mapper,
    label = 'the source',
    sample,
  }: { mapper: RowMapper; label: string | undefined; sample: SourceRow[] },
): AsyncGenerator<readonly RowOutcome[]> {
  // A default mapping also fits files that have only some of its columns.
  let isChecked = mapping === undefined || getInputFormat(format.type).isTable !== true;
  for await (const rows of reading) {
    if (!isChecked) refuseMissing(mapper.columns, reading.columns, label);
    isChecked = true;
    if (mode === 'links') sample.push(...rows.slice(0, SAMPLE_ROWS - sample.length));
    yield await mapper.mapRows(rows);
  }
}

export function openReading(
  { sources, tempDir }: ReadingParts,
  { source, format }: Pick<ReadOrder, 'source' | 'format'>,
  file: SourceFile,
): SourceReading {
  return readRows(format, sources.unpack(file, source), { tempDir, charset: file.charset });
}

/** @throws MappingProblem if the mapping cannot be used, or if a format that needs a mapping has none */
export function openMapper({ format, mapping, mode }: Omit<TriedDefinition, 'source'>): RowMapper {
  if (getInputFormat(format.type).mapping === 'none')
    return {
      columns: [],
      hasExpressions: false,
      async [Symbol.asyncDispose]() {},
      mapRows: async (rows) => rows.map(takeNative),
    };
  const chosen = mapping ?? (findDefaultMapping(format.type) as Mapping | undefined);
  if (chosen === undefined) throw new MappingProblem(`the format ${format.type} needs a mapping`);
  return createRowMapper(compileMapping(chosen, mode));
}

/** @throws MappingProblem */
function refuseMissing(required: readonly string[], columns: readonly string[], file: string): void {
  const missing = required.filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  const present = columns.slice(0, 50).map((name) => JSON.stringify(name));
  throw new MappingProblem(`${file} has no column ${names}; it has ${present.join(', ')}`);
}

function uploadedSource({ readPiece }: ReadingParts, projectId: number, { pieces, ...file }: UploadedFile) {
  async function* read() {
    for (const piece of pieces) yield await readPiece(projectId, piece);
  }
  return { ...file, bytes: read() };
}

/** Measures the progress of reading all files, if their senders declared the sizes. */
function createMeter(files: readonly SourceFile[]) {
  const sizes = files.map(({ sizeBytes }) => sizeBytes);
  const total = sizes.includes(undefined) ? 0 : sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  let read = 0;
  return {
    percent: (): number | undefined => (total === 0 ? undefined : (100 * read) / total),
    async *count(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes) {
        read += chunk.length;
        yield chunk;
      }
    },
  };
}

/** @returns the refusal for the owner of the pipeline; other errors unchanged */
export function translateProblem(error: unknown): unknown {
  const details = [(error as Error).message];
  if (error instanceof SourceProblem) return new ServiceError('source_unreadable', { details, cause: error });
  if (error instanceof FormatProblem) return new ServiceError('format_unreadable', { details, cause: error });
  if (error instanceof MappingProblem) return new ServiceError('mapping_unfit', { details, cause: error });
  return error;
}

/** Takes a product that the source contains in the form of an upload. */
function takeNative(row: SourceRow): RowOutcome {
  const { number, source, problems = [] } = row;
  if (problems.length > 0)
    return { row: number, problems: problems.map(({ message }) => ({ field: 'row', reason: message })) };
  const { identifier } = source as { identifier?: unknown };
  if (typeof identifier !== 'string' || identifier === '')
    return { row: number, problems: [{ field: 'identifier', reason: 'is missing' }] };
  return { row: number, product: source as { identifier: string } };
}
