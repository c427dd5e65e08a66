import { sql } from 'kysely';
import type { PagePlace } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';
import { type Columns, insertRow, type Rows } from './definition-store.ts';

/** Where runs of resources are: a row for each, with the number of its task. An index leads from a resource to its runs. */
export interface RunTable {
  readonly name: keyof ControlSchema;
  /** The table of the resources, and the column with their ids. */
  readonly owners: keyof ControlSchema;
  readonly owner: string;
}

/** A resource that runs. */
export interface RunKey {
  readonly projectId: number;
  readonly id: number;
}

/** Where the task of a run is, and what started it. */
export interface RunPlace {
  readonly ownerId: number;
  readonly taskNumber: number;
  readonly startedBy: string;
}

export type RunStore = ReturnType<typeof createRunStore>;

/** The statements of the runs of a kind. */
export function createRunStore({ name, owners, owner }: RunTable) {
  const runs = sql.table(name);
  const ownerId = sql.ref(`run.${owner}`);
  const selectPlaces = sql`select ${ownerId} as "ownerId", run.task_number as "taskNumber",
    run.started_by as "startedBy" from ${runs} run`;

  return {
    name,

    /**
     * Only the newest run can be open, so only that one is read: one seek in the index.
     * @returns whether a run is open; call it under the project's write lock
     */
    async hasOpen(rows: Rows, { projectId, id }: RunKey): Promise<boolean> {
      const found = await sql<{ finish_time: number | null }>`select task.finish_time from ${runs} run
        join task on task.project_id = run.project_id and task.number = run.task_number
        where run.project_id = ${projectId} and ${ownerId} = ${id}
        order by run.task_number desc limit 1`.execute(rows);
      return found.rows[0]?.finish_time === null;
    },

    async insert(
      tx: ControlTransaction,
      { projectId, number, id }: Task,
      { ownerId: of, startedBy, ...own }: Pick<RunPlace, 'ownerId' | 'startedBy'> & Columns,
    ): Promise<void> {
      const place = { project_id: projectId, task_number: number, task_id: id };
      await insertRow(tx, name, { ...place, [owner]: of, started_by: startedBy, ...own });
    },

    /** @returns the newest first; `after` is the number of a task */
    async list(
      rows: Rows,
      { projectId, id }: RunKey,
      { after = Number.MAX_SAFE_INTEGER, count }: PagePlace,
    ): Promise<RunPlace[]> {
      const found = await sql<RunPlace>`${selectPlaces}
        where run.project_id = ${projectId} and ${ownerId} = ${id} and run.task_number < ${after}
        order by run.task_number desc limit ${count}`.execute(rows);
      return found.rows;
    },

    /** @returns the newest run of each resource that has one, of a range of ids */
    async listLast(
      rows: Rows,
      projectId: number,
      { from, to }: { readonly from: number; readonly to: number },
    ): Promise<RunPlace[]> {
      // One seek in the index for each resource, however many runs it has.
      const newest = sql`(select max(r.task_number) from ${runs} r
        where r.project_id = resource.project_id and ${sql.ref(`r.${owner}`)} = resource.id)`;
      const found = await sql<RunPlace>`${selectPlaces}
        join ${sql.table(owners)} resource on run.project_id = resource.project_id and ${ownerId} = resource.id
        where resource.project_id = ${projectId} and resource.id >= ${from} and resource.id <= ${to}
          and run.task_number = ${newest}`.execute(rows);
      return found.rows;
    },

    /** Deletes runs whose tasks are deleted. */
    async dropForgotten(database: Database): Promise<void> {
      const isTask = sql`task.project_id = ${sql.ref(`${name}.project_id`)}
        and task.number = ${sql.ref(`${name}.task_number`)}`;
      const drop = sql`delete from ${runs} where not exists (select task.number from task where ${isTask})`;
      await database.write('rows', (tx) => drop.execute(tx));
    },
  };
}
