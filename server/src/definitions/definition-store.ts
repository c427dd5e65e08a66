import { type Selectable, type SqlBool, sql } from 'kysely';
import type { ChosenProject } from '../kernel/caller.ts';
import { type Columns, type Found, type PagePlace, selectFound, type Table } from '../projects/projects.ts';
import {
  areEqual,
  assignFields,
  type ControlSchema,
  type ControlTransaction,
  control,
  type Database,
  type Rows,
} from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';

/** The columns that the tables of all kinds in projects share. */
type DefinedRow = Pick<
  Selectable<ControlSchema['channel']>,
  'id' | 'project_id' | 'definition' | 'secrets' | 'revision' | 'created_at' | 'updated_at'
>;

/** The part of `Table` that is the same for all kinds in projects. */
export const inProjectTable = {
  keyOf: ({ projectId, id }: { readonly projectId: number; readonly id: number }) => ({ projectId, id }),
  within: ({ id }: Pick<ChosenProject, 'id'>) => sql<SqlBool>`project_id = ${id}`,
};

export const readDefined = <Definition>(row: DefinedRow) => ({
  id: row.id,
  projectId: row.project_id,
  definition: JSON.parse(row.definition) as Definition,
  sealed: row.secrets ?? undefined,
  revision: row.revision,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** The columns that `readDefined` reads and that a change writes. */
export const toDefinedColumns = (
  defined: Pick<ReturnType<typeof readDefined>, 'definition' | 'sealed' | 'revision' | 'updatedAt'>,
) => ({
  definition: JSON.stringify(defined.definition),
  secrets: defined.sealed,
  revision: defined.revision,
  updatedAt: defined.updatedAt,
});

/** A resource that may be due at an instant. */
export interface Due {
  readonly id: number;
  readonly projectId: number;
  readonly dueAt: number | undefined;
}

/** A table whose rows become due; `dueColumn` has an index. */
export interface DueTable<Resource extends Due, Place> extends Table<Resource, Place> {
  /** The column with the instant at which a row is due; null if it is never due. */
  readonly dueColumn: string;
}

/** @returns the due resources that follow `after`, the longest overdue first */
export async function listDue<Resource extends Due, Place>(
  { read, now }: Pick<Database, 'read' | 'now'>,
  table: DueTable<Resource, Place>,
  { after, limit }: { readonly after: Resource | undefined; readonly limit: number },
): Promise<Found<Resource>[]> {
  const due = sql.ref(`${table.name}.${table.dueColumn}`);
  const order = sql`${due}, ${sql.ref(`${table.name}.project_id`)}, ${sql.ref(`${table.name}.id`)}`;
  const behind = after && sql`and (${order}) > (${after.dueAt}, ${after.projectId}, ${after.id})`;
  // A volatile clock function cannot bound an index scan; the value of a subquery can.
  const isDue = sql`${due} is not null and ${due} <= (select ${now}) ${behind ?? sql``}`;
  return selectFound(read, table, sql`${isDue} order by ${order} limit ${limit}`);
}

/** When a resource is next due, and other columns to write with that instant. */
export interface NextDue {
  readonly dueAt: number | undefined;
  readonly columns?: Columns;
}

/** @returns false if the due instant was changed since it was read, or the resource was removed */
export async function moveDue<Resource extends Due, Place>(
  tx: ControlTransaction,
  { name, dueColumn }: DueTable<Resource, Place>,
  { resource, next }: { readonly resource: Resource; readonly next: NextDue },
): Promise<boolean> {
  const columns = assignFields({ [dueColumn]: next.dueAt, ...next.columns });
  const isResource = areEqual(inProjectTable.keyOf(resource));
  const moved = await sql`update ${sql.table(name)} set ${columns} where ${isResource}
    and ${sql.ref(dueColumn)} is not distinct from ${resource.dueAt ?? null}`.execute(tx);
  return Number(moved.numAffectedRows) > 0;
}

/** The table of a kind's runs. Each row has the number of its task. An index finds the runs of a resource. */
interface RunTable {
  readonly name: keyof ControlSchema;
  /** The table of the resources, and the column of the runs that refers to it. */
  readonly owners: keyof ControlSchema;
  readonly owner: string;
}

/** The key of a resource that has runs. */
type RunKey = Pick<Due, 'projectId' | 'id'>;

/** The task of a run, and what started it. */
export interface RunRow {
  readonly ownerId: number;
  readonly taskNumber: number;
  readonly startedBy: string;
}

export type RunStore = ReturnType<typeof createRunStore>;

/** The statements for the runs of a kind. */
export function createRunStore({ name, owners, owner }: RunTable) {
  const runs = sql.table(name);
  const ownerId = sql.ref(`run.${owner}`);
  const selectRuns = sql`select ${ownerId} as "ownerId", run.task_number as "taskNumber",
    run.started_by as "startedBy" from ${runs} run`;

  return {
    name,

    /**
     * Reads only the newest run, in one seek of the index, because no earlier run can be open.
     * Call it under the write lock of the project.
     * @returns whether a run is open
     */
    async hasOpen(rows: Rows, { projectId, id }: RunKey): Promise<boolean> {
      const result = await sql<{ finish_time: number | null }>`select task.finish_time from ${runs} run
        join task on task.project_id = run.project_id and task.number = run.task_number
        where run.project_id = ${projectId} and ${ownerId} = ${id}
        order by run.task_number desc limit 1`.execute(rows);
      return result.rows[0]?.finish_time === null;
    },

    async insert(
      tx: ControlTransaction,
      { projectId, number, id }: Task,
      { ownerId: of, startedBy, ...own }: Pick<RunRow, 'ownerId' | 'startedBy'> & Columns,
    ): Promise<void> {
      await control.insert(tx, name, {
        projectId,
        taskNumber: number,
        taskId: id,
        [owner]: of,
        startedBy,
        ...own,
      });
    },

    /** @returns the runs whose task number is below `after`, newest first */
    async list(rows: Rows, { projectId, id }: RunKey, { after = Number.MAX_SAFE_INTEGER, count }: PagePlace) {
      const result = await sql<RunRow>`${selectRuns}
        where run.project_id = ${projectId} and ${ownerId} = ${id} and run.task_number < ${after}
        order by run.task_number desc limit ${count}`.execute(rows);
      return result.rows;
    },

    /** @returns the newest run of each resource within a range of ids */
    async listLast(rows: Rows, projectId: number, { from, to }: { from: number; to: number }) {
      // Takes one seek in the index for each resource, even if it has many runs.
      const newest = sql`(select max(r.task_number) from ${runs} r
        where r.project_id = resource.project_id and ${sql.ref(`r.${owner}`)} = resource.id)`;
      const result = await sql<RunRow>`${selectRuns}
        join ${sql.table(owners)} resource on run.project_id = resource.project_id and ${ownerId} = resource.id
        where resource.project_id = ${projectId} and resource.id >= ${from} and resource.id <= ${to}
          and run.task_number = ${newest}`.execute(rows);
      return result.rows;
    },
  };
}
