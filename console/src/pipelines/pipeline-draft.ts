/** How the console describes pipelines. Source: docs/interface §13. */

import {
  choices,
  type MappedColumn,
  type Mapping,
  type Pipeline,
  type PipelineDefinition,
  type PipelineFormat,
  type PipelinePreview,
  type RunCounts,
} from '@relata/client';
import { t } from '../languages/text.ts';
import type { Kind as DefinedKind } from '../parts/definitions.tsx';
import type { PartNames } from '../rules/changes.ts';
import { findChoice, labelOf, type Typed, toChoice } from '../rules/choices.ts';
import { formatCount } from '../rules/format.ts';
import { describeSchedule } from '../rules/schedule.ts';

export const listFormats = () => choices.PipelineFormat.map(toChoice);
export const listSources = () => choices.PipelineSource.map(toChoice);

/** @returns the format of the file extension, packed or not: `feed.xml.gz` is xml */
export function guessFormat(fileName: string): PipelineFormat['type'] | undefined {
  const ending = /\.([a-z]+)(?:\.gz)?$/.exec(fileName.toLowerCase())?.[1] ?? '';
  return choices.PipelineFormat.find(({ endings }) => endings?.includes(ending))?.type;
}

/** Whether a mapping is required, optional or not allowed. Source: docs/interface §13.1 rule 13. */
export function needOfMapping({ format, mode }: Pick<PipelineDefinition, 'format' | 'mode'>) {
  const need = findChoice('PipelineFormat', format)?.mapping ?? 'needed';
  // The built-in mapping of a format makes products, but neither links nor a table.
  return need === 'own' && !makesProducts(mode) ? 'needed' : need;
}

export const makesProducts = (mode: PipelineDefinition['mode']) => mode !== 'links' && mode !== 'table';

export const listModes = () =>
  [
    ['full', t('Full: the file is the whole catalog')],
    ['incremental', t('Incremental: products are added and replaced')],
    ['partial', t('Partial: only mapped fields are changed')],
    ['delete', t('Delete: the products in the file are deleted')],
    ['links', t('Links: the file lists related products')],
    ['table', t('Table: the file lists values that go together')],
  ] as const;

export const nameMode = (mode: PipelineDefinition['mode']): string =>
  t(
    '{mode, select, full {full} incremental {incremental} partial {partial} delete {delete} table {table} other {links}}',
    { mode },
  );

/** In a project without products, the mode becomes full, because a full update creates the attributes. */
export const EMPTY_PIPELINE: PipelineDefinition = {
  name: '',
  source: { type: 'upload' },
  format: { type: 'csv' },
  mode: 'incremental',
  trigger: { type: 'manual' },
  maxDeletePercent: 30,
  onRejectedRow: 'stop',
  minProducts: 1,
};

const nameParts = (): PartNames<PipelineDefinition> => ({
  name: t('Name'),
  mode: t('Mode'),
  relationId: t('Relation'),
  tableName: t('Table'),
  source: t('Source'),
  format: t('Format'),
  mapping: t('Mapping'),
  trigger: t('Runs start'),
  onRejectedRow: t('Rows that make no product'),
  minProducts: t('Minimum products'),
  maxDeletePercent: t('Deletion limit, in %'),
});

export const isRunning = ({ lastRun }: Pick<Pipeline, 'lastRun'>) =>
  lastRun !== null && lastRun.finishTime === null;

/** The most pipelines that a project may have. Source: docs/interface §13.1 rule 17. */
const MOST = 1_000;

export const PIPELINE: DefinedKind<Pipeline, PipelineDefinition> = {
  what: 'pipeline',
  list: async ({ relata, projectId }, signal) =>
    (await relata.pipelines.list(projectId, { limit: MOST, signal })).items,
  get: ({ relata, projectId, id }, signal) =>
    relata.pipelines.get({ projectId, pipelineId: id }, signal && { signal }),
  create: ({ relata, projectId }, definition) => relata.pipelines.create(projectId, definition),
  put: ({ relata, projectId, id }, definition, options) =>
    relata.pipelines.put({ projectId, pipelineId: id }, definition, options),
  delete: ({ relata, projectId, id }) => relata.pipelines.delete({ projectId, pipelineId: id }),
  nameParts,
  isBusy: isRunning,
};

type Kind = Pick<Pipeline, 'source' | 'trigger'>;

export function describeSource({ source }: Kind): string {
  if (source.type === 'http') return source.url;
  if (source.type === 'directory') return t('files {pattern}', { pattern: source.pattern });
  if (source.type === 'sftp') return t('{path} on {host}', { path: source.path, host: source.host });
  return source.type === 's3'
    ? t('{key} in bucket {bucket}', { key: source.key, bucket: source.bucket })
    : t('an uploaded file');
}

export function describeTrigger({ trigger, source }: Kind): string {
  if (trigger.type === 'schedule') return describeSchedule(trigger);
  if (trigger.type === 'webhook') return 'webhook';
  return source.type === 'upload' ? t('each file') : t('by hand');
}

export const nameFormat = (format: Typed): string => labelOf('PipelineFormat', format);

const listCounted = () =>
  [
    ['created', t('created')],
    ['changed', t('changed')],
    ['unchanged', t('unchanged')],
    ['deleted', t('deleted')],
    ['rejected', t('rejected')],
    ['filtered', t('filtered')],
  ] as const;

/** The nonzero counts of a run. */
export function describeCounts(counts: RunCounts | null): string {
  if (counts === null) return '';
  if (counts.nothingNew) return t('nothing new');
  const words = listCounted()
    .filter(([name]) => counts[name] > 0)
    .map(([name, word]) => `${formatCount(counts[name])} ${word}`);
  return words.join(', ') || t('{count, plural, one {# row} other {# rows}}', { count: counts.rows });
}

/** @returns the column that a field is read from; undefined if it is not read from exactly one column */
export function columnOf(spec: MappedColumn | undefined): string | undefined {
  if (spec === undefined) return '';
  return typeof spec === 'string' ? spec : spec.column;
}

/** Replaces the column, and keeps its processing. */
export function withColumn(spec: MappedColumn | undefined, column: string): MappedColumn | undefined {
  if (column === '') return undefined;
  return typeof spec === 'object' && spec.column !== undefined ? { ...spec, column } : column;
}

/** @returns the mapping with one field changed; undefined leaves the field out */
export function withField<Field extends keyof Mapping>(
  mapping: Mapping,
  field: Field,
  value: Mapping[Field] | undefined,
): Mapping {
  const { [field]: _, ...others } = mapping;
  return (value === undefined ? others : { ...others, [field]: value }) as Mapping;
}

export type MappedAttributes = Exclude<NonNullable<Mapping['attributes']>, string>;

/** @returns the chosen attributes by key, and whether all others are included */
export function readAttributes({ attributes }: Mapping): { chosen: MappedAttributes; hasRest: boolean } {
  if (typeof attributes === 'string') return { chosen: {}, hasRest: true };
  const { '*': rest, ...chosen } = attributes ?? {};
  return { chosen, hasRest: rest === '*' };
}

export function writeAttributes(chosen: MappedAttributes, hasRest: boolean): Mapping['attributes'] {
  if (Object.keys(chosen).length === 0) return hasRest ? '*' : undefined;
  return hasRest ? { ...chosen, '*': '*' } : chosen;
}

type FoundList = PipelinePreview['lists'][number];

/** @returns the mapping with the values of a column split at its separator */
export function splitList(mapping: Mapping, { field, column, separator }: FoundList): Mapping {
  if (field === 'targets') return withField(mapping, 'separator', separator);
  const split = { column, split: separator, trim: true };
  const divide = <Spec>(spec: Spec): Spec | typeof split => {
    if (spec === column) return split;
    const isOfColumn = typeof spec === 'object' && (spec as { column?: string }).column === column;
    return isOfColumn ? { ...spec, ...split } : spec;
  };
  if (field === 'categories') {
    const paths = [mapping.categories ?? []].flat();
    return { ...mapping, categories: paths.map((path) => ({ ...path, from: divide(path.from) })) };
  }
  if (field === 'images') return withField(mapping, 'images', [mapping.images ?? []].flat().map(divide));
  const key = field.slice('attributes.'.length);
  const { chosen, hasRest } = readAttributes(mapping);
  const specs = [chosen[key] ?? column].flat().map(divide);
  const spec = specs.length === 1 && specs[0] !== undefined ? specs[0] : specs;
  const attributes = writeAttributes({ ...chosen, [key]: spec } as MappedAttributes, hasRest);
  return withField(mapping, 'attributes', attributes);
}
