import type { TriedDefinition } from '../definitions/definitions.ts';
import type { SourceRow } from '../formats/formats.ts';
import { findDefaultMapping, getFormat } from '../formats/formats.ts';
import type { Mapping, RowOutcome } from '../mapping/mapping.ts';
import {
  listMissing,
  listWarnings,
  type MappedProduct,
  type PreviewWarning,
  suggestFormat,
  suggestLinks,
  suggestMapping,
  weighRow,
} from '../mapping/mapping.ts';
import { type SourceFile, SourceProblem } from '../sources/sources.ts';
import type { Preview, PreviewRow } from './pipeline-runs.ts';
import { listErrors, toSent } from './run-batch.ts';
import { openPlan, openReading, type ReadingParts, translateProblem } from './run-reading.ts';

export interface PreviewOrder extends TriedDefinition {
  readonly projectId: number;
  /** What an upload source is tried with. */
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | undefined;
}

/** Rows that are shown; a suggestion and warnings look at more. */
const SHOWN = 20;
const SAMPLE = 1_000;
/** 32 MiB. */
const SAMPLE_CHARACTERS = 16 * 1024 * 1024;
/** Of a value, for a person who looks at it. */
const VALUE_CHARACTERS = 2_000;

/** @throws source_unreadable, format_unreadable, mapping_unfit */
export async function previewSource(parts: ReadingParts, order: PreviewOrder): Promise<Preview> {
  try {
    const sample = await readSample(parts, order);
    const { rows, columns, found } = sample;
    const { type } = order.format;
    const products = suggestMapping(columns, rows, findDefaultMapping(type));
    const suggestion = order.mode === 'links' ? suggestLinks(columns, products) : products;
    const format = suggestFormat(type, columns);
    const tried = { ...order, mapping: order.mapping ?? (suggestion.mapping as Mapping) };
    const outcomes = await mapSample(tried, rows);
    const shown = rows
      .slice(0, SHOWN)
      .map((row, at) => ({ ...showRow(row), ...showOutcome(outcomes[at], order) }));
    const warnings = [
      ...listMissingParts(tried),
      ...warnOfSheets(found),
      ...(order.mode === 'links' ? [] : listWarnings(productsOf(outcomes))),
    ];
    return {
      found,
      columns,
      rows: shown,
      suggestion: { ...suggestion, ...(format && { format }) },
      warnings,
    };
  } catch (error) {
    throw translateProblem(error);
  }
}

const isMapped = ({ format }: PreviewOrder) => getFormat(format.type).mapping !== 'none';

/** What a suggestion found no column for. */
const listMissingParts = (order: PreviewOrder): PreviewWarning[] =>
  isMapped(order) ? listMissing(order.mapping ?? {}, order.mode) : [];

function warnOfSheets({ sheet, otherSheets }: Readonly<Record<string, string>>): PreviewWarning[] {
  if (otherSheets === undefined) return [];
  return [
    { field: 'sheet', message: `Only the sheet ${sheet} is read. The workbook also has ${otherSheets}` },
  ];
}

const productsOf = (outcomes: readonly RowOutcome[]): MappedProduct[] =>
  outcomes.flatMap((outcome) => ('product' in outcome ? [outcome.product] : []));

interface Sample {
  readonly rows: readonly SourceRow[];
  readonly columns: readonly string[];
  readonly found: Readonly<Record<string, string>>;
}

async function readSample(parts: ReadingParts, order: PreviewOrder): Promise<Sample> {
  const upload = order.file && sentFile(order.file);
  const opened = await parts.sources.open(order.source, { projectId: order.projectId, upload });
  const [first] = opened?.files ?? [];
  if (opened === undefined || first === undefined)
    throw new SourceProblem('no_file', 'There is no file to read');
  try {
    const reading = openReading(parts, order, first);
    const rows = await takeRows(reading);
    return { rows, columns: reading.columns, found: reading.found };
  } finally {
    await opened.close();
  }
}

async function takeRows(reading: AsyncIterable<readonly SourceRow[]>): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  let room = SAMPLE_CHARACTERS;
  for await (const some of reading)
    for (const row of some) {
      rows.push(row);
      room -= weighRow(row);
      if (rows.length >= SAMPLE || room <= 0) return rows;
    }
  return rows;
}

function sentFile({ name, bytes }: NonNullable<PreviewOrder['file']>): SourceFile {
  async function* read() {
    yield bytes;
  }
  return { name, mediaType: undefined, charset: undefined, sizeBytes: bytes.length, bytes: read() };
}

/** A suggestion may lack what a mapping needs; then the rows stand alone. Expressions are tried in a few rows only. */
async function mapSample(order: PreviewOrder, rows: readonly SourceRow[]): Promise<readonly RowOutcome[]> {
  if (listMissingParts(order).length > 0) return [];
  const plan = openPlan(order);
  try {
    return await plan.mapRows(plan.hasExpressions ? rows.slice(0, SHOWN) : rows);
  } finally {
    await plan.close();
  }
}

const showRow = ({ number, values }: SourceRow): PreviewRow => ({
  number,
  values: Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? cut(value) : value.map(cut),
    ]),
  ),
});

const cut = (text: string) =>
  text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS).toWellFormed()}…` : text;

function showOutcome(outcome: RowOutcome | undefined, { mode }: PreviewOrder): Partial<PreviewRow> {
  if (outcome === undefined) return {};
  if ('isFiltered' in outcome) return { isFiltered: true };
  if ('problems' in outcome) return { problems: outcome.problems };
  const { product } = outcome;
  const errors = listErrors(product, mode);
  if (errors.length > 0) return { product, problems: errors.map((reason) => ({ field: 'product', reason })) };
  const sent = toSent(product, mode);
  return { product: (typeof sent === 'string' ? { identifier: sent } : sent) as MappedProduct };
}
