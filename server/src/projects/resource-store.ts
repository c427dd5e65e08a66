import { randomBytes } from 'node:crypto';
import type { Expression, RawBuilder, Selectable, SqlBool } from 'kysely';
import { expressionBuilder, sql } from 'kysely';
import { type ChosenProject, listParts, type PartScope, type Scope } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema, ControlTransaction, Rows } from '../storage/storage.ts';
import { areEqual, control, toCamel } from '../storage/storage.ts';
import type { Actor, PagePosition, Reach } from './project.ts';

export type Columns = Readonly<Record<string, string | number | null | undefined>>;

export interface Table<Resource, Place> {
  readonly name: keyof ControlSchema;
  /**
   * The fields of the key, unless the id is the key. In a table of projects `projectId` comes first, because it
   * distributes the rows.
   */
  keyOf?(resource: Resource): Columns;
  /** Selects the rows that a caller can see: those of a project, or those within reach. */
  within(place: Place): Expression<SqlBool>;
  /** @param row all columns; the implementation declares the columns that it reads */
  read(row: object): Resource;
  /** All fields that a change can write. */
  toColumns(resource: Resource): Columns;
}

/** A resource with a scope, such as keys and webhook endpoints. */
interface Scoped {
  readonly accountId: number;
  readonly scope: Scope;
  readonly createdAt: number;
  readonly createdBy: Actor;
}

type ScopedRow = Pick<Selectable<ControlSchema['api_key']>, 'scope_type' | 'scope_id' | 'created_by'>;

/** @returns the row in camelCase, with its scope and its author */
export function readScoped<Row extends ScopedRow>({ scope_type: type, scope_id: id, ...row }: Row) {
  const scope: Scope = type === 'account' || id === null ? { type: 'account' } : { type, id };
  return { ...toCamel(row), scope, createdBy: JSON.parse(row.created_by) as Actor };
}

/** The columns that `readScoped` reads. Only an insert writes them. */
export const toScopedColumns = ({ accountId, scope, createdAt, createdBy }: Scoped) => ({
  accountId,
  scopeType: scope.type,
  scopeId: scope.type === 'account' ? null : scope.id,
  createdAt,
  createdBy: JSON.stringify(createdBy),
});

/** A caller reaches resources of its own scope and of scopes below. Source: docs/interface §5.2 rule 6 and §6.1. */
export function isScopeInReach({ accountId, scope }: Reach): Expression<SqlBool> {
  const eb = expressionBuilder<ControlSchema, 'api_key' | 'webhook_endpoint'>();
  const ofAccount = eb('account_id', '=', accountId);
  const parts = listParts(scope);
  if (parts === undefined) return ofAccount;
  const groups = padIds(parts.groups);
  const projects = eb.selectFrom('project').select('project.id').where('project_group_id', 'in', groups);
  const isOf = (type: PartScope['type']) => eb('scope_type', '=', type);
  return eb.and([
    ofAccount,
    eb.or([
      eb.and([isOf('project-group'), eb('scope_id', 'in', groups)]),
      eb.and([isOf('project'), eb('scope_id', 'in', padIds(parts.projects))]),
      eb.and([isOf('project'), eb('scope_id', 'in', projects)]),
    ]),
  ]);
}

export type Store<Resource extends { readonly id: number }, Place> = ReturnType<
  typeof createStore<Resource, Place>
>;

export function createStore<Resource extends { readonly id: number }, Place>(kind: Table<Resource, Place>) {
  const { name, keyOf = ({ id }) => ({ id }), within, read, toColumns } = kind;
  const table = sql.table(name);
  const select = async (rows: Rows, where: RawBuilder<unknown>): Promise<Resource[]> => {
    const result = await sql<object>`select * from ${table} where ${where}`.execute(rows);
    return result.rows.map((row) => read(row));
  };

  return {
    ...kind,
    find: async (rows: Rows, place: Place, id: number): Promise<Resource | undefined> =>
      (await select(rows, sql`${within(place)} and id = ${id}`))[0],

    /** @returns the resources ordered by id */
    list: (rows: Rows, place: Place, { after = 0, count }: PagePosition): Promise<Resource[]> =>
      select(rows, sql`${within(place)} and id > ${after} order by id limit ${count}`),

    async count(rows: Rows, where: Columns): Promise<number> {
      const counted = sql<{ count: number }>`select count(*) as count from ${table} where ${areEqual(where)}`;
      return Number((await counted.execute(rows)).rows[0]?.count);
    },

    update: (tx: ControlTransaction, resource: Resource): Promise<unknown> =>
      control.update(tx, name, { where: keyOf(resource), set: toColumns(resource) }),

    /** @returns the resource with its id */
    insert: async (tx: ControlTransaction, columns: Columns): Promise<Resource> =>
      read(await control.insert(tx, name, columns)),

    remove: (tx: ControlTransaction, resource: Resource): Promise<unknown> =>
      control.remove(tx, name, keyOf(resource)),

    /** Finds a resource by the token of an address, which is unique over all projects. */
    async findByToken(rows: Rows, column: string, token: string): Promise<Found<Resource> | undefined> {
      // Other texts cannot be tokens, and not every store accepts them.
      if (!/^[\w-]{1,64}$/.test(token)) return undefined;
      return (await selectFound(rows, kind, sql`${sql.ref(`${name}.${column}`)} = ${token}`))[0];
    },
  };
}

/** Makes the token of an address from 192 random bits. */
export const makeToken = () => randomBytes(24).toString('base64url');

/** A resource that was found without the path of its project, for example by its token. */
export interface Found<Resource> {
  readonly resource: Resource;
  /** Never a deleted project. */
  readonly project: ChosenProject;
}

export async function selectFound<Resource, Place>(
  rows: Rows,
  { name, read }: Table<Resource, Place>,
  where: RawBuilder<unknown>,
): Promise<Found<Resource>[]> {
  type Row = { project_id: number; projectName: string; accountId: number };
  const result = await sql<Row>`select ${sql.table(name)}.*, project.name as "projectName",
      project.account_id as "accountId"
    from ${sql.table(name)} join project on project.id = ${sql.ref(`${name}.project_id`)}
    where project.deleted_at is null and ${where}`.execute(rows);
  return result.rows.map((row) => ({
    resource: read(row),
    project: { id: row.project_id, name: row.projectName, accountId: row.accountId },
  }));
}
