import { isDeepStrictEqual } from 'node:util';
import { type ExpressionBuilder, sql } from 'kysely';
import { listParts } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema, ControlTransaction, Database, Rows } from '../storage/storage.ts';
import { toCamel } from '../storage/storage.ts';
import type { Author, ListPage, PagePosition, PageRequest, Reach } from './project.ts';
import { actorOf, reachesProject, readPagePosition, toPage } from './project.ts';
import { findProject } from './project-store.ts';
import type { AuditEntry, AuditFilter } from './scope-schemas.ts';

/** Uses the index audit_log_by_account. @returns the entries within reach, newest first */
export async function listEntries(
  rows: Rows,
  reach: Reach,
  { position, ...filter }: AuditFilter & { position: PagePosition },
): Promise<AuditEntry[]> {
  const { projectId, from, to } = filter;
  const entryRows = await rows
    .selectFrom('audit_log')
    .selectAll()
    .where('account_id', '=', reach.accountId)
    .where(inReach(reach))
    .where('id', '<', position.after ?? Number.MAX_SAFE_INTEGER)
    .$if(projectId !== undefined, (query) => query.where('project_id', '=', projectId ?? 0))
    .where(matches(filter))
    .$if(from !== undefined, (query) => query.where('at', '>=', from ?? 0))
    .$if(to !== undefined, (query) => query.where('at', '<', to ?? 0))
    .orderBy('id', 'desc')
    .limit(position.count)
    .execute();
  return entryRows.map(({ account_id: _, project_group_id: _group, ...row }) => ({
    ...toCamel(row),
    actor: JSON.parse(row.actor),
    subject: JSON.parse(row.subject),
    details: JSON.parse(row.details),
  }));
}

/** Compares actors by `like`, because an actor is stored as JSON text with its members in a fixed order. */
function matches({ action, actor }: AuditFilter) {
  const [type, id] = (actor ?? '').split(':');
  const named = `{"type":"${type}"${id === undefined ? '' : `,"id":${Number(id)}`},%`;
  return (eb: ExpressionBuilder<ControlSchema, 'audit_log'>) =>
    eb.and([
      ...(action === undefined
        ? []
        : [eb.or([eb('action', '=', action), eb('action', 'like', `${action}.%`)])]),
      ...(actor === undefined ? [] : [eb('actor', 'like', named)]),
    ]);
}

function inReach({ scope }: Reach) {
  return (eb: ExpressionBuilder<ControlSchema, 'audit_log'>) => {
    const parts = listParts(scope);
    if (parts === undefined) return sql<boolean>`true`;
    const groups = padIds(parts.groups);
    const projects = eb.selectFrom('project').select('id').where('project_group_id', 'in', groups);
    return eb.or([
      eb('project_id', 'in', padIds(parts.projects)),
      eb('project_id', 'in', projects),
      eb.and([eb('project_id', 'is', null), eb('project_group_id', 'in', groups)]),
    ]);
  };
}

/** A change of a resource, project or ontology, or a deletion of products. It never contains the value of a key. */
export interface Change {
  readonly author: Author;
  readonly projectId?: number;
  /** Subject and event, e.g. `api-key.created`. */
  readonly action: string;
  /** The changed object. Keys of the group `projectGroupId` can see the entry even if it has no project. */
  readonly subject: {
    readonly type: string;
    readonly id?: number | string;
    readonly name?: string;
    readonly projectGroupId?: number;
  };
  readonly details?: Readonly<Record<string, unknown>>;
}

export type AuditLog = ReturnType<typeof createAuditLog>;

/** Source: docs/interface §14.4. */
export function createAuditLog(database: Database, clock: Clock) {
  return {
    /** The entry is durable when this returns, or, with `tx`, once that transaction is committed. */
    async recordChange(
      { author, projectId, action, subject, details = {} }: Change,
      tx?: ControlTransaction,
    ): Promise<void> {
      const row = {
        account_id: author.accountId,
        project_id: projectId ?? null,
        at: clock.now(),
        action,
        project_group_id: subject.projectGroupId ?? null,
        actor: JSON.stringify(actorOf(author)),
        subject: JSON.stringify(subject),
        details: JSON.stringify(details),
      };
      const insert = (rows: ControlTransaction) => rows.insertInto('audit_log').values(row).execute();
      await (tx === undefined ? database.write('rows', insert) : insert(tx));
    },
    /** Lists the newest entries first. @throws scope_refused for a project out of reach */
    async listChanges(reach: Reach, filter: PageRequest & AuditFilter): Promise<ListPage<AuditEntry>> {
      const { projectId } = filter;
      // Finds deleted projects as well, because their entries can still be read.
      const project = projectId === undefined ? undefined : await findProject(database.read, projectId);
      if (projectId !== undefined && !(project && reachesProject(reach, project)))
        throw new ServiceError('scope_refused');
      const position = readPagePosition(filter);
      return toPage(await listEntries(database.read, reach, { ...filter, position }), position);
    },
  };
}

export function describeChange<Subject extends object>(before: Subject, after: Subject) {
  const fields = Object.keys({ ...before, ...after }) as (keyof Subject & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );
}
