import { type Static, Type } from 'typebox';
import { ListQuery, orNull, ProjectQuery, titled } from '../http/answers/answers.ts';
import { optional } from '../kernel/optional.ts';

const wordOf = <const Words extends readonly string[]>(...words: Words) =>
  Type.Unsafe<Words[number]>(Type.Union(words.map((word) => Type.Literal(word))));

/** Source: docs/interface §3.2. */
const Status = wordOf('PENDING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELLED');
export type TaskStatus = Static<typeof Status>;
const Origin = wordOf('LIVE-API', 'CONSOLE', 'PIPELINE', 'CHANNEL');
export type TaskOrigin = Static<typeof Origin>;

const Failure = Type.Object(
  { code: Type.String(), message: Type.String(), details: Type.Array(Type.String()) },
  { description: 'only on a failed task' },
);
/** Why a task failed: the code, the text and the details of a refusal. */
export type TaskFailure = Readonly<Static<typeof Failure>>;

/** Source: docs/interface §2.4. */
export const WireTaskSchema = titled('Task', {
  id: Type.String({ description: '24 lower-case hex digits' }),
  projectId: Type.Integer(),
  projectName: orNull(Type.String()),
  origin: Origin,
  taskStatus: Status,
  name: Type.String({ description: 'empty for an upload' }),
  taskIncrementType: wordOf('STEP_BASED', 'ITEM_BASED'),
  failure: Type.Boolean(),
  requestTime: Type.Integer({ description: 'epoch milliseconds' }),
  startTime: Type.Integer({ description: 'epoch milliseconds' }),
  finishTime: orNull(Type.Integer(), 'null while unfinished'),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  logCounter: Type.Integer(),
  error: Type.Optional(Failure),
  warnings: optional.list(Type.String(), 'warnings for readers of the task, a sentence each'),
  counts: Type.Optional(
    Type.Record(Type.String(), Type.Integer(), { description: 'the counts of the build of a channel' }),
  ),
});

export const TaskParams = Type.Object({ id: Type.String() });

export const WaitQuery = Type.Object({
  wait: optional.integer({ minimum: 0, maximum: 60, description: 'seconds to wait for the end of the task' }),
});

export const TaskListQuery = Type.Object({
  ...ProjectQuery.properties,
  status: Type.Optional(Status),
  origin: Type.Optional(Origin),
  from: optional.integer({ minimum: 0, description: 'the earliest requestTime, included' }),
  to: optional.integer({ minimum: 0, description: 'the latest requestTime, excluded' }),
  ...ListQuery.properties,
});

export const TaskAnswer = Type.Object({ status: Type.Literal('success'), task: WireTaskSchema });

export const TaskList = Type.Object({
  status: Type.Literal('success'),
  tasks: Type.Array(WireTaskSchema, { description: 'newest first' }),
  nextCursor: orNull(Type.String()),
});

export const TaskLog = Type.Object({
  status: Type.Literal('success'),
  log: Type.Array(Type.Object({ at: Type.Integer(), line: Type.String() }), { description: 'oldest first' }),
  nextCursor: Type.Optional(orNull(Type.String(), 'of a page')),
});
