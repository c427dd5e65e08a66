import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Defined, Run, Shown } from '../../definitions/definitions.ts';
import { InputFormatSchema, type InputFormatSettings } from '../../formats/formats.ts';
import {
  byType,
  closedAs,
  closedObject,
  Id,
  Instant,
  Name,
  orNull,
  pageOf,
  titled,
} from '../../http/answers/answers.ts';
import type { Sent } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import { type ReportLine, type Task, toWireTask, WireTaskSchema } from '../../tasks/tasks.ts';
import { CellProblem, type MappedProduct, MappingSchema } from '../mapping/mapping.ts';
import {
  FoundList,
  PreviewWarning,
  SuggestionReason,
} from '../mapping/mapping-suggestions/mapping-suggestions.ts';
import { maskSource, type Source, SourceSchema, type SourceStamp } from '../sources/sources.ts';

export const PipelineParams = Type.Object({ id: Id, pipelineId: Id });

const PipelineSource = byType<Source>(SourceSchema, 'PipelineSource');
const PipelineFormat = byType<InputFormatSettings>(InputFormatSchema, 'PipelineFormat');

const ManualTrigger = closedObject({ type: Type.Literal('manual') });
const ScheduleTrigger = closedObject({
  type: Type.Literal('schedule'),
  cron: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'minute, hour, day of the month, month, day of the week',
  }),
  timeZone: Type.String({ minLength: 1, maxLength: 64, description: 'such as Europe/Berlin' }),
});
const WebhookTrigger = closedObject({
  type: Type.Literal('webhook'),
  minSecondsBetween: optional.integer({
    minimum: 0,
    /** A year. */
    maximum: 31_536_000,
    description: 'minimum time between two accepted calls; default 3600',
  }),
  id: optional.text('the last part of the URL; set by the service'),
  url: optional.text('the complete URL, for copying; set by the service'),
});
type SentTrigger = Static<typeof ManualTrigger | typeof ScheduleTrigger | typeof WebhookTrigger>;
const PipelineTrigger = byType<SentTrigger>(
  Type.Union([ManualTrigger, ScheduleTrigger, WebhookTrigger]),
  'PipelineTrigger',
);
/** Source: docs/interface §13.3. */
export type Trigger =
  | Sent<Static<typeof ManualTrigger | typeof ScheduleTrigger>>
  | { readonly type: 'webhook'; readonly minSecondsBetween: number };

const Mode = Type.Enum(['full', 'incremental', 'partial', 'delete', 'links', 'table']);

/** Source: docs/interface §13.1. */
const definition = {
  name: Name,
  source: PipelineSource,
  format: PipelineFormat,
  mapping: Type.Optional(MappingSchema),
  mode: Type.Optional({
    ...Mode,
    description: 'default full; only full creates the attributes of an automatic ontology',
  }),
  relationId: Type.Optional({ ...Id, description: 'mode links: the relation whose links are replaced' }),
  tableName: optional.text({
    minLength: 1,
    maxLength: 255,
    pattern: '^[^\\u0000]*$',
    description: 'mode table: the table that is replaced or created',
  }),
  trigger: PipelineTrigger,
  maxDeletePercent: optional.number({
    minimum: 0,
    maximum: 100,
    description: 'delete guard of the modes full, delete and links; default 30',
  }),
  onRejectedRow: Type.Optional(
    Type.Unsafe<'stop' | 'continue' | number>({
      anyOf: [
        { type: 'string', enum: ['stop', 'continue'] },
        { type: 'number', minimum: 0, maximum: 1 },
      ],
      description:
        'stop (default): the first rejected row ends the run; continue: rejected rows are skipped; a number from 0 to 1: rejected rows are skipped unless their share of the rows is larger',
    }),
  ),
  minProducts: optional.integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'a run that finds fewer products changes nothing; default 1',
  }),
};

/** The answer of GET can be sent back. Fields that the service adds are ignored. */
export const SentPipeline = closedAs('PipelineDefinition', {
  ...definition,
  id: optional.integer(),
  createdAt: optional.integer(),
  updatedAt: optional.integer(),
  nextRunAt: optional.integer(),
  lastRun: Type.Optional(Type.Unknown()),
});
export type SentPipeline = Static<typeof SentPipeline>;

const counted = (description: string) => Type.Integer({ description });

const Counts = titled('RunCounts', {
  rows: counted('rows read'),
  products: counted('products that rows made'),
  filtered: counted('rows that the filter excluded'),
  rejected: counted('rows that made no product'),
  created: counted('products that were created'),
  changed: counted('products that were replaced'),
  unchanged: counted('products that did not change'),
  deleted: counted('products that were deleted'),
  nothingNew: optional.flag('the source has not changed since the last run, so the run did nothing'),
});
const WireCounts = orNull(Counts, 'null until the run has counted');
export type RunCounts = Sent<Static<typeof Counts>>;
const StartedBy = Type.Enum(['manual', 'upload', 'schedule', 'webhook']);
export type RunStart = Static<typeof StartedBy>;

const LastRun = titled('LastRun', {
  taskId: Type.String(),
  taskStatus: WireTaskSchema.properties.taskStatus,
  startedBy: StartedBy,
  startTime: Instant,
  finishTime: orNull(Instant),
  counts: WireCounts,
});

export const WirePipeline = titled('Pipeline', {
  id: Type.Integer(),
  ...definition,
  mode: Mode,
  createdAt: Instant,
  updatedAt: Instant,
  nextRunAt: optional.integer('of a schedule: when the next run is due, epoch milliseconds'),
  lastRun: orNull(LastRun),
});

const WireRun = titled('PipelineRun', {
  task: WireTaskSchema,
  startedBy: StartedBy,
  counts: WireCounts,
});
export const RunPage = pageOf(WireRun, 'newest first');

/** Source: docs/interface §4.9. */
export const TriggeredAnswer = titled('TriggeredPipeline', {
  status: Type.Literal('success'),
  message: Type.Literal('Pipeline triggered'),
  task: WireTaskSchema,
});

export const RunQuery = Type.Object({
  force: optional.flag('read the source even if it has not changed since the last run'),
});

export const UploadQuery = Type.Object({
  name: optional.text({
    maxLength: 255,
    description: 'name of the file, for logs and guesses; default: the name in Content-Disposition',
  }),
});

/** A definition to try before it is stored. Source: docs/interface §13.5. */
export const SentPreview = closedAs('PipelineToTry', {
  // A whole definition can be tried before it is stored, like a relation.
  ...Type.Partial(SentPipeline).properties,
  source: PipelineSource,
  format: PipelineFormat,
  pipelineId: Type.Optional({
    ...Id,
    description: 'the stored pipeline that supplies the masked headers of the source',
  }),
  file: optional.object(
    {
      name: Type.String({ minLength: 1, maxLength: 255 }),
      base64: Type.String({ description: 'up to 8 MiB' }),
      isBeginning: optional.flag('the file continues after these bytes; not for xlsx and zip'),
    },
    { additionalProperties: false, description: 'for an upload source' },
  ),
  catalog: optional.flag(
    'also returns the catalog that the rows would make; for the modes full and incremental',
  ),
});
export type SentPreview = Static<typeof SentPreview>;

/** Source: docs/interface §13.5 rule 9. */
const WirePreviewCatalog = titled('PreviewCatalog', {
  rows: Type.Integer({ description: 'rows that were read' }),
  isWhole: Type.Boolean({ description: 'whether the source has no further rows' }),
  products: Type.Integer({ description: 'number of different identifiers' }),
  filtered: Type.Integer(),
  rejected: Type.Object({
    count: Type.Integer(),
    examples: Type.Array(Type.Object({ row: Type.Integer(), reason: Type.String() })),
  }),
  categories: Type.Array(Type.Object({ path: Type.Array(Type.String()), products: Type.Integer() }), {
    description: 'the most frequent first, up to 200',
  }),
  hasMoreCategories: Type.Boolean(),
  attributes: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.String(),
      unitName: optional.text(),
      decimal: optional.text(),
      reason: Type.String({ description: 'the reason for this type, in words' }),
      products: Type.Integer({ description: 'products that have a value' }),
      examples: Type.Array(Type.String()),
    }),
    { description: 'the most frequent first, up to 500' },
  ),
  hasMoreAttributes: Type.Boolean(),
});

/** Source: docs/interface §13.5. */
export const WirePreview = titled('PipelinePreview', {
  found: Type.Record(Type.String(), Type.String(), {
    description: 'detected properties of the file: encoding, delimiter, path, record, sheet, feed',
  }),
  columns: Type.Array(Type.String(), { description: 'in the order of their first appearance' }),
  rows: Type.Array(
    Type.Object({
      number: Type.Integer(),
      values: Type.Record(Type.String(), Type.Unknown()),
      product: Type.Optional(Type.Unsafe<MappedProduct>(Type.Record(Type.String(), Type.Unknown()))),
      problems: optional.list(CellProblem),
      isFiltered: optional.flag(),
    }),
    { description: 'the first rows of the source' },
  ),
  suggestion: Type.Object({
    mapping: MappingSchema,
    reasons: Type.Array(SuggestionReason),
    format: optional.object(
      { type: Type.String(), reason: Type.String() },
      'set if the file is written in another format than the one with which it was read',
    ),
  }),
  lists: Type.Array(FoundList, {
    description: 'columns that the mapping takes as single values although their cells look like lists',
  }),
  warnings: Type.Array(PreviewWarning, {
    description: 'problems that a person would notice in the products of the first 1,000 rows',
  }),
  catalog: Type.Optional(WirePreviewCatalog),
});
/** `catalog` is present if it was requested and the mapping is complete. */
export type Preview = Sent<Static<typeof WirePreview>>;

/** What an invalid row does to a run: it fails the run, it is skipped, or it is skipped up to a share of all rows. */
export type RejectedRowPolicy = NonNullable<SentPipeline['onRejectedRow']>;

/** A definition with its defaults filled in. Source: docs/interface §13.1. */
export type PipelineDefinition = Readonly<
  Pick<SentPipeline, 'name' | 'source' | 'format' | 'mapping' | 'relationId' | 'tableName'>
> &
  Readonly<Required<Pick<SentPipeline, 'mode' | 'maxDeletePercent' | 'onRejectedRow' | 'minProducts'>>> &
  Readonly<{ trigger: Trigger }>;

/** The state of a pipeline, which the service records. */
export interface PipelineState {
  /** The last part of the webhook's URL. */
  readonly triggerId: string;
  /** Recognises an unchanged source. */
  readonly stamp: SourceStamp | undefined;
}

export type Pipeline = Defined<PipelineDefinition, PipelineState>;

/**
 * An uploaded file, stored until its run has ended. It is stored in pieces, so that it is never in memory as a whole.
 */
export interface UploadedFile {
  readonly name: string;
  readonly charset: string | undefined;
  readonly sizeBytes: number;
  /** The payloads, in order. */
  readonly pieces: readonly string[];
}

export const NO_COUNTS: RunCounts = Value.Create(Counts);

/** A definition to try. If it has no mapping, the preview suggests one. */
export type TriedDefinition = Pick<PipelineDefinition, 'source' | 'format' | 'mapping' | 'mode'>;

export type BatchCounts = Pick<RunCounts, 'rows' | 'products' | 'filtered' | 'rejected'>;

/** What a run read from a source, and what it rejected. */
export interface ReadSummary extends BatchCounts {
  readonly stamp: SourceStamp | undefined;
  /** The first lines of the report. Further lines are only counted. */
  readonly report: readonly ReportLine[];
  readonly unreported: number;
  /** The revision of the pipeline that was read. */
  readonly revision: number;
}

/** Source: docs/interface §13.1, §13.3. */
export function toWirePipeline({ resource, lastRun }: Shown<Pipeline>, findBaseUrl: () => string) {
  const { id, definition: defined, state, dueAt, createdAt, updatedAt } = resource;
  const { trigger, source } = defined;
  return {
    id,
    ...defined,
    source: maskSource(source),
    trigger:
      trigger.type === 'webhook'
        ? { ...trigger, id: state.triggerId, url: `${findBaseUrl()}/etl-triggers/webhook/${state.triggerId}` }
        : trigger,
    createdAt,
    updatedAt,
    ...(dueAt !== undefined && { nextRunAt: dueAt }),
    lastRun: lastRun === undefined ? null : toLastRun(lastRun),
  };
}

function toLastRun(run: Run) {
  const { task, startedBy, counts } = toWireRun(run);
  const { id: taskId, taskStatus, startTime, finishTime } = task;
  return { taskId, taskStatus, startedBy, startTime, finishTime, counts };
}

export const toWireRun = ({ task, startedBy }: Run) => ({
  task: toWireTask(task),
  startedBy: startedBy as RunStart,
  counts: countsOf(task),
});

/** A run that ended before writing has only the counts of what it read. */
function countsOf({ result }: Task): RunCounts | null {
  if (result === undefined) return null;
  const { warnings: _, dropped: __, ...counts } = result as Partial<RunCounts> & Record<string, unknown>;
  return { ...NO_COUNTS, ...counts };
}

/** Source: docs/interface §4.9. */
export const toTriggered = (task: Task) => ({
  status: 'success' as const,
  message: 'Pipeline triggered' as const,
  task: toWireTask(task),
});
