import type { Static } from 'typebox';
import { type Caller, isUser, listParts } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { NewManagedProject, SentSettings, WireActor } from './scope-schemas.ts';

/** The page of a list that a caller requests. Source: docs/interface §4 rule 3. */
export interface PageRequest {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ListPage<Element> {
  readonly items: readonly Element[];
  readonly nextCursor: string | null;
}

/** A position in a list ordered by id: the id of the last element of the previous page. */
export interface PagePosition {
  readonly after: number | undefined;
  /** One more than the page shows, to detect whether another page follows. */
  readonly count: number;
}

/** @throws query_invalid for a cursor that no list issued */
export function readPagePosition({ limit = 100, cursor }: PageRequest): PagePosition {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the previous page');
  }
  return { after: cursor === undefined ? undefined : Number(cursor), count: limit + 1 };
}

export function toPage<Element extends { readonly id: number }>(
  elements: readonly Element[],
  position: PagePosition,
) {
  const items = elements.slice(0, position.count - 1);
  const last = items.at(-1);
  return {
    items,
    nextCursor: elements.length === position.count && last !== undefined ? String(last.id) : null,
  };
}

export type ProjectSettings = Readonly<Static<typeof SentSettings>>;

/** Source: docs/interface §14.2 rule 3. */
export const DEFAULT_SETTINGS: ProjectSettings = {
  maxDeletePercent: 100,
  keptCommits: 1,
  keptDays: null,
  brandAttribute: 'Brand',
  priceAttribute: 'Price',
  onInvalid: 'refuse',
};

/** How long a deleted project can be restored. Source: docs/interface §14.2 rule 4. */
export const RESTORABLE_MS = 30 * 24 * 3_600_000;

export interface ProjectGroup {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly createdAt: number;
}

export interface Project {
  readonly id: number;
  readonly accountId: number;
  readonly projectGroupId: number;
  readonly name: string;
  readonly locale: string;
  readonly tags: readonly string[];
  readonly settings: ProjectSettings;
  readonly createdAt: number;
  /** Null while the project is in use. */
  readonly deletedAt: number | null;
}

export type NewProject = Readonly<Static<typeof NewManagedProject>>;

export type Reach = Pick<Caller, 'accountId' | 'scope'>;

/** Source: docs/interface §5.2 rule 1. */
export function reachesProject(reach: Reach, project: Pick<Project, 'id' | 'accountId' | 'projectGroupId'>) {
  if (project.accountId !== reach.accountId) return false;
  const parts = listParts(reach.scope);
  return (
    parts === undefined ||
    parts.groups.includes(project.projectGroupId) ||
    parts.projects.includes(project.id)
  );
}

/** A key of a project does not reach the group of its project. */
export function reachesGroup(reach: Reach, group: Pick<ProjectGroup, 'id' | 'accountId'>): boolean {
  if (group.accountId !== reach.accountId) return false;
  const parts = listParts(reach.scope);
  return parts === undefined || parts.groups.includes(group.id);
}

/** A caller whose scope has only single projects cannot change these projects. */
export function reachesNoGroup({ scope }: Pick<Reach, 'scope'>): boolean {
  return listParts(scope)?.groups.length === 0;
}

/** `de-DE` → `de` and `DE`. Source: docs/interface §2.1. */
export function splitLocale(locale: string): { language: string; country: string } {
  const [language = '', country = ''] = locale.split('-', 2);
  return { language, country };
}

/** The command line makes changes without a key, with access to one whole account. */
interface CommandAuthor {
  readonly accountId: number;
  readonly scope: { readonly type: 'account' };
  readonly access: 'manage';
  /** The command that made the change, for the audit log, e.g. `relata key create`. */
  readonly command: string;
}

/** The caller, user or command that makes a change. */
export type Author = Caller | CommandAuthor;

/** An author as the audit log and `createdBy` show it. */
export type Actor = Readonly<Static<typeof WireActor>>;

export function commandAuthor(accountId: number, command: string): CommandAuthor {
  return { accountId, scope: { type: 'account' }, access: 'manage', command };
}

export function actorOf(author: Author): Actor {
  if ('command' in author) return { type: 'command', id: null, name: author.command };
  if (isUser(author)) return { type: 'user', id: author.userId, name: author.userName };
  return { type: 'key', id: author.keyId, name: author.keyName };
}
