import { Type } from 'typebox';
import {
  type AnswerOnce,
  cutPage,
  DoneAnswer,
  done,
  Id,
  ListQuery,
  PageQuery,
  ProjectQuery,
} from '../http/answers/answers.ts';
import { type Routes, type Server, serve, serveOnce } from '../http/server/server.ts';
import type { AuditEntry } from './audit-store.ts';
import { type Project, type ProjectGroup, splitLocale } from './project.ts';
import type { ReachedProject } from './project-store.ts';
import type { Beside, Projects } from './projects.ts';

export interface ProjectRouteParts {
  readonly projects: Projects;
  readonly answerOnce: AnswerOnce;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Management'];

/** Source: docs/interface.md §4.1, §14.2 and §14.4. */
export const projectRoutes =
  (parts: ProjectRouteParts): Routes =>
  (server) => {
    serveProjectList(server, parts);
    serveGroups(server, parts);
    serveGroup(server, parts);
    serveProjects(server, parts);
    serveProject(server, parts);
    serveAuditLog(server, parts);
  };

function serveProjectList(server: Server, { projects }: ProjectRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/projects',
    config: { guard: 'key' },
    tags: ['Projects'],
    summary: 'List the projects that the key reaches',
    description: 'With `projectId` that project alone; 401 when it is out of reach.',
    ...{ query: ProjectListQuery, answer: { 200: ProjectList } },
  } as const;
  serve(server, endpoint, async ({ caller, query }) => {
    const found = await projects.listProjects(caller, query.projectId);
    const { page, nextCursor } = cutPage(found, query, ({ id }) => id);
    const isPage = query.limit !== undefined || query.cursor !== undefined;
    const data = { projects: page.map(toListedProject) };
    return { status: 'success' as const, data, ...(isPage && { nextCursor }) };
  });
}

function serveGroups(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const about = { path: '/management/project-groups', config, tags };
  const list = {
    ...about,
    method: 'GET',
    summary: 'List project groups',
    ...{ query: ListQuery, answer: { 200: ProjectGroupPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await projects.listGroups(caller, query);
    return { items: items.map(toWireGroup), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    summary: 'Create a project group',
    ...{ body: NewProjectGroup, answer: { 201: WireProjectGroup }, answerOnce },
  } as const;
  serveOnce(server, create, ({ caller, body }, once) =>
    once(async (record) => {
      const beside: Beside<ProjectGroup> = (tx, group) => record(tx, toWireGroup(group));
      return toWireGroup(await projects.createGroup(caller, body, beside));
    }),
  );
}

function serveGroup(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const about = { path: '/management/project-groups/:id', config, tags, params: IdParams };
  const read = {
    ...about,
    method: 'GET',
    ...{ summary: 'Read a project group', answer: { 200: WireProjectGroup } },
  } as const;
  serve(server, read, async ({ caller, params }) => toWireGroup(await projects.getGroup(caller, params.id)));

  const change = {
    ...about,
    method: 'PATCH',
    summary: 'Rename a project group',
    ...{ body: ProjectGroupChange, answer: { 200: WireProjectGroup }, answerOnce },
  } as const;
  serveOnce(server, change, ({ caller, params, body }, once) =>
    once(async (record) => {
      const beside: Beside<ProjectGroup> = (tx, group) => record(tx, toWireGroup(group));
      return toWireGroup(await projects.changeGroup(caller, { ...body, id: params.id }, beside));
    }),
  );

  const remove = {
    ...about,
    method: 'DELETE',
    summary: 'Delete an empty project group',
    description:
      'Its keys go with it. 409 while it holds projects, also deleted ones that can be brought back.',
    ...{ answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, ({ caller, params }, once) =>
    once(async (record) => {
      await projects.deleteGroup(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveProjects(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const about = { path: '/management/projects', config, tags };
  const list = {
    ...about,
    method: 'GET',
    summary: 'List projects',
    ...{ query: ManagedProjectQuery, answer: { 200: ManagedProjectPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await projects.pageProjects(caller, query);
    return { items: items.map(toManagedProject), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    summary: 'Create a project',
    ...{ body: NewManagedProject, answer: { 201: ManagedProject }, answerOnce },
  } as const;
  serveOnce(server, create, ({ caller, body }, once) =>
    once(async (record) => {
      const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
      return toManagedProject(await projects.createProject(caller, body, beside));
    }),
  );
}

function serveProject(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const path = '/management/projects/:id';
  const about = { path, config, tags, params: IdParams, answer: { 200: ManagedProject } };
  const read = { ...about, method: 'GET', summary: 'Read a project' } as const;
  serve(server, read, async ({ caller, params }) =>
    toManagedProject(await projects.getProject(caller, params.id)),
  );

  const change = {
    ...about,
    method: 'PATCH',
    summary: 'Change a project',
    description: 'Fields and settings that are left out keep what they are.',
    ...{ body: ManagedProjectChange, answerOnce },
  } as const;
  serveOnce(server, change, ({ caller, params, body }, once) =>
    once(async (record) => {
      const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
      return toManagedProject(await projects.changeProject(caller, { ...body, id: params.id }, beside));
    }),
  );

  const remove = {
    ...about,
    method: 'DELETE',
    summary: 'Delete a project',
    description: 'Needs `confirm` with its exact name. For 30 days it can be brought back.',
    ...{ query: ProjectDeletionQuery, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, ({ caller, params, query }, once) =>
    once(async (record) => {
      const deletion = { id: params.id, confirm: query.confirm };
      await projects.deleteProject(caller, deletion, (tx) => record(tx, done));
      return done;
    }),
  );

  const restore = {
    ...about,
    method: 'POST',
    ...{ path: `${path}/restore`, config: { ...config, findsDeletedProject: true } },
    summary: 'Bring a deleted project back',
    description:
      'Possible for 30 days. `GET /management/projects?deleted=true` lists those that it is possible for.',
    answerOnce,
  } as const;
  serveOnce(server, restore, ({ caller, params }, once) =>
    once(async (record) => {
      const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
      return toManagedProject(await projects.restoreProject(caller, params.id, beside));
    }),
  );
}

function serveAuditLog(server: Server, { projects }: ProjectRouteParts): void {
  const endpoint = {
    method: 'GET',
    ...{ path: '/management/audit-log', config, tags },
    ...{ summary: 'Read who changed what, newest first', query: AuditQuery, answer: { 200: AuditPage } },
  } as const;
  serve(server, endpoint, async ({ caller, query }) => {
    const { items, nextCursor } = await projects.listChanges(caller, query);
    return { items: items.map(toWireEntry), nextCursor };
  });
}

const Instant = Type.Integer({ description: 'epoch milliseconds' });
/** SQLite and many programs end a text at its NUL. */
const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' });
const NextCursor = Type.Union([Type.String(), Type.Null()], { description: 'null when nothing follows' });

const IdParams = Type.Object({ id: Id });

/** Source: docs/interface.md §2.1. */
const ProjectList = Type.Object(
  {
    status: Type.Literal('success'),
    data: Type.Object({
      projects: Type.Array(
        Type.Object(
          {
            id: Type.Integer(),
            name: Type.String(),
            'project-group-id': Type.Integer(),
            'project-group-name': Type.String(),
            locale: Type.String({ description: 'language and country, as de-DE' }),
            language: Type.String(),
            country: Type.String(),
            tags: Type.Array(Type.String()),
          },
          { title: 'Project' },
        ),
        { description: 'by id' },
      ),
    }),
    nextCursor: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'of a page' })),
  },
  { title: 'ProjectList' },
);

function toListedProject(project: ReachedProject) {
  return {
    id: project.id,
    name: project.name,
    'project-group-id': project.projectGroupId,
    'project-group-name': project.projectGroupName,
    locale: project.locale,
    ...splitLocale(project.locale),
    tags: [...project.tags],
  };
}

const WireProjectGroup = Type.Object(
  { id: Type.Integer(), name: Type.String(), createdAt: Instant },
  { title: 'ProjectGroup' },
);

const toWireGroup = ({ id, name, createdAt }: ProjectGroup) => ({ id, name, createdAt });

const ProjectGroupPage = Type.Object({ items: Type.Array(WireProjectGroup), nextCursor: NextCursor });

const NewProjectGroup = Type.Object({ name: Name }, { additionalProperties: false });

const ProjectGroupChange = Type.Object({ name: Type.Optional(Name) }, { additionalProperties: false });

const settings = {
  maxDeletePercent: Type.Number({ minimum: 0, maximum: 100, description: 'delete guard of full updates' }),
  keptCommits: Type.Integer({
    minimum: 0,
    maximum: 30,
    description: 'commits and deletes that can be undone',
  }),
  keptDays: Type.Union([Type.Integer({ minimum: 1, maximum: 3_650 }), Type.Null()], {
    description: 'days for which commits and deletes can be undone; null: whatever their age',
  }),
  brandAttribute: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'the attribute that is the brand',
  }),
  onInvalid: Type.Unsafe<'refuse' | 'skip'>({
    type: 'string',
    enum: ['refuse', 'skip'],
    description: 'what becomes of a request with products that are not valid',
  }),
};

/** Source: docs/interface.md §14.2 rule 3. */
const ManagedProject = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    projectGroupId: Type.Integer(),
    locale: Type.String(),
    tags: Type.Array(Type.String()),
    settings: Type.Object(settings),
    createdAt: Instant,
    deletedAt: Type.Optional(Type.Integer({ description: 'only in the list of deleted projects' })),
  },
  { title: 'ManagedProject' },
);

function toManagedProject(project: Project) {
  const { id, name, projectGroupId, locale, tags, createdAt, deletedAt } = project;
  return {
    id,
    name,
    projectGroupId,
    locale,
    tags: [...tags],
    settings: project.settings,
    createdAt,
    ...(deletedAt !== null && { deletedAt }),
  };
}

const ManagedProjectPage = Type.Object({ items: Type.Array(ManagedProject), nextCursor: NextCursor });

const ManagedProjectFilter = Type.Object({
  deleted: Type.Optional(Type.Boolean({ description: 'true: those that can be brought back' })),
});

const projectFields = {
  name: Name,
  projectGroupId: Id,
  locale: Type.String({ pattern: '^[a-z]{2,3}-[A-Z]{2}$', description: 'language and country, as de-DE' }),
  tags: Type.Array(Name, { maxItems: 100 }),
  settings: Type.Partial(Type.Object(settings), { additionalProperties: false }),
};

const NewManagedProject = Type.Object(
  {
    ...projectFields,
    tags: Type.Optional(projectFields.tags),
    settings: Type.Optional(projectFields.settings),
  },
  { additionalProperties: false },
);

const ManagedProjectChange = Type.Partial(Type.Object(projectFields), { additionalProperties: false });

const ProjectDeletionQuery = Type.Object({
  confirm: Type.Optional(Type.String({ description: 'the exact name of the project' })),
});

/** Source: docs/interface.md §14.4. */
const AuditPage = Type.Object({
  items: Type.Array(
    Type.Object(
      {
        id: Type.Integer(),
        at: Instant,
        actor: Type.Object({
          type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
          id: Type.Union([Type.Integer(), Type.Null()]),
          name: Type.String(),
        }),
        projectId: Type.Union([Type.Integer(), Type.Null()]),
        action: Type.String({ description: 'subject and what happened to it, as api-key.created' }),
        subject: Type.Record(Type.String(), Type.Unknown(), { description: 'what was changed' }),
        details: Type.Record(Type.String(), Type.Unknown(), { description: 'how it was changed' }),
      },
      { title: 'AuditEntry' },
    ),
    { description: 'newest first' },
  ),
  nextCursor: NextCursor,
});

const AuditFilter = Type.Object({
  projectId: Type.Optional(Id),
  action: Type.Optional(
    Type.String({
      pattern: '^[a-z-]+(\\.[a-z-]+)?$',
      maxLength: 100,
      description: 'an action, as api-key.created, or all of a subject, as api-key',
    }),
  ),
  actor: Type.Optional(
    Type.String({
      pattern: '^(key|user|command)(:\\d{1,15})?$',
      description: 'all keys, users or commands, or one of them, as key:12',
    }),
  ),
  from: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch milliseconds, included' })),
  to: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch milliseconds, excluded' })),
});

const toWireEntry = (entry: AuditEntry) => ({ ...entry, subject: { ...entry.subject } });

const ProjectListQuery = Type.Object({ ...ProjectQuery.properties, ...PageQuery.properties });
const AuditQuery = Type.Object({ ...ListQuery.properties, ...AuditFilter.properties });
const ManagedProjectQuery = Type.Object({ ...ListQuery.properties, ...ManagedProjectFilter.properties });
