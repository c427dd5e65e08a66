/** Pipelines in the words of the console. Source: docs/interface.md §13. */
import {
  choices,
  type MappedColumn,
  type Mapping,
  type Pipeline,
  type PipelineDefinition,
  type PipelineFormat,
  type RunCounts,
} from '@relata/client';
import type { PartNames } from '../rules/changes.ts';
import { findChoice, toChoice } from '../rules/choices.ts';
import { countOf, formatCount } from '../rules/format.ts';
import { describeSchedule } from '../rules/schedule.ts';
import type { Typed } from '../rules/typed.ts';

export const FORMATS = choices.PipelineFormat.map(toChoice);
export const SOURCES = choices.PipelineSource.map(toChoice);

/** @returns the format that a name ends like, packed or not: `feed.xml.gz` is xml */
export function guessFormat(fileName: string): PipelineFormat['type'] | undefined {
  const ending = /\.([a-z]+)(?:\.gz)?$/.exec(fileName.toLowerCase())?.[1] ?? '';
  return choices.PipelineFormat.find(({ endings }) => endings?.includes(ending))?.type;
}

/** Whether a mapping must be there, may be, or must not. Source: docs/interface.md §13.1 rule 13. */
export function needOfMapping({ format, mode }: Pick<PipelineDefinition, 'format' | 'mode'>) {
  const need = findChoice('PipelineFormat', format)?.mapping ?? 'needed';
  // What a format maps by itself are products.
  return need === 'own' && mode === 'links' ? 'needed' : need;
}

export const MODES = [
  ['full', 'Full: the file is the whole catalog'],
  ['incremental', 'Incremental: products are added and replaced'],
  ['partial', 'Partial: only mapped fields are changed'],
  ['delete', 'Delete: the products in the file are deleted'],
  ['links', 'Links: the file lists what goes with what'],
] as const;

/** In a project without products it starts as a full update, which creates the attributes. */
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

export const PIPELINE_PARTS: PartNames<PipelineDefinition> = {
  ...{ name: 'Name', mode: 'Mode', relationId: 'Relation', source: 'Source', format: 'Format' },
  ...{ mapping: 'Mapping', trigger: 'Runs start', onRejectedRow: 'Rows that make no product' },
  ...{ minProducts: 'Minimum products', maxDeletePercent: 'Delete guard, in %' },
};

type Kind = Pick<Pipeline, 'source' | 'trigger'>;

export function describeSource({ source }: Kind): string {
  if (source.type === 'http') return source.url;
  if (source.type === 'directory') return `files ${source.pattern}`;
  if (source.type === 'sftp') return `${source.path} on ${source.host}`;
  return source.type === 's3' ? `${source.key} in bucket ${source.bucket}` : 'a file sent in';
}

export function describeTrigger({ trigger, source }: Kind): string {
  if (trigger.type === 'schedule') return describeSchedule(trigger);
  if (trigger.type === 'webhook') return 'webhook';
  return source.type === 'upload' ? 'each file' : 'by hand';
}

export const nameFormat = (format: Typed): string =>
  findChoice('PipelineFormat', format)?.label ?? format.type;

/** What a run did, without what is zero. */
export function describeCounts(counts: RunCounts | null): string {
  if (counts === null) return '';
  if (counts.nothingNew) return 'nothing new';
  const words = (['created', 'changed', 'unchanged', 'deleted', 'rejected', 'filtered'] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${formatCount(counts[name])} ${name}`);
  return words.join(', ') || countOf(counts.rows, 'row');
}

/** @returns the one column that is taken; undefined where it is not as simple */
export function columnOf(spec: MappedColumn | undefined): string | undefined {
  if (spec === undefined) return '';
  return typeof spec === 'string' ? spec : spec.column;
}

/** Another column, and what is done with it stays. */
export function withColumn(spec: MappedColumn | undefined, column: string): MappedColumn | undefined {
  if (column === '') return undefined;
  return typeof spec === 'object' && spec.column !== undefined ? { ...spec, column } : column;
}

/** @returns the mapping with a field changed; undefined leaves it out */
export function withField<Field extends keyof Mapping>(
  mapping: Mapping,
  field: Field,
  value: Mapping[Field] | undefined,
): Mapping {
  const { [field]: _, ...others } = mapping;
  return (value === undefined ? others : { ...others, [field]: value }) as Mapping;
}

export type MappedAttributes = Exclude<NonNullable<Mapping['attributes']>, string>;

/** @returns the chosen ones by key, and whether all the rest comes too */
export function readAttributes({ attributes }: Mapping): { chosen: MappedAttributes; hasRest: boolean } {
  if (typeof attributes === 'string') return { chosen: {}, hasRest: true };
  const { '*': rest, ...chosen } = attributes ?? {};
  return { chosen, hasRest: rest === '*' };
}

export function writeAttributes(chosen: MappedAttributes, hasRest: boolean): Mapping['attributes'] {
  if (Object.keys(chosen).length === 0) return hasRest ? '*' : undefined;
  return hasRest ? { ...chosen, '*': '*' } : chosen;
}
