import type { GatheredWrites } from '../../catalog/updates/updates.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Base } from '../../storage/storage.ts';
import type { Task, TaskDefinition, TaskRun, Tasks } from '../../tasks/tasks.ts';
import { PAIRS_PER_TABLE, type SentTable, type StoredTable } from '../definitions/definitions.ts';
import { identifierOf, unpackLines } from './link-lines.ts';
import { gatherPieces, removeAll } from './link-tasks.ts';

/** Tables that runs of pipelines replace, in the order of the project. Source: docs/interface §12.9, §13.9. */

interface TablePayload {
  readonly name: string;
  /** Lists of lines, in order: a line has the values that go with one of the source. */
  readonly payloadNames: readonly string[];
}

interface TableTaskParts extends Pick<Base, 'payloads'> {
  readonly tasks: Tasks;
  find(projectId: number, name: string): Promise<StoredTable | undefined>;
  save(projectId: number, saved: { readonly table: SentTable; readonly isNew: boolean }): Promise<unknown>;
  /** Builds the relations that use the table. */
  follow(run: TaskRun): Promise<void>;
}

/** @returns a function that gathers the table that a long task is about to put in place */
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
  { payloads, find, save, follow }: TableTaskParts,
  { name, payloadNames }: TablePayload,
  run: TaskRun,
): Promise<void> {
  const { projectId } = run.task;
  const pairs = new Map<string, [string, string]>();
  for (const payloadName of payloadNames) {
    for (const { source, targets } of unpackLines(await payloads.read(projectId, payloadName)))
      for (const target of targets.map(identifierOf))
        pairs.set(JSON.stringify([source, target]), [source, target]);
  }
  if (pairs.size > PAIRS_PER_TABLE) {
    throw new ServiceError('request_invalid', `${pairs.size} pairs, a table has at most ${PAIRS_PER_TABLE}`);
  }
  const present = await find(projectId, name);
  const { description } = present ?? {};
  const table = { name, ...(description !== undefined && { description }), pairs: [...pairs.values()] };
  await run.takeEffect(() => save(projectId, { table, isNew: present === undefined }));
  await follow(run);
  await run.log(`the table ${name} has ${pairs.size} pairs`);
  run.count({ pairs: pairs.size });
}
