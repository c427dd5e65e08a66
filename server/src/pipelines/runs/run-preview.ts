import { Readable } from 'node:stream';
import type { DraftSettings } from '../../catalog/ontology/drafts/drafts.ts';
import { findDefaultMapping, getInputFormat, type SourceReading } from '../../formats/formats.ts';
import { type ColumnValue, FormatProblem, type SourceRow } from '../../formats/input/input.ts';
import {
  isOfPairs,
  type MappedProduct,
  type Mapping,
  type RowMapper,
  type RowOutcome,
  weighRow,
} from '../mapping/mapping.ts';
import {
  type FoundList,
  findUnsplit,
  listLinkColumns,
  listMissing,
  listWarnings,
  type PreviewWarning,
  suggestFormat,
  suggestLinks,
  suggestMapping,
  suggestPairs,
} from '../mapping/mapping-suggestions/mapping-suggestions.ts';
import type { Preview, TriedDefinition } from '../pipeline-definitions/pipeline-definitions.ts';
import { SourceProblem } from '../sources/sources.ts';
import { CatalogSketch, type PreviewCatalog } from './catalog-sketch.ts';
import { judgeRow, toSent } from './run-batches.ts';
import {
  describeUnread,
  openMapper,
  openReading,
  type ReadingParts,
  translateProblem,
} from './run-reading.ts';

type PreviewRow = Preview['rows'][number];

export interface PreviewOrder extends TriedDefinition {
  readonly projectId: number;
  /** The file with which to try an upload source. */
  readonly file: TriedFile | undefined;
  /** Set to describe also the resulting catalog. Numbers are read as people with this locale write them. */
  readonly catalog: DraftSettings | undefined;
}

interface TriedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Whether the file continues after these bytes. Then the end of the bytes is not the end of the file. */
  readonly isBeginning: boolean;
}

/** The number of rows that are shown. Suggestions and warnings use more rows. */
const SHOWN = 20;
const SAMPLE = 1_000;
/** At most 32 MiB in memory. */
const SAMPLE_CHARACTERS = 16 * 1024 * 1024;
/** The maximum number of characters of a value that are shown. */
const VALUE_CHARACTERS = 2_000;

/** Limits for counting a catalog, because a person waits for it. */
const COUNTED_ROWS = 50_000;
const COUNTED_MS = 8_000;

/** @throws source_unreadable, format_unreadable, mapping_unfit */
export async function previewSource(parts: ReadingParts, order: PreviewOrder): Promise<Preview> {
  try {
    const { name = '', bytes } = order.file ?? {};
    const upload = bytes && { name, sizeBytes: bytes.length, bytes: Readable.from([bytes]) };
    await using opened = await parts.sources.open(order.source, { projectId: order.projectId, upload });
    const [first] = opened?.files ?? [];
    if (opened === undefined || first === undefined)
      throw new SourceProblem('no_file', 'There is no file to read');
    const reading = openReading(parts, order, first);
    await using rows = readOn(reading, order.file?.isBeginning === true);
    return await previewRows(reading, rows, order);
  } catch (error) {
    throw translateProblem(error);
  }
}

async function previewRows(reading: SourceReading, pieces: Pieces, order: PreviewOrder) {
  const { rows, rest } = await takeSample(pieces);
  const { columns, found } = reading;
  const { type } = order.format;
  const suggestion = suggestFor(order, columns, rows);
  const format = suggestFormat(type, columns);
  const tried = { ...order, mapping: order.mapping ?? (suggestion.mapping as Mapping) };
  // A suggestion may lack parts that a mapping needs. Then only the rows are shown.
  await using mapper = listMissingParts(tried).length > 0 ? undefined : openMapper(tried);
  // Expressions are tried on a few rows only.
  const outcomes = (await mapper?.mapRows(mapper.hasExpressions ? rows.slice(0, SHOWN) : rows)) ?? [];
  const shown = rows.slice(0, SHOWN);
  const lists = findLists(tried, rows, columns);
  const warnings = [
    ...listMissingParts(tried),
    ...warnOfFile(reading, lists, order),
    ...(isOfPairs(order.mode) ? [] : listWarnings(productsOf(outcomes))),
  ];
  const settings = format === undefined && mapper?.hasExpressions === false ? order.catalog : undefined;
  return {
    found,
    columns,
    rows: shown.map((row, index) => ({ ...showRow(row), ...showOutcome(outcomes[index], order) })),
    lists,
    warnings,
    suggestion: { ...suggestion, ...(format && { format }) },
    ...(settings &&
      mapper && { catalog: await sketchCatalog({ outcomes, rest, pieces, mapper, settings }, order) }),
  };
}

function suggestFor({ mode, format }: PreviewOrder, columns: readonly string[], rows: readonly SourceRow[]) {
  if (mode === 'table') return suggestPairs(columns);
  const products = suggestMapping(columns, rows, findDefaultMapping(format.type));
  return mode === 'links' ? suggestLinks(columns, rows, products) : products;
}

interface Counting {
  readonly outcomes: readonly RowOutcome[];
  /** Rows that were read with the sample but do not belong to it. */
  readonly rest: readonly SourceRow[];
  readonly pieces: Pieces;
  readonly mapper: RowMapper;
  readonly settings: DraftSettings;
}

/** Continues where the sample ended. */
async function sketchCatalog(
  { outcomes, rest, pieces, mapper, settings }: Counting,
  { mode, file }: PreviewOrder,
): Promise<PreviewCatalog> {
  const sketch = new CatalogSketch(mode);
  const end = performance.now() + COUNTED_MS;
  sketch.add(outcomes);
  let rows = sketch.add(await mapper.mapRows(rest));
  let isEnded = false;
  while (rows < COUNTED_ROWS && performance.now() < end) {
    const { value, done } = await pieces.next();
    isEnded = done === true;
    if (value === undefined) break;
    rows = sketch.add(await mapper.mapRows(value));
  }
  return sketch.describe(settings, isEnded && file?.isBeginning !== true);
}

const isMapped = ({ format }: PreviewOrder) => getInputFormat(format.type).mapping !== 'none';

/** Lists the parts for which a suggestion found no column. */
const listMissingParts = (order: PreviewOrder): PreviewWarning[] =>
  isMapped(order) ? listMissing(order.mapping ?? {}, order.mode) : [];

const findLists = (order: PreviewOrder, rows: readonly SourceRow[], columns: readonly string[]) =>
  isMapped(order) ? findUnsplit(order.mapping, rows, columns) : [];

/** Lists warnings about the file itself, whatever the mapping is. */
const warnOfFile = (
  { found: { sheet, otherSheets }, columns, unread }: SourceReading,
  lists: readonly FoundList[],
  { mode }: PreviewOrder,
): PreviewWarning[] => [
  ...lists.map(({ field, message }) => ({ field, message })),
  ...listLinkColumns(mode, columns).map((column) => ({
    field: `attributes.${column}`,
    message: `${column} seems to name other products. A pipeline with the mode links turns it into relations`,
  })),
  ...(otherSheets === undefined
    ? []
    : [{ field: 'sheet', message: `Only the sheet ${sheet} is read. The workbook also has ${otherSheets}` }]),
  ...[...unread]
    .slice(0, SHOWN)
    .map(([path, count]) => ({ field: path, message: describeUnread(path, count) })),
];

const productsOf = (outcomes: readonly RowOutcome[]): MappedProduct[] =>
  outcomes.flatMap((outcome) => ('product' in outcome ? [outcome.product] : []));

type Pieces = AsyncGenerator<readonly SourceRow[], void, undefined>;

/**
 * @returns the rows. If the file is only a beginning, the last row and the errors after it are omitted, because the
 * file was cut there.
 */
async function* readOn(reading: SourceReading, isBeginning: boolean): Pieces {
  if (!isBeginning) return yield* reading;
  let last: SourceRow | undefined;
  try {
    for await (const rows of reading) {
      yield last === undefined ? rows.slice(0, -1) : [last, ...rows.slice(0, -1)];
      last = rows.at(-1);
    }
  } catch (error) {
    if (last === undefined || !isCut(error)) throw error;
  }
}

/** Whether a format or packing reports only a missing end, which is expected if the file is only a beginning. */
const isCut = (error: unknown): boolean =>
  (error instanceof FormatProblem || error instanceof SourceProblem) &&
  (error.reason === 'damaged' || error.reason === 'broken_off');

async function takeSample(pieces: Pieces) {
  const rows: SourceRow[] = [];
  let room = SAMPLE_CHARACTERS;
  for (let piece = await pieces.next(); piece.value !== undefined; piece = await pieces.next())
    for (const [index, row] of piece.value.entries()) {
      rows.push(row);
      room -= weighRow(row);
      if (rows.length >= SAMPLE || room <= 0) return { rows, rest: piece.value.slice(index + 1) };
    }
  return { rows, rest: [] };
}

function showRow({ number, values }: SourceRow): PreviewRow {
  const show = (value: ColumnValue) => (typeof value === 'string' ? shorten(value) : value.map(shorten));
  const shown = Object.entries(values).map(([name, value]) => [name, show(value)]);
  return { number, values: Object.fromEntries(shown) };
}

const shorten = (text: string) =>
  text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS).toWellFormed()}…` : text;

function showOutcome(outcome: RowOutcome | undefined, { mode }: PreviewOrder): Partial<PreviewRow> {
  if (outcome === undefined) return {};
  const { product, problems } = judgeRow(outcome, mode);
  if (problems !== undefined) return { ...(product && { product }), problems: [...problems] };
  if (product === undefined) return { isFiltered: true };
  const sent = toSent(product, mode);
  return { product: (typeof sent === 'string' ? { identifier: sent } : sent) as MappedProduct };
}
