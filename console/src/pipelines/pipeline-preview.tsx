import type { Mapping, PipelineDefinition, PipelinePreview } from '@relata/client';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Card, Empty, ErrorNote, Loading, Renewed } from '../parts/page.tsx';
import { Pairs } from '../parts/show.tsx';
import { WHILE_TYPING } from '../state/answers.ts';
import { queries } from '../state/queries.ts';
import { useCalls } from '../state/rights.ts';
import { useSettled } from '../state/timing.ts';
import { makesProducts, needOfMapping } from './pipeline-draft.ts';

/** The number of rows shown in addition to those with problems. */
const FIRST_ROWS = 3;

/**
 * The source that the user last requested to read. Reading after each typed letter would fetch incomplete URLs.
 */
interface Reading {
  readonly number: number;
  readonly source: PipelineDefinition['source'];
  readonly file: SentFile | undefined;
}

export interface Tried {
  readonly preview: UseQueryResult<PipelinePreview>;
  /** Whether the source has changed since. */
  readonly isOld: boolean;
  readonly isRead: boolean;
  read(file: SentFile | undefined): void;
}

interface Editing {
  readonly pipelineId: number | undefined;
  /** Whether to request the resulting catalog as well. */
  readonly hasCatalog?: boolean;
  onChange(changed: Partial<PipelineDefinition>): void;
}

/** Previews the first rows at every change of format, mapping or mode. */
export function usePipelinePreview(
  draft: PipelineDefinition,
  { pipelineId, hasCatalog = false, onChange }: Editing,
): Tried {
  const { relata, projectId } = useCalls();
  // A stored source can be read again. An uploaded file is no longer available.
  const isStored = pipelineId !== undefined && draft.source.type !== 'upload';
  const [reading, setReading] = useState<Reading | undefined>(
    isStored ? { number: 0, source: draft.source, file: undefined } : undefined,
  );
  const { format, mapping, mode } = draft;
  const present = JSON.stringify({ format, mapping, mode });
  const settled = useSettled(present);
  const keyOf = (tried: string) => ['pipeline-preview', projectId, pipelineId, reading?.number, tried];
  const preview = useQuery({
    queryKey: keyOf(settled),
    queryFn: ({ signal }) => {
      if (reading === undefined) throw new Error('no source was read');
      const { source, file } = reading;
      const tried = {
        source,
        ...JSON.parse(settled),
        ...(file && { file }),
        ...(pipelineId && { pipelineId }),
        ...(hasCatalog && { catalog: true }),
      };
      return relata.pipelines.preview(projectId, tried, { signal });
    },
    enabled: reading !== undefined,
    ...WHILE_TYPING,
  });
  // A suggestion for another mode would lack required parts, and be refused from then on.
  const isCurrent = present === settled && !preview.isPlaceholderData;
  useSuggestion(draft, {
    suggested: isCurrent ? preview.data?.suggestion.mapping : undefined,
    isNew: pipelineId === undefined,
    onChange(changed) {
      // The rows were read with this suggestion. Caching the answer saves sending the file again.
      const taken = JSON.stringify({ format, mapping: changed.mapping, mode });
      if (mapping === undefined) queries.setQueryData(keyOf(taken), preview.data);
      onChange(changed);
    },
  });
  return {
    preview,
    isRead: reading !== undefined,
    isOld: reading !== undefined && JSON.stringify(reading.source) !== JSON.stringify(draft.source),
    read: (file) =>
      setReading((before) => ({ number: (before?.number ?? 0) + 1, source: draft.source, file })),
  };
}

interface Suggestion {
  readonly suggested: Mapping | undefined;
  /** A stored pipeline may omit its mapping if the format has a built-in one. */
  readonly isNew: boolean;
  readonly onChange: Editing['onChange'];
}

/** Keeps taking the mapping that the service suggests until the user changes it. */
function useSuggestion(draft: PipelineDefinition, { suggested, isNew, onChange }: Suggestion): void {
  const taken = useRef<string>(undefined);
  const { mapping } = draft;
  const present = JSON.stringify(mapping);
  const next = JSON.stringify(suggested);
  const isOurs = mapping === undefined || present === taken.current;
  const need = needOfMapping(draft);
  const isTaken = suggested !== undefined && isOurs && (need === 'needed' || (need === 'own' && isNew));
  useEffect(() => {
    if (!isTaken || present === next) return;
    taken.current = next;
    onChange({ mapping: suggested });
  });
}

type PreviewRow = PipelinePreview['rows'][number];

interface PreviewShape extends Pick<PipelineDefinition, 'mode' | 'onRejectedRow'> {
  tried: Tried;
}

export function PreviewCard({ tried: { preview, isRead }, mode, onRejectedRow = 'stop' }: PreviewShape) {
  const wouldEnd =
    onRejectedRow === 'stop' && preview.data?.rows.some(({ product }) => product === undefined);
  return (
    <Card title={t('Preview of the first rows')}>
      <ErrorNote error={preview.error} />
      {!isRead && (
        <Empty icon="pipelines" title={t('Nothing read yet')}>
          <p>{t('Read the source to see its columns and first rows here.')}</p>
        </Empty>
      )}
      {preview.isFetching && preview.data === undefined && <Loading />}
      {wouldEnd && !preview.error && (
        <p className="note warn">
          {t(
            'A run would end at the first row that makes no product, and change nothing. Correct the mapping or the file, or choose below to leave such rows out.',
          )}
        </p>
      )}
      {preview.data && !preview.error && (
        <>
          <Warnings warnings={preview.data.warnings} />
          <Rows
            rows={preview.data.rows}
            isOld={preview.isPlaceholderData}
            made={makesProducts(mode) ? 'product' : 'list'}
          />
        </>
      )}
    </Card>
  );
}

export function Warnings({ warnings }: Pick<PipelinePreview, 'warnings'>) {
  if (warnings.length === 0) return null;
  return (
    <ul className="stack" aria-label={t('Warnings')}>
      {warnings.map(({ field, message }) => (
        <li key={`${field} ${message}`} className="note warn small">
          <span>
            <strong>{field}</strong>: {message}.
          </span>
        </li>
      ))}
    </ul>
  );
}

type Made = 'list' | 'product';

function describeRows(rows: readonly PreviewRow[], made: Made): string {
  const counts = {
    rows: rows.length,
    good: rows.filter(({ product }) => product !== undefined).length,
    bad: rows.filter(hasProblems).length,
  };
  return made === 'list'
    ? t(
        '{rows, plural, one {# row} other {# rows}}, {good, plural, one {# list} other {# lists}}, {bad, number} with problems',
        counts,
      )
    : t(
        '{rows, plural, one {# row} other {# rows}}, {good, plural, one {# product} other {# products}}, {bad, number} with problems',
        counts,
      );
}

const hasProblems = ({ problems = [] }: PreviewRow) => problems.length > 0;

function Rows({ rows, isOld, made }: { rows: readonly PreviewRow[]; isOld: boolean; made: Made }) {
  const [isAll, setAll] = useState(false);
  const shown = rows.filter((row, index) => isAll || index < FIRST_ROWS || hasProblems(row));
  return (
    <Renewed isOld={isOld}>
      <p className="soft" role="status">
        {describeRows(rows, made)}
      </p>
      <ol className="stack wide">
        {shown.map((row) => (
          <RowItem key={row.number} row={row} made={made} />
        ))}
      </ol>
      {shown.length < rows.length && (
        <div className="row">
          <Button onClick={() => setAll(true)}>
            {t('Show all {count, plural, one {# row} other {# rows}}', { count: rows.length })}
          </Button>
        </div>
      )}
    </Renewed>
  );
}

function RowItem({ row, made }: { row: PreviewRow; made: Made }) {
  const { number, values, product, problems = [] } = row;
  return (
    <li className="tried-row">
      <div className="row">
        <strong>{t('Row {number}', { number })}</strong>
        <Outcome row={row} made={made} />
      </div>
      <div className="columns">
        <Pairs
          label={t('Row {number} as it was read', { number })}
          pairs={formatPairs(Object.entries(values))}
          look="small"
        />
        <div className="stack">
          {problems.map(({ field, column, reason }) => (
            <div key={`${field} ${column} ${reason}`} className="note bad small">
              <span>
                {column
                  ? rich('{field} from {column}: {reason}', {
                      field: <strong>{field}</strong>,
                      column,
                      reason,
                    })
                  : rich('{field}: {reason}', { field: <strong>{field}</strong>, reason })}
              </span>
            </div>
          ))}
          {product && (
            <Pairs
              label={t('The {made} of row {number}', { made, number })}
              pairs={formatPairs(listParts(product))}
              look="small"
            />
          )}
        </div>
      </div>
    </li>
  );
}

function Outcome({ row, made }: { row: PreviewRow; made: Made }) {
  if (row.isFiltered) return <span className="badge">{t('left out by the filter')}</span>;
  if (row.product === undefined) return <span className="badge bad">{t('rejected')}</span>;
  return hasProblems(row) ? (
    <span className="badge warn">{t('a {made} with problems', { made })}</span>
  ) : (
    <span className="badge good">{t('a {made}', { made })}</span>
  );
}

type Pair = readonly [name: string, value: unknown];

const formatPairs = (pairs: readonly Pair[]) =>
  pairs.map(([name, value]) => [name, showValue(value)] as const);

function showValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(showValue).join(', ');
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  if ('path' in value && Array.isArray(value.path)) return value.path.join(' › ');
  return 'url' in value ? String(value.url) : JSON.stringify(value);
}

/** A product of the upload shape: its members, then its attributes by key. */
function listParts({ attributes, ...members }: Readonly<Record<string, unknown>>): readonly Pair[] {
  const facts = Array.isArray(attributes) ? (attributes as { key: string; value: unknown }[]) : [];
  return [...Object.entries(members), ...facts.map(({ key, value }) => [key, value] as const)];
}

/** The limit of a preview. Source: docs/interface §13.5 rule 2. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Formats with their directory at the end, so that a part of the file cannot be read. */
const WHOLE_ONLY = /\.(?:xlsx|zip)$/i;

/** A file in the form that a preview accepts. */
export interface SentFile {
  readonly name: string;
  readonly base64: string;
  readonly isBeginning?: true;
}

/** @returns the file, or the beginning of a large one @throws Error that says what to do instead */
export async function readFile(file: File): Promise<SentFile> {
  const { name } = file;
  if (file.size <= MOST_BYTES) return { name, base64: await readBase64(file) };
  if (WHOLE_ONLY.test(name))
    throw new Error(
      t(
        'A preview reads at most 8 MiB of such a file. Save the file as CSV, or create a pipeline with a part of it.',
      ),
    );
  return { name, base64: await readBase64(file.slice(0, MOST_BYTES)), isBeginning: true };
}

const readBase64 = (part: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(part);
  });
