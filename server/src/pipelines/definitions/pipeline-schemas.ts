import { type Static, Type } from 'typebox';
import { byType, Id, ListQuery } from '../../http/http.ts';
import { WireTaskSchema } from '../../tasks/tasks.ts';
import { type Format, FormatSchema } from '../formats/formats.ts';
import { SentMappingSchema } from '../mapping/mapping.ts';
import { type Source, SourceSchema } from '../sources/sources.ts';
import type { Trigger } from './pipeline.ts';

export const closed = { additionalProperties: false } as const;
const Instant = Type.Integer({ description: 'epoch milliseconds' });
const NextCursor = Type.Union([Type.String(), Type.Null()], { description: 'null when nothing follows' });
const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' });

export const PipelineParams = Type.Object({ id: Id, pipelineId: Id });
export { ListQuery };

export const PipelineSource = byType<Source>(SourceSchema, 'PipelineSource');
export const PipelineFormat = byType<Format>(FormatSchema, 'PipelineFormat');

const answeredOfWebhook = {
  id: Type.Optional(Type.String({ description: 'the last part of the URL; set by the service' })),
  url: Type.Optional(Type.String({ description: 'complete, to be copied; set by the service' })),
};

export const YEAR_SECONDS = 31_536_000;

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
const RunCounts = Type.Union([Counts, Type.Null()], { description: 'null until the run has counted' });
const StartedBy = Type.Enum(['manual', 'upload', 'schedule', 'webhook']);

const LastRun = Type.Object(
  {
    taskId: Type.String(),
    taskStatus: WireTaskSchema.properties.taskStatus,
    startedBy: StartedBy,
    startTime: Instant,
    finishTime: Type.Union([Instant, Type.Null()]),
    counts: RunCounts,
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
    lastRun: Type.Union([LastRun, Type.Null()]),
  },
  { title: 'Pipeline' },
);

export const PipelinePage = Type.Object({ items: Type.Array(WirePipeline), nextCursor: NextCursor });

export const WireRun = Type.Object(
  { task: WireTaskSchema, startedBy: StartedBy, counts: RunCounts },
  { title: 'PipelineRun' },
);
export const RunPage = Type.Object({
  items: Type.Array(WireRun, { description: 'newest first' }),
  nextCursor: NextCursor,
});

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
