import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import {
  type AuditEntry,
  type AuditSubject,
  type AuditWish,
  insertEntry,
  listEntries,
} from './audit-store.ts';
import { type Author, actorOf } from './author.ts';
import { type ListPage, type PageWish, readPlace, toPage } from './list-page.ts';
import { type Reach, reachesProject } from './project.ts';
import { findProject } from './project-store.ts';

/**
 * A change of a key, project, ontology, relation or pipeline, or a deletion of products. Never holds a key's
 * value.
 */
export interface Change {
  readonly author: Author;
  readonly projectId?: number;
  /** Subject and what happened to it, e.g. `api-key.created`. */
  readonly action: string;
  readonly subject: AuditSubject;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface AuditLog {
  /** Durable when it returns, or with `tx` when that is committed. */
  recordChange(change: Change, tx?: ControlTransaction): Promise<void>;
  /** Newest first. @throws scope_refused for a project out of reach */
  listChanges(reach: Reach, wish: PageWish & AuditWish): Promise<ListPage<AuditEntry>>;
}

/** Source: docs/interface.md §14.4. */
export function createAuditLog(database: Database, clock: Clock): AuditLog {
  return {
    async recordChange({ author, projectId, action, subject, details = {} }, tx) {
      const entry = {
        accountId: author.accountId,
        projectId: projectId ?? null,
        at: clock.now(),
        actor: actorOf(author),
        action,
        subject,
        details,
      };
      if (tx !== undefined) await insertEntry(tx, entry);
      else await database.write((own) => insertEntry(own, entry), { of: 'rows' });
    },
    async listChanges(reach, wish) {
      const { projectId } = wish;
      if (projectId !== undefined) await refuseUnreached(projectId, reach);
      const place = readPlace(wish);
      return toPage(await listEntries(database.read, reach, { ...wish, place }), place);
    },
  };

  /** A deleted project still has its log. */
  async function refuseUnreached(projectId: number, reach: Reach): Promise<void> {
    const project = await findProject(database.read, projectId);
    if (project === undefined || !reachesProject(reach, project)) throw new ServiceError('scope_refused');
  }
}

/** @returns the old and new value of each field that differs. */
export function describeChange<Subject extends object>(
  before: Subject,
  after: Subject,
): Record<string, { from: unknown; to: unknown }> {
  const fields = Object.keys({ ...before, ...after }) as (keyof Subject & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );
}
