import type { GatheredWrites } from '../../catalog/updates/updates.ts';
import type { Base } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import { gatherPieces, removeAll } from './link-tasks.ts';

/**
 * Replaces tables by what runs of pipelines gathered, in the order of the project's tasks. Source:
 * docs/interface §12.9, §13.9.
 */

interface TablePayload {
  readonly name: string;
  /** Lists of lines, in order. A line has a value of the source and the values that go with it. */
  readonly payloadNames: readonly string[];
}

interface TableTaskParts extends Pick<Base, 'payloads'> {
  readonly tasks: Tasks;
  /** Replaces a table by these JSON lists of lines. @returns the number of pairs @throws request_invalid */
  replace(
    projectId: number,
    table: { readonly name: string; readonly lists: readonly Uint8Array[] },
  ): Promise<number>;
  /** Builds the relations that use the table. */
  follow(run: TaskRun): Promise<void>;
}

/** @returns a function that gathers the table that a long task will put in place */
export function createTableTasks(parts: TableTaskParts) {
  const { payloads, tasks } = parts;
  const task: TaskDefinition<TablePayload> = {
    kind: 'relations.table',
    name: 'relation table',
    increment: 'STEP_BASED',
    acceptedAs: 'RUNNING',
    isOrdered: true,
    run: (payload, run) => replaceTable(parts, payload, run),
    ended: ({ payloadNames }, { projectId }) => removeAll(payloads, projectId, payloadNames),
  };
  tasks.define([task]);

  return (owner: Task, name: string): GatheredWrites => {
    const { payloadNames, ...pieces } = gatherPieces(payloads, owner.projectId, 'table');
    const replacing = [{ definition: task, payload: { name, payloadNames } }];
    return { ...pieces, accept: ({ note }) => tasks.parts.accept(owner, replacing, note) };
  };
}

async function replaceTable(
  { payloads, replace, follow }: TableTaskParts,
  { name, payloadNames }: TablePayload,
  run: TaskRun,
): Promise<void> {
  const { projectId } = run.task;
  const lists = await Array.fromAsync(payloadNames, (payloadName) => payloads.read(projectId, payloadName));
  const pairs = await run.takeEffect(() => replace(projectId, { name, lists }));
  await follow(run);
  await run.log(`the table ${name} has ${pairs} pairs`);
  run.count({ pairs });
}
