import { listProductErrors } from '../../catalog/catalog.ts';
import type { TriedDefinition } from '../definitions/definitions.ts';
import type { SourceRow } from '../formats/formats.ts';
import { findDefaultMapping, getFormat } from '../formats/formats.ts';
import type { Mapping, RowOutcome } from '../mapping/mapping.ts';
import { suggestMapping } from '../mapping/mapping.ts';
import { type SourceFile, SourceProblem } from '../sources/sources.ts';
import type { Preview, PreviewRow } from './pipeline-runs.ts';
import { formOf } from './run-batch.ts';
import { openPlan, openReading, type ReadingParts, translateProblem } from './run-reading.ts';

export interface PreviewOrder extends TriedDefinition {
  readonly projectId: number;
  /** What an upload source is tried with. */
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | undefined;
}

/** Rows that are shown; a suggestion looks at more. */
const SHOWN = 20;
const SAMPLE = 100;
/** Of a value, for a person who looks at it. */
const VALUE_CHARACTERS = 2_000;

/** @throws source_unreadable, format_unreadable, mapping_unfit */
export async function previewSource(parts: ReadingParts, order: PreviewOrder): Promise<Preview> {
  try {
    const { rows, columns, found } = await readSample(parts, order);
    const suggestion = suggestMapping(columns, rows);
    const mapping = order.mapping ?? findDefaultMapping(order.format.type) ?? suggestion.mapping;
    const shown = rows.slice(0, SHOWN);
    return {
      found,
      columns,
      rows: await mapSample({ ...order, mapping: mapping as Mapping }, shown),
      suggestion,
    };
  } catch (error) {
    throw translateProblem(error);
  }
}

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
    const rows: SourceRow[] = [];
    for await (const some of reading) {
      rows.push(...some.slice(0, SAMPLE - rows.length));
      if (rows.length >= SAMPLE) break;
    }
    return { rows, columns: reading.columns, found: reading.found };
  } finally {
    await opened.close();
  }
}

function sentFile({ name, bytes }: NonNullable<PreviewOrder['file']>): SourceFile {
  async function* read() {
    yield bytes;
  }
  return { name, mediaType: undefined, charset: undefined, sizeBytes: bytes.length, bytes: read() };
}

/** A suggestion may lack what a mapping needs; then the rows stand alone. */
async function mapSample(order: PreviewOrder, rows: readonly SourceRow[]): Promise<PreviewRow[]> {
  const isMapped = getFormat(order.format.type).mapping !== 'none';
  if (isMapped && order.mapping?.identifier === undefined) return rows.map(showRow);
  const plan = openPlan(order);
  try {
    const outcomes = await plan.mapRows(rows);
    return rows.map((row, at) => ({ ...showRow(row), ...showOutcome(outcomes[at], order) }));
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
  const errors = mode === 'delete' ? [] : listProductErrors(product, formOf(mode));
  if (errors.length > 0) return { product, problems: errors.map((reason) => ({ field: 'product', reason })) };
  return { product: mode === 'delete' ? { identifier: product.identifier } : product };
}
