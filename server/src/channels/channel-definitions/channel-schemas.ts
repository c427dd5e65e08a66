import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Defined, Run, Shown } from '../../definitions/definitions.ts';
import { describeOutputFormat, OUTPUT_FORMATS, planFiles } from '../../formats/formats.ts';
import { RELATED_AS, type RelatedAs } from '../../formats/output/output.ts';
import { byType, closedAs, Id, Instant, Name, orNull, pageOf, titled } from '../../http/answers/answers.ts';
import type { Sent } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import { WireFilter } from '../../relations/relation-definitions/relation-definitions.ts';
import { type Task, toWireTask, WireTaskSchema } from '../../tasks/tasks.ts';
import { type Destination, DestinationSchema, maskDestinations } from '../destinations/destinations.ts';
import { type ChannelMapping, OWN_FIELDS } from '../field-mapping/field-mapping.ts';

const Percent = (description: string) => optional.number({ minimum: 0, maximum: 100, description });

export const ChannelParams = Type.Object({ id: Id, channelId: Id });

const Format = Type.Object(
  {
    type: Type.Enum(OUTPUT_FORMATS.map(({ type }) => type)),
    variant: optional.text({
      maxLength: 32,
      description: `${OUTPUT_FORMATS.map(({ type, variants }) => `${type}: ${Object.keys(variants).join(', ')}`).join('; ')}; default: the first`,
    }),
    compression: optional.choice(['gzip', 'none'], 'default none; gzip for openai as jsonl'),
  },
  {
    additionalProperties: false,
    title: 'ChannelFormat',
    'x-formats': OUTPUT_FORMATS.map(describeOutputFormat),
  },
);

const Source = Type.Object(
  {
    attribute: optional.text({ minLength: 1, maxLength: 255 }),
    field: optional.choice(Object.keys(OWN_FIELDS)),
    constant: optional.text({ maxLength: 65_536 }),
    template: optional.text({
      minLength: 1,
      maxLength: 4_096,
      description:
        'text with names of attributes or fields in braces, such as {Price} EUR; write {{ and }} for literal braces',
    }),
    expression: optional.text({
      minLength: 1,
      maxLength: 4_096,
      description: 'a JSONata expression that sees only the product; time and memory are limited',
    }),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    title: 'ChannelSource',
    description: 'exactly one of these',
  },
);

const Relation = closedAs('ChannelRelation', {
  tag: optional.text({ minLength: 1, maxLength: 255, description: 'the tag of relations; either tag or id' }),
  id: Type.Optional({ ...Id, description: 'the id of one relation; either tag or id' }),
  as: Type.Enum([...RELATED_AS], { description: 'the role of the related products' }),
  limit: optional.integer({
    minimum: 1,
    maximum: 100,
    description: 'maximum number of related products per relation and product; default 10',
  }),
});

const ChannelDestination = byType<Destination>(DestinationSchema, 'ChannelDestination');

const YEAR_SECONDS = 31_536_000;

const SentTrigger = closedAs('ChannelTrigger', {
  type: Type.Enum(['manual', 'schedule', 'change']),
  cron: optional.text({
    minLength: 1,
    maxLength: 255,
    description: 'schedule: the same form as in a pipeline',
  }),
  timeZone: optional.text({ minLength: 1, maxLength: 64, description: 'schedule: such as Europe/Berlin' }),
  minSecondsBetween: optional.integer({
    minimum: 0,
    maximum: YEAR_SECONDS,
    description: 'change: minimum time between two builds; default 300',
  }),
});

/** Source: docs/interface §16.1. */
const definition = {
  name: Name,
  format: Format,
  filter: Type.Optional({ ...WireFilter, description: 'default: every product' }),
  mapping: Type.Optional(
    Type.Record(Type.String({ minLength: 1, maxLength: 255 }), Source, {
      maxProperties: 2_000,
      description: "the format's fields, in the order of the columns; default: suggested from the ontology",
    }),
  ),
  relations: optional.list(Relation, { maxItems: 50 }),
  trigger: Type.Optional({ ...SentTrigger, description: 'default manual' }),
  destinations: optional.list(ChannelDestination, {
    maxItems: 5,
    description: 'servers and buckets that receive every build, in addition to the address; default none',
  }),
  changes: optional.flag(
    'a build has only rows that changed since the previous build, and rows of removed products; default false',
  ),
  maxDeletePercent: Percent('a build that loses more of the published rows fails; default 30'),
  maxLeftOutPercent: Percent(
    'a build fails if it leaves out more of the products that the filter takes, because they lack what the format requires; default 100',
  ),
};

const answered = {
  id: optional.integer(),
  url: optional.text(),
  createdAt: optional.integer(),
  updatedAt: optional.integer(),
  nextBuildAt: optional.integer(),
  published: Type.Optional(Type.Unknown()),
  lastBuild: Type.Optional(Type.Unknown()),
};

/** The answer of GET can be sent back. Fields that the service adds are ignored. */
export const SentChannel = closedAs('ChannelDefinition', { ...definition, ...answered });
export type SentChannel = Static<typeof SentChannel>;

const counted = (description: string) => Type.Integer({ description });

const Counts = titled('BuildCounts', {
  products: counted('products of the catalog'),
  filtered: counted('products that the filter excluded, or that are only for some groups of customers'),
  rows: counted('products that are in the files'),
  leftOut: counted('products that lack what the format requires'),
  related: counted('related products, of all rows'),
  relatedLeftOut: counted(
    'related products of all rows that were not named because they are not in the files',
  ),
  files: counted('files of rows'),
  bytes: counted('bytes of these files'),
  unchanged: Type.Optional(counted('with changes: unchanged rows, which are not in the files')),
  removed: Type.Optional(counted('with changes: rows of removed products')),
});
const WireCounts = orNull(Counts, 'null until the build has counted');
export type BuildCounts = Static<typeof Counts>;
const StartedBy = Type.Enum(['manual', 'schedule', 'change']);
export type BuildStart = Static<typeof StartedBy>;

const LastBuild = titled('LastBuild', {
  taskId: Type.String(),
  taskStatus: WireTaskSchema.properties.taskStatus,
  startedBy: StartedBy,
  startTime: Instant,
  finishTime: orNull(Instant),
  warnings: Type.Optional(WireTaskSchema.properties.warnings),
  error: Type.Optional(WireTaskSchema.properties.error),
  counts: WireCounts,
});

const Published = titled('PublishedFeed', {
  builtAt: Instant,
  catalogVersion: Type.Integer(),
  rows: Type.Integer(),
  files: Type.Array(
    Type.Object({
      name: Type.String(),
      url: Type.String(),
      rows: Type.Integer(),
      sizeBytes: Type.Integer(),
      sha256: Type.String(),
    }),
  ),
});

export const WireChannel = titled('Channel', {
  id: Type.Integer(),
  ...definition,
  filter: WireFilter,
  relations: Type.Array(Relation),
  trigger: SentTrigger,
  destinations: Type.Array(ChannelDestination),
  url: Type.String({ description: 'the published address; no key is needed to read it' }),
  createdAt: Instant,
  updatedAt: Instant,
  nextBuildAt: optional.integer('of a schedule: when the next build is due, epoch milliseconds'),
  published: orNull(Published, 'null until the first build'),
  lastBuild: orNull(LastBuild),
});

const WireBuild = titled('ChannelBuild', { task: WireTaskSchema, startedBy: StartedBy, counts: WireCounts });
export const BuildPage = pageOf(WireBuild, 'newest first');

export const BuildAnswer = titled('StartedBuild', {
  status: Type.Literal('success'),
  message: Type.Literal('Channel build started'),
  task: WireTaskSchema,
});

/** May be omitted for a stored channel. Then the stored channel is previewed. */
export const SentPreview = closedAs('ChannelToTry', {
  ...Type.Partial(Type.Object(definition)).properties,
  destinations: Type.Optional({ ...definition.destinations, description: 'a preview delivers nothing' }),
  ...answered,
});
export type SentPreview = Static<typeof SentPreview>;

const Problem = titled('FieldProblem', {
  field: Type.String(),
  code: Type.String(),
  value: optional.text(),
  message: Type.String(),
});

/** Source: docs/interface §16.5. */
export const WirePreview = titled('ChannelPreview', {
  fileName: Type.String(),
  columns: Type.Array(Type.String()),
  mapping: Type.Record(Type.String(), Source, {
    description: 'the mapping that was sent, or else the suggested one',
  }),
  rows: Type.Array(
    Type.Object({
      identifier: Type.String(),
      values: Type.Record(Type.String(), Type.Array(Type.String())),
      related: Type.Array(Type.Object({ as: Type.String(), identifiers: Type.Array(Type.String()) })),
      problems: Type.Array(Problem),
      isLeftOut: Type.Boolean({ description: 'the product lacks what the format requires' }),
    }),
    { description: 'the first products that the filter takes' },
  ),
  missing: Type.Array(
    Type.Object({
      field: Type.String(),
      products: Type.Integer({
        description: 'number of products that lack the field, of the products that were read',
      }),
      identifiers: Type.Array(Type.String(), { description: 'identifiers of the first of these products' }),
      message: Type.String(),
    }),
    { description: 'required fields that products lack' },
  ),
  looked: Type.Object({
    products: Type.Integer(),
    taken: Type.Integer({ description: 'products that the filter took' }),
    leftOut: Type.Integer(),
  }),
  text: Type.String({ description: 'the beginning of the file' }),
});
export type FeedPreview = Sent<Static<typeof WirePreview>>;

/** Source: docs/interface §16.4. */
export type Trigger =
  | { readonly type: 'manual' }
  | { readonly type: 'schedule'; readonly cron: string; readonly timeZone: string }
  | { readonly type: 'change'; readonly minSecondsBetween: number };

/** Related products in the file: of one relation, or of all relations with a tag. */
export type ChannelRelation = Sent<Static<typeof Relation>> & {
  readonly as: RelatedAs;
  readonly limit: number;
};

/**
 * A definition with its defaults filled in, and *** in place of sealed values of destinations. Source: docs/interface
 * §16.1.
 */
export type ChannelDefinition = Sent<Pick<SentChannel, 'name' | 'format'>> &
  Sent<Required<Pick<SentChannel, 'filter' | 'destinations' | 'maxDeletePercent' | 'maxLeftOutPercent'>>> & {
    /** If absent, each build suggests a mapping from the ontology at that time. */
    readonly mapping?: ChannelMapping | undefined;
    readonly relations: readonly ChannelRelation[];
    readonly trigger: Trigger;
    readonly changes?: true | undefined;
  };

export interface ChannelState {
  /** A part of the published address. */
  readonly token: string;
  /** The catalog version with the change that started the last build. */
  readonly builtVersion: number | undefined;
  /** The task that made the served snapshot. */
  readonly published: number | undefined;
}

export type Channel = Defined<ChannelDefinition, ChannelState>;

export interface FeedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly rows: number;
  /** The hash of its bytes, in hexadecimal. */
  readonly sha256: string;
  readonly pieces: readonly { readonly name: string; readonly sizeBytes: number }[];
}

/** The rows that a channel has published, for comparison with the next build. */
export interface PublishedRows extends Omit<FeedFile, 'name' | 'mediaType'> {
  /** The time of the build with which this one was compared; absent if all rows were written. */
  readonly since?: number;
}

/** The result of a build. It is immutable, and belongs to one catalog version. */
export interface Snapshot {
  readonly projectId: number;
  readonly channelId: number;
  readonly taskNumber: number;
  readonly catalogVersion: number;
  readonly rows: number;
  readonly files: readonly FeedFile[];
  /** Absent if builds are not compared, or if this build did not reach all its destinations. */
  readonly published?: PublishedRows;
  readonly createdAt: number;
}

export const NO_COUNTS: BuildCounts = Value.Create(Counts);

/** Source: docs/interface §16.1. */
export function toWireChannel(
  { resource, seen: published, lastRun: lastBuild }: Shown<Channel, Snapshot>,
  findBaseUrl: () => string,
) {
  const { id, definition, state, dueAt, createdAt, updatedAt } = resource;
  const urlOf = (fileName: string) => `${findBaseUrl()}/channels/${state.token}/${fileName}`;
  const isPlanned = definition.trigger.type === 'schedule' && dueAt !== undefined;
  return {
    id,
    ...definition,
    destinations: maskDestinations(definition.destinations),
    url: urlOf(planFiles(definition.format).nameOf(1)),
    createdAt,
    updatedAt,
    ...(isPlanned && { nextBuildAt: dueAt }),
    published: published === undefined ? null : toPublished(published, urlOf),
    lastBuild: lastBuild === undefined ? null : toLastBuild(lastBuild),
  };
}

const toPublished = (
  { createdAt, catalogVersion, rows, files }: Snapshot,
  urlOf: (fileName: string) => string,
) => ({
  builtAt: createdAt,
  catalogVersion,
  rows,
  files: files.map((file) => {
    const { name, sizeBytes, sha256 } = file;
    return { name, url: urlOf(name), rows: file.rows, sizeBytes, sha256 };
  }),
});

function toLastBuild(run: Run) {
  const { task, startedBy, counts } = toWireBuild(run);
  const { id: taskId, taskStatus, startTime, finishTime, warnings, error } = task;
  return {
    taskId,
    taskStatus,
    startedBy,
    startTime,
    finishTime,
    counts,
    ...(warnings && { warnings }),
    ...(error && { error }),
  };
}

export const toWireBuild = ({ task, startedBy }: Run) => ({
  task: toWireTask(task),
  startedBy: startedBy as BuildStart,
  counts: task.result ? { ...NO_COUNTS, ...(task.result as { counts?: BuildCounts }).counts } : null,
});

export const toStartedBuild = (task: Task) => ({
  status: 'success' as const,
  message: 'Channel build started' as const,
  task: toWireTask(task),
});
