import { type Static, Type } from 'typebox';
import type { Run, Shown } from '../../definitions/definitions.ts';
import { byType, Id, Instant, Name, orNull, pageOf } from '../../http/answers/answers.ts';
import { type Task, toWireTask, WireTaskSchema } from '../../tasks/tasks.ts';
import { type Format, FormatSchema } from '../formats/formats.ts';
import { type MappedProduct, SentMappingSchema } from '../mapping/mapping.ts';
import { maskSource, type Source, SourceSchema } from '../sources/sources.ts';
import { NO_COUNTS, type Pipeline, type RunCounts, type RunStart, type Trigger } from './pipeline.ts';

const closed = { additionalProperties: false } as const;

export const PipelineParams = Type.Object({ id: Id, pipelineId: Id });

const PipelineSource = byType<Source>(SourceSchema, 'PipelineSource');
const PipelineFormat = byType<Format>(FormatSchema, 'PipelineFormat');

const answeredOfWebhook = {
  id: Type.Optional(Type.String({ description: 'the last part of the URL; set by the service' })),
  url: Type.Optional(Type.String({ description: 'complete, to be copied; set by the service' })),
};

const YEAR_SECONDS = 31_536_000;

const PipelineTrigger = byType<Trigger | SentWebhook>(
  Type.Union([
    Type.Object({ type: Type.Literal('manual') }, closed),
    Type.Object(
      {
        type: Type.Literal('schedule'),
        cron: Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'minute, hour, day of the month, month, day of the week',
        }),
        timeZone: Type.String({ minLength: 1, maxLength: 64, description: 'as Europe/Berlin' }),
      },
      closed,
    ),
    Type.Object(
      {
        type: Type.Literal('webhook'),
        minSecondsBetween: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: YEAR_SECONDS,
            description: 'between two accepted calls; default 3600',
          }),
        ),
        ...answeredOfWebhook,
      },
      closed,
    ),
  ]),
  'PipelineTrigger',
);

interface SentWebhook {
  readonly type: 'webhook';
  readonly minSecondsBetween?: number;
  readonly id?: string;
  readonly url?: string;
}

const Mode = Type.Enum(['full', 'incremental', 'partial', 'delete', 'links']);

/** Source: docs/interface.md §13.1. */
const definition = {
  name: Name,
  source: PipelineSource,
  format: PipelineFormat,
  mapping: Type.Optional(SentMappingSchema),
  mode: Type.Optional({
    ...Mode,
    description: 'default full: it creates the attributes of an automatic ontology',
  }),
  relationId: Type.Optional({ ...Id, description: 'mode links: the relation whose links are replaced' }),
  trigger: PipelineTrigger,
  maxDeletePercent: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'delete guard of the modes full, delete and links; default 30',
    }),
  ),
  onRejectedRow: Type.Optional(
    Type.Unsafe<'stop' | 'continue' | number>({
      anyOf: [
        { type: 'string', enum: ['stop', 'continue'] },
        { type: 'number', minimum: 0, maximum: 1 },
      ],
      description:
        'stop (default): the first rejected row ends the run; continue: they are left out; a number from 0 to 1: they are left out as long as their share of the rows is not larger',
    }),
  ),
  minProducts: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'a run that finds fewer changes nothing; default 1',
    }),
  ),
};

const answered = {
  id: Type.Optional(Type.Integer()),
  createdAt: Type.Optional(Type.Integer()),
  updatedAt: Type.Optional(Type.Integer()),
  nextRunAt: Type.Optional(Type.Integer()),
  lastRun: Type.Optional(Type.Unknown()),
};

/** The answer of GET can be sent back: fields that the service adds are ignored. */
export const SentPipeline = Type.Object(
  { ...definition, ...answered },
  { ...closed, title: 'PipelineDefinition' },
);
export type SentPipeline = Static<typeof SentPipeline>;

const counted = (description: string) => Type.Integer({ description });

const Counts = Type.Object(
  {
    rows: counted('rows read'),
    products: counted('products that rows made'),
    filtered: counted('rows that the filter left out'),
    rejected: counted('rows that made no product'),
    created: counted('products that were not there'),
    changed: counted('products that were replaced'),
    unchanged: counted('products that were the same already'),
    deleted: counted('products that were deleted'),
    nothingNew: Type.Optional(
      Type.Boolean({ description: 'the source is what it was at the last run, and nothing was done' }),
    ),
  },
  { title: 'RunCounts' },
);
const WireCounts = orNull(Counts, 'null until the run has counted');
const StartedBy = Type.Enum(['manual', 'upload', 'schedule', 'webhook']);

const LastRun = Type.Object(
  {
    taskId: Type.String(),
    taskStatus: WireTaskSchema.properties.taskStatus,
    startedBy: StartedBy,
    startTime: Instant,
    finishTime: orNull(Instant),
    counts: WireCounts,
  },
  { title: 'LastRun' },
);

export const WirePipeline = Type.Object(
  {
    id: Type.Integer(),
    ...definition,
    mode: Mode,
    createdAt: Instant,
    updatedAt: Instant,
    nextRunAt: Type.Optional(
      Type.Integer({ description: 'of a schedule: when it is due, epoch milliseconds' }),
    ),
    lastRun: orNull(LastRun),
  },
  { title: 'Pipeline' },
);

const WireRun = Type.Object(
  { task: WireTaskSchema, startedBy: StartedBy, counts: WireCounts },
  { title: 'PipelineRun' },
);
export const RunPage = pageOf(WireRun, 'newest first');

/** Source: docs/interface.md §4.9. */
export const TriggeredAnswer = Type.Object(
  {
    status: Type.Literal('success'),
    message: Type.Literal('Pipeline triggered'),
    task: WireTaskSchema,
  },
  { title: 'TriggeredPipeline' },
);

export const RunQuery = Type.Object({
  force: Type.Optional(
    Type.Boolean({ description: 'read the source although it is what it was at the last run' }),
  ),
});

export const UploadQuery = Type.Object({
  name: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'of the file, for logs and guesses; else that of Content-Disposition',
    }),
  ),
});

/** What is tried before it is stored. Source: docs/interface.md §13.5. */
export const SentPreview = Type.Object(
  {
    // A whole definition can be tried before it is stored, as relations can.
    ...Type.Partial(SentPipeline).properties,
    source: PipelineSource,
    format: PipelineFormat,
    pipelineId: Type.Optional({
      ...Id,
      description: 'a stored pipeline that masked headers of the source are taken from',
    }),
    file: Type.Optional(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 255 }),
          base64: Type.String({ description: 'up to 8 MiB' }),
          isBeginning: Type.Optional(
            Type.Boolean({ description: 'the file goes on behind these bytes; not for xlsx and zip' }),
          ),
        },
        { ...closed, description: 'for an upload source' },
      ),
    ),
    catalog: Type.Optional(
      Type.Boolean({
        description: 'also say what catalog the rows would make; for the modes full and incremental',
      }),
    ),
  },
  { ...closed, title: 'PipelineToTry' },
);
export type SentPreview = Static<typeof SentPreview>;

const Problem = Type.Object(
  { field: Type.String(), column: Type.Optional(Type.String()), reason: Type.String() },
  { title: 'CellProblem' },
);

/** Source: docs/interface.md §13.5 rule 9. */
const WirePreviewCatalog = Type.Object(
  {
    rows: Type.Integer({ description: 'that were read' }),
    isWhole: Type.Boolean({ description: 'the source has no further rows' }),
    products: Type.Integer({ description: 'different identifiers' }),
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
        unitName: Type.Optional(Type.String()),
        decimal: Type.Optional(Type.String()),
        reason: Type.String({ description: 'why it has this type, in words' }),
        products: Type.Integer({ description: 'that have a value' }),
        examples: Type.Array(Type.String()),
      }),
      { description: 'the most frequent first, up to 500' },
    ),
    hasMoreAttributes: Type.Boolean(),
  },
  { title: 'PreviewCatalog' },
);

/** Source: docs/interface.md §13.5. */
export const WirePreview = Type.Object(
  {
    found: Type.Record(Type.String(), Type.String(), {
      description: 'what was found out about the file: encoding, delimiter, path, record, sheet, feed',
    }),
    columns: Type.Array(Type.String(), { description: 'in the order of their first appearance' }),
    rows: Type.Array(
      Type.Object({
        number: Type.Integer(),
        values: Type.Record(Type.String(), Type.Unknown()),
        product: Type.Optional(Type.Unsafe<MappedProduct>(Type.Record(Type.String(), Type.Unknown()))),
        problems: Type.Optional(Type.Array(Problem)),
        isFiltered: Type.Optional(Type.Boolean()),
      }),
      { description: 'the first rows of the source' },
    ),
    suggestion: Type.Object({
      mapping: SentMappingSchema,
      reasons: Type.Array(
        Type.Object({
          field: Type.String(),
          column: Type.String(),
          by: Type.Enum(['format', 'name', 'values']),
          confidence: Type.Enum(['high', 'medium', 'low'], {
            description: 'low: to be looked at before anything is imported',
          }),
          reason: Type.String({ description: 'why, in words' }),
        }),
      ),
      format: Type.Optional(
        Type.Object(
          { type: Type.String(), reason: Type.String() },
          { description: 'the file is written in another format than the one it was read as' },
        ),
      ),
    }),
    warnings: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
      description: 'what a person would notice in the products of the first 1,000 rows',
    }),
    catalog: Type.Optional(WirePreviewCatalog),
  },
  { title: 'PipelinePreview' },
);

/** Source: docs/interface.md §13.1, §13.3. */
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

function toLastRun({ task, startedBy }: Run) {
  const { id, taskStatus, startTime, finishTime } = toWireTask(task);
  return {
    taskId: id,
    taskStatus,
    startedBy: startedBy as RunStart,
    startTime,
    finishTime,
    counts: countsOf(task),
  };
}

export const toWireRun = ({ task, startedBy }: Run) => ({
  task: toWireTask(task),
  startedBy: startedBy as RunStart,
  counts: countsOf(task),
});

/** A run that ended before it wrote has counted only what it read. */
function countsOf({ result }: Task): RunCounts | null {
  if (result === undefined) return null;
  const { warnings: _, dropped: __, ...counts } = result as Partial<RunCounts> & Record<string, unknown>;
  return { ...NO_COUNTS, ...counts };
}

/** Source: docs/interface.md §4.9. */
export const toTriggered = (task: Task) => ({
  status: 'success' as const,
  message: 'Pipeline triggered' as const,
  task: toWireTask(task),
});
