import { Type } from 'typebox';
import {
  type AnswerOnce,
  ErrorAnswer,
  ListQuery,
  ProjectQuery,
  type Routes,
  type Server,
} from '../http/http.ts';
import type { Project, ProjectGroup } from './project.ts';
import {
  AuditFilter,
  AuditPage,
  DoneAnswer,
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

const management = { guard: 'management', access: 'manage' } as const;
const failures = { '4xx': ErrorAnswer };
const AuditQuery = Type.Object({ ...ListQuery.properties, ...AuditFilter.properties });
const ManagedProjectQuery = Type.Object({ ...ListQuery.properties, ...ManagedProjectFilter.properties });
const done = { status: 'success' } as const;

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
  const schema = {
    tags: ['Projects'],
    summary: 'List the projects that the key reaches',
    description: 'With `projectId` that project alone; 401 when it is out of reach.',
    querystring: ProjectQuery,
    response: { 200: ProjectList, ...failures },
  };
  server.get('/projects', { config: { guard: 'key' }, schema }, async (request) => {
    const found = await projects.listProjects(request.caller, request.query.projectId);
    return { status: 'success' as const, data: { projects: found.map(toListedProject) } };
  });
}

function serveGroups(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const listSchema = {
    tags: ['Management'],
    summary: 'List project groups',
    querystring: ListQuery,
    response: { 200: ProjectGroupPage, ...failures },
  };
  server.get('/management/project-groups', { config: management, schema: listSchema }, async (request) => {
    const { items, nextCursor } = await projects.listGroups(request.caller, request.query);
    return { items: items.map(toWireGroup), nextCursor };
  });

  const createSchema = {
    tags: ['Management'],
    summary: 'Create a project group',
    body: NewProjectGroup,
    response: { 201: WireProjectGroup, ...failures },
  };
  server.post(
    '/management/project-groups',
    { config: management, schema: createSchema },
    async (request, reply) => {
      const answer = await answerOnce(request, async (record) => {
        const beside: Beside<ProjectGroup> = (tx, group) => record(tx, toWireGroup(group));
        return toWireGroup(await projects.createGroup(request.caller, request.body, beside));
      });
      return reply.code(201).send(answer);
    },
  );
}

function serveGroup(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const path = '/management/project-groups/:id';
  const about = { tags: ['Management'], params: IdParams };

  const readSchema = {
    ...about,
    summary: 'Read a project group',
    response: { 200: WireProjectGroup, ...failures },
  };
  server.get(path, { config: management, schema: readSchema }, async (request) =>
    toWireGroup(await projects.getGroup(request.caller, request.params.id)),
  );

  const changeSchema = {
    ...about,
    summary: 'Rename a project group',
    body: ProjectGroupChange,
    response: { 200: WireProjectGroup, ...failures },
  };
  server.patch(path, { config: management, schema: changeSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const beside: Beside<ProjectGroup> = (tx, group) => record(tx, toWireGroup(group));
      const change = { ...request.body, id: request.params.id };
      return toWireGroup(await projects.changeGroup(request.caller, change, beside));
    }),
  );

  const deleteSchema = {
    ...about,
    summary: 'Delete an empty project group',
    description:
      'Its keys go with it. 409 while it holds projects, also deleted ones that can be brought back.',
    response: { 200: DoneAnswer, ...failures },
  };
  server.delete(path, { config: management, schema: deleteSchema }, async (request) =>
    answerOnce(request, async (record) => {
      await projects.deleteGroup(request.caller, request.params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveProjects(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const listSchema = {
    tags: ['Management'],
    summary: 'List projects',
    querystring: ManagedProjectQuery,
    response: { 200: ManagedProjectPage, ...failures },
  };
  server.get('/management/projects', { config: management, schema: listSchema }, async (request) => {
    const { items, nextCursor } = await projects.pageProjects(request.caller, request.query);
    return { items: items.map(toManagedProject), nextCursor };
  });

  const createSchema = {
    tags: ['Management'],
    summary: 'Create a project',
    body: NewManagedProject,
    response: { 201: ManagedProject, ...failures },
  };
  server.post(
    '/management/projects',
    { config: management, schema: createSchema },
    async (request, reply) => {
      const answer = await answerOnce(request, async (record) => {
        const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
        return toManagedProject(await projects.createProject(request.caller, request.body, beside));
      });
      return reply.code(201).send(answer);
    },
  );
}

function serveProject(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const path = '/management/projects/:id';
  const about = { tags: ['Management'], params: IdParams };

  const readSchema = { ...about, summary: 'Read a project', response: { 200: ManagedProject, ...failures } };
  server.get(path, { config: management, schema: readSchema }, async (request) =>
    toManagedProject(await projects.getProject(request.caller, request.params.id)),
  );

  const changeSchema = {
    ...about,
    summary: 'Change a project',
    description: 'Fields and settings that are left out keep what they are.',
    body: ManagedProjectChange,
    response: { 200: ManagedProject, ...failures },
  };
  server.patch(path, { config: management, schema: changeSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
      const change = { ...request.body, id: request.params.id };
      return toManagedProject(await projects.changeProject(request.caller, change, beside));
    }),
  );

  const deleteSchema = {
    ...about,
    summary: 'Delete a project',
    description: 'Needs `confirm` with its exact name. For 30 days it can be brought back.',
    querystring: ProjectDeletionQuery,
    response: { 200: DoneAnswer, ...failures },
  };
  server.delete(path, { config: management, schema: deleteSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const deletion = { id: request.params.id, confirm: request.query.confirm };
      await projects.deleteProject(request.caller, deletion, (tx) => record(tx, done));
      return done;
    }),
  );

  const restoreSchema = {
    ...about,
    summary: 'Bring a deleted project back',
    description:
      'Possible for 30 days. `GET /management/projects?deleted=true` lists those that it is possible for.',
    response: { 200: ManagedProject, ...failures },
  };
  const deleted = { ...management, findsDeletedProject: true };
  server.post(`${path}/restore`, { config: deleted, schema: restoreSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const beside: Beside<Project> = (tx, project) => record(tx, toManagedProject(project));
      return toManagedProject(await projects.restoreProject(request.caller, request.params.id, beside));
    }),
  );
}

function serveAuditLog(server: Server, { projects }: ProjectRouteParts): void {
  const schema = {
    tags: ['Management'],
    summary: 'Read who changed what, newest first',
    querystring: AuditQuery,
    response: { 200: AuditPage, ...failures },
  };
  server.get('/management/audit-log', { config: management, schema }, async (request) => {
    const { items, nextCursor } = await projects.listChanges(request.caller, request.query);
    return { items: items.map(toWireEntry), nextCursor };
  });
}
