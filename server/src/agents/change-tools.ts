import { Type } from 'typebox';
import { toWireTask } from '../tasks/tasks.ts';
import { defineTool, fitPage, shorten } from './tool.ts';

const COUNTS = ['created', 'changed', 'unchanged', 'deleted', 'restored'] as const;
const PAGE = 20;

export const catalogChanges = defineTool({
  name: 'catalog_changes',
  title: 'Changes of the catalog',
  description:
    'What changed the catalog lately: full updates, updates and deletions, the newest first, with counts.',
  input: Type.Object(
    {
      since: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch milliseconds' })),
      cursor: Type.Optional(
        Type.String({ pattern: '^\\d{1,15}$', description: 'nextCursor of the page before' }),
      ),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    changes: Type.Array(
      Type.Object({
        task: Type.String(),
        what: Type.String(),
        status: Type.String(),
        requestedAt: Type.Integer({ description: 'epoch milliseconds' }),
        finishedAt: Type.Union([Type.Integer(), Type.Null()]),
        ...Object.fromEntries(COUNTS.map((name) => [name, Type.Optional(Type.Integer())])),
        error: Type.Optional(Type.String()),
      }),
    ),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
  async answer({ tasks, project }, { since, cursor }) {
    const below = cursor === undefined ? undefined : Number(cursor);
    const found = await tasks.list({ projectId: project.id, from: since, below, limit: PAGE + 1 });
    const page = found.slice(0, PAGE);
    // An upload changes nothing before its commit, which is listed too.
    const reported = page.filter(
      ({ increment, status }) => increment === 'STEP_BASED' || status === 'FAILED',
    );
    const shown = fitPage(reported.map((task) => ({ number: task.number, change: describeChange(task) })));
    const last = shown.length < reported.length ? shown.at(-1) : page.at(-1);
    const isMore = shown.length < reported.length || found.length > PAGE;
    return {
      changes: shown.map(({ change }) => change),
      nextCursor: isMore && last !== undefined ? String(last.number) : null,
    };
  },
});

function describeChange(task: Parameters<typeof toWireTask>[0]) {
  const { id, name, taskStatus, requestTime, finishTime, error } = toWireTask(task);
  const counted = (task.result ?? {}) as Partial<Record<string, unknown>>;
  const counts = COUNTS.filter((count) => typeof counted[count] === 'number').map((count) => [
    count,
    counted[count],
  ]);
  return {
    ...{
      task: id,
      what: shorten(name),
      status: taskStatus,
      requestedAt: requestTime,
      finishedAt: finishTime,
    },
    ...Object.fromEntries(counts),
    ...(error && { error: shorten(error.message) }),
  };
}
