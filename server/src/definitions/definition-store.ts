import { type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { ChosenProject, Scope } from '../kernel/caller.ts';
import { type Actor, isScopeInReach, type PagePlace } from '../projects/projects.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { Task } from '../tasks/tasks.ts';

export type Rows = Database['read'] | ControlTransaction;
type Columns = Readonly<Record<string, string | number | null | undefined>>;

/** How a kind is stored: a row for each resource. */
export interface Table<Resource, Place> {
  readonly name: keyof ControlSchema;
  /** The columns of the key with their values; of what belongs to a project `project_id` comes first, by which rows are distributed. */
  keyOf(resource: Resource): Columns;
  /** Which rows a caller can see at a place: those of a project, or those within reach. */
  within(place: Place): Expression<SqlBool>;
  read(row: never): Resource;
  /** Everything that a change can write. */
  toColumns(resource: Resource): Columns;
}

/** How a resource of a project is stored, whatever its kind. */
interface DefinedRow {
  readonly id: number;
  readonly project_id: number;
  readonly definition: string;
  readonly secrets: string | null;
  readonly revision: number;
  readonly created_at: number;
  readonly updated_at: number;
}

/** A resource with a scope, as keys and webhook endpoints have it. */
interface Scoped {
  readonly id: number;
  readonly accountId: number;
  readonly scope: Scope;
  readonly createdAt: number;
  readonly createdBy: Actor;
}

/** What the tables of kinds with a scope have in common: callers see what is within their reach. */
export const inReachTable = { keyOf: ({ id }: Scoped) => ({ id }), within: isScopeInReach };

export const readScoped = (
  row: Selectable<ControlSchema['api_key'] | ControlSchema['webhook_endpoint']>,
): Scoped => ({
  id: row.id,
  accountId: row.account_id,
  scope:
    row.scope_type === 'account' || row.scope_id === null
      ? { type: 'account' }
      : { type: row.scope_type, id: row.scope_id },
  createdAt: row.created_at,
  createdBy: JSON.parse(row.created_by),
});

/** Of `readScoped`; only an insert writes them. */
export const toScopedColumns = ({ accountId, scope, createdAt, createdBy }: Omit<Scoped, 'id'>) => ({
  account_id: accountId,
  scope_type: scope.type,
  scope_id: scope.type === 'account' ? null : scope.id,
  created_at: createdAt,
  created_by: JSON.stringify(createdBy),
});

/** What the tables of kinds of projects have in common. */
export const inProjectTable = {
  keyOf: ({ projectId, id }: { readonly projectId: number; readonly id: number }) => ({
    project_id: projectId,
    id,
  }),
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

/** Of `readDefined`, as far as a change writes it. */
export const toDefinedColumns = ({
  definition,
  sealed,
  revision,
  updatedAt,
}: Pick<ReturnType<typeof readDefined>, 'definition' | 'sealed' | 'revision' | 'updatedAt'>) => ({
  ...{ definition: JSON.stringify(definition), secrets: sealed ?? null, revision, updated_at: updatedAt },
});

/** @returns the row as it is stored */
async function insertRow(
  tx: ControlTransaction,
  name: keyof ControlSchema,
  columns: Columns,
): Promise<unknown> {
  const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)));
  const values = sql.join(Object.values(columns).map((value) => value ?? null));
  const insert = sql`insert into ${sql.table(name)} (${names}) values (${values}) returning *`;
  return (await insert.execute(tx)).rows[0];
}

export type Store<Resource, Place> = ReturnType<typeof createStore<Resource, Place>>;

/** The statements of a kind. */
export function createStore<Resource, Place>(kind: Table<Resource, Place>) {
  const { name, keyOf, within, read, toColumns } = kind;
  const table = sql.table(name);
  const select = async (rows: Rows, where: RawBuilder<unknown>): Promise<Resource[]> => {
    const found = await sql`select * from ${table} where ${where}`.execute(rows);
    return found.rows.map((row) => read(row as never));
  };

  return {
    ...kind,
    find: async (rows: Rows, place: Place, id: number): Promise<Resource | undefined> =>
      (await select(rows, sql`${within(place)} and id = ${id}`))[0],

    /** @returns by id */
    list: (rows: Rows, place: Place, { after = 0, count }: PagePlace): Promise<Resource[]> =>
      select(rows, sql`${within(place)} and id > ${after} order by id limit ${count}`),

    async count(rows: Rows, where: Columns): Promise<number> {
      const counted = sql<{ count: number }>`select count(*) as count from ${table} where ${areEqual(where)}`;
      return Number((await counted.execute(rows)).rows[0]?.count);
    },

    async update(tx: ControlTransaction, resource: Resource): Promise<void> {
      const isThat = areEqual(keyOf(resource));
      await sql`update ${table} set ${assign(toColumns(resource))} where ${isThat}`.execute(tx);
    },

    /** @param columns of the table, as a new row has them. @returns the resource with its id */
    insert: async (tx: ControlTransaction, columns: Columns): Promise<Resource> =>
      read((await insertRow(tx, name, columns)) as never),

    async remove(tx: ControlTransaction, resource: Resource): Promise<void> {
      await sql`delete from ${table} where ${areEqual(keyOf(resource))}`.execute(tx);
    },

    /** By a column that names one resource of all projects, such as the token of an address. */
    findBy: async (rows: Rows, column: string, value: string): Promise<Found<Resource> | undefined> =>
      (await selectFound(rows, kind, sql`${sql.ref(`${name}.${column}`)} = ${value}`))[0],
  };
}

/** A resource that no call names, with its project. */
export interface Found<Resource> {
  readonly resource: Resource;
  /** Never a deleted one. */
  readonly project: ChosenProject;
}

/** A table whose rows are due at an instant; an index leads from that column to the rows. */
export interface DueTable<Resource extends { readonly dueAt: number | undefined }, Place>
  extends Table<Resource, Place> {
  /** The instant, null: none. */
  readonly dueColumn: string;
}

/** @returns what is due, the longest overdue first, behind `after` */
export async function listDue<
  Resource extends { readonly id: number; readonly projectId: number; readonly dueAt: number | undefined },
  Place,
>(
  { read, now }: Pick<Database, 'read' | 'now'>,
  table: DueTable<Resource, Place>,
  { after, limit }: { readonly after: Resource | undefined; readonly limit: number },
): Promise<Found<Resource>[]> {
  const due = sql.ref(`${table.name}.${table.dueColumn}`);
  const order = sql`${due}, ${sql.ref(`${table.name}.project_id`)}, ${sql.ref(`${table.name}.id`)}`;
  const behind = after && sql`and (${order}) > (${after.dueAt}, ${after.projectId}, ${after.id})`;
  // A volatile clock function cannot bound an index scan; a value read before can.
  const isDue = sql`${due} is not null and ${due} <= (select ${now}) ${behind ?? sql``}`;
  return selectFound(read, table, sql`${isDue} order by ${order} limit ${limit}`);
}

/** When a resource is due next, and what is written with it. */
export interface NextDue {
  readonly dueAt: number | undefined;
  readonly columns?: Columns;
}

/** @returns false when another process has moved it, or the resource was changed */
export async function moveDue<Resource extends { readonly dueAt: number | undefined }, Place>(
  tx: ControlTransaction,
  { name, keyOf, dueColumn }: DueTable<Resource, Place>,
  { resource, next }: { readonly resource: Resource; readonly next: NextDue },
): Promise<boolean> {
  const columns = { [dueColumn]: next.dueAt, ...next.columns };
  const moved = await sql`update ${sql.table(name)} set ${assign(columns)} where ${areEqual(keyOf(resource))}
    and ${sql.ref(dueColumn)} is not distinct from ${resource.dueAt ?? null}`.execute(tx);
  return Number(moved.numAffectedRows) > 0;
}

/** Deletes what the project that is removed for good had. */
export async function removeRowsOf(
  tx: ControlTransaction,
  names: readonly (keyof ControlSchema)[],
  projectId: number,
): Promise<void> {
  for (const name of names)
    await sql`delete from ${sql.table(name)} where project_id = ${projectId}`.execute(tx);
}

async function selectFound<Resource, Place>(
  rows: Rows,
  { name, read }: Table<Resource, Place>,
  where: RawBuilder<unknown>,
): Promise<Found<Resource>[]> {
  type Row = { project_id: number; projectName: string; accountId: number };
  const found = await sql<Row>`select ${sql.table(name)}.*, project.name as "projectName",
      project.account_id as "accountId"
    from ${sql.table(name)} join project on project.id = ${sql.ref(`${name}.project_id`)}
    where project.deleted_at is null and ${where}`.execute(rows);
  return found.rows.map((row) => ({
    resource: read(row as never),
    project: { id: row.project_id, name: row.projectName, accountId: row.accountId },
  }));
}

const assign = (columns: Columns) =>
  sql.join(Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} = ${value ?? null}`));

const areEqual = (columns: Columns) =>
  sql.join(
    Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
    sql` and `,
  );

/** Where runs of resources are: a row for each, with the number of its task. An index leads from a resource to its runs. */
interface RunTable {
  readonly name: keyof ControlSchema;
  /** The table of the resources, and the column with their ids. */
  readonly owners: keyof ControlSchema;
  readonly owner: string;
}

/** A resource that runs. */
interface RunKey {
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
