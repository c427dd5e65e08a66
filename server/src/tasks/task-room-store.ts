import { sql } from 'kysely';
import type { Database } from '../storage/storage.ts';

/** Which tasks may run beside those that do, as parts of the statements that claim one. */

/** What a process can run. */
export interface RunnableKind {
  readonly kind: string;
  readonly limits?: {
    /** Most that run of it in a project at a time, over all processes. */
    readonly inProject: number;
    /** Most that this process runs for an account, */
    readonly inAccount: number;
    /** and the project of each that it runs now. */
    readonly busyProjects: readonly number[];
  };
}

export const isOneKind = (kinds: readonly RunnableKind[]) =>
  sql<boolean>`task.kind in (${sql.join(kinds.map(({ kind }) => kind))})`;
/** An ordered task keeps its place whatever its kind: a newer program than this may run it. */
export const keepsPlace = (kinds: readonly RunnableKind[]) =>
  sql<boolean>`(task.is_ordered = 1 or ${isOneKind(kinds)})`;

/** Two processes that ask at once may both find room; then one more runs for a while. */
export function hasRoom(database: Database, kinds: readonly RunnableKind[]) {
  const rooms = kinds.flatMap(({ kind, limits }) => {
    if (limits === undefined) return [];
    const { inProject, inAccount, busyProjects } = limits;
    const isOpenProject = sql<boolean>`${inProject} > (select count(*) from task busy
      where busy.project_id = task.project_id and busy.status in ('PENDING', 'RUNNING') and busy.kind = ${kind}
        and busy.lease_until > ${database.now})`;
    const isOpenAccount = busyProjects.length < inAccount ? [] : [hasAccountRoom(inAccount, busyProjects)];
    return sql<boolean>`(task.kind <> ${kind} or (${sql.join([isOpenProject, ...isOpenAccount], sql` and `)}))`;
  });
  return rooms.length === 0 ? sql<boolean>`1 = 1` : sql<boolean>`${sql.join(rooms, sql` and `)}`;
}

function hasAccountRoom(inAccount: number, busyProjects: readonly number[]) {
  const busy = busyProjects.map((id) => sql`select cast(${id} as bigint) as id`);
  return sql<boolean>`${inAccount} > (select count(*) from (${sql.join(busy, sql` union all `)}) busy
    join project on project.id = busy.id
    where project.account_id = (select own.account_id from project own where own.id = task.project_id))`;
}
