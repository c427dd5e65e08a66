import { Type } from 'typebox';
import {
  type AnswerOnce,
  cutPage,
  DoneAnswer,
  done,
  ListQuery,
  PageQuery,
  ProjectQuery,
  type Routes,
  type Server,
  serve,
  serveOnce,
} from '../http/http.ts';
import type { Project, ProjectGroup } from './project.ts';
import {
  AuditFilter,
  AuditPage,
  IdParams,
  ManagedProject,
  ManagedProjectChange,
  ManagedProjectFilter,
  ManagedProjectPage,
  NewManagedProject,
  NewProjectGroup,
  ProjectDeletionQuery,
  ProjectGroupChange,
  ProjectGroupPage,
  ProjectList,
  toListedProject,
  toManagedProject,
  toWireEntry,
  toWireGroup,
  WireProjectGroup,
} from './project-schemas.ts';
import type { Beside, Projects } from './projects.ts';

export interface ProjectRouteParts {
  readonly projects: Projects;
  readonly answerOnce: AnswerOnce;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Management'];
const ProjectListQuery = Type.Object({ ...ProjectQuery.properties, ...PageQuery.properties });
const AuditQuery = Type.Object({ ...ListQuery.properties, ...AuditFilter.properties });
const ManagedProjectQuery = Type.Object({ ...ListQuery.properties, ...ManagedProjectFilter.properties });

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
