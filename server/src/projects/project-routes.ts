import { Type } from 'typebox';
import {
  closedObject,
  cutPage,
  Instant,
  ListQuery,
  Name,
  orNull,
  PageQuery,
  ProjectQuery,
  pageOf,
  titled,
} from '../http/answers/answers.ts';
import {
  answerAs,
  fieldsOf,
  inReach,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveKind,
} from '../http/server/server.ts';
import { optional } from '../kernel/optional.ts';
import { type Project, type ProjectGroup, type Reach, splitLocale } from './project.ts';
import type { Projects } from './projects.ts';
import { AuditEntry, AuditFilter, NewManagedProject, projectFields, SentSettings } from './scope-schemas.ts';

const tags = ['Management'];

interface ProjectRouteParts extends Pick<RouteTools, 'answerOnce'> {
  readonly projects: Projects;
}

/** Source: docs/interface §4.1, §14.2 and §14.4. */
export const projectRoutes =
  (parts: ProjectRouteParts): Routes =>
  (server) => {
    serveReached(server, parts);
    serveGroups(server, parts);
    serveManaged(server, parts);
    serveAuditLog(server, parts);
  };

function serveReached(server: Server, { projects }: ProjectRouteParts): void {
  serve(server, 'GET /projects', {
    config: { guard: 'key' },
    tags: ['Projects'],
    summary: 'List the projects that the key reaches',
    description: 'With `projectId`, lists only that project; 401 if it is out of reach.',
    query: Type.Object({ ...ProjectQuery.properties, ...PageQuery.properties }),
    answer: { 200: ProjectList },
    async handle({ caller, query }) {
      const reached = await projects.listProjects(caller, query.projectId);
      const { page, nextCursor } = cutPage(reached, query, ({ id }) => id);
      const isPage = query.limit !== undefined || query.cursor !== undefined;
      const listed = page.map(({ id, name, projectGroupId, projectGroupName, locale, tags }) => ({
        id,
        name,
        'project-group-id': projectGroupId,
        'project-group-name': projectGroupName,
        locale,
        ...splitLocale(locale),
        tags,
      }));
      return { status: 'success' as const, data: { projects: listed }, ...(isPage && { nextCursor }) };
    },
  });
}

function serveGroups(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const groups = serveKind<ProjectGroup, Reach>(server, {
    ...inReach,
    path: '/management/project-groups',
    tags,
    answerOnce,
    answer: answerAs(WireProjectGroup, ({ id, name, createdAt }) => ({ id, name, createdAt })),
  });
  groups.list({ summary: 'List project groups', list: projects.listGroups });
  groups.create({
    summary: 'Create a project group',
    body: SentProjectGroup,
    create: projects.createGroup,
  });
  groups.read({ summary: 'Read a project group', get: projects.getGroup });
  groups.change({
    method: 'PATCH',
    summary: 'Rename a project group',
    body: Type.Partial(SentProjectGroup, { additionalProperties: false }),
    change: projects.changeGroup,
  });
  groups.remove({
    summary: 'Delete an empty project group',
    description:
      'Also deletes its keys. 409 while it has projects, or deleted projects that can be restored.',
    remove: projects.deleteGroup,
  });
}

function serveManaged(server: Server, { projects, answerOnce }: ProjectRouteParts): void {
  const managed = serveKind<Project, Reach>(server, {
    ...inReach,
    path: '/management/projects',
    tags,
    answerOnce,
    answer: answerAs(ManagedProject, toManagedProject),
  });
  managed.list({ summary: 'List projects', query: ManagedProjectQuery, list: projects.pageProjects });
  managed.create({ summary: 'Create a project', body: NewManagedProject, create: projects.createProject });
  managed.read({ summary: 'Read a project', get: projects.getProject });
  managed.change({
    method: 'PATCH',
    summary: 'Change a project',
    body: Type.Partial(Type.Object(projectFields), { additionalProperties: false }),
    description: 'Omitted fields and settings stay unchanged.',
    change: projects.changeProject,
  });
  managed.remove({
    summary: 'Delete a project',
    query: Type.Object({ confirm: optional.text('the exact name of the project') }),
    description: '`confirm` must be its exact name. The project can be restored for 30 days.',
    remove: projects.deleteProject,
  });
  managed.change({
    method: 'POST',
    below: '/restore',
    config: { findsDeletedProject: true },
    summary: 'Restore a deleted project',
    description:
      'Possible for 30 days. `GET /management/projects?deleted=true` lists the projects that can be restored.',
    change: projects.restoreProject,
  });
}

function serveAuditLog(server: Server, { projects }: ProjectRouteParts): void {
  serve(server, 'GET /management/audit-log', {
    config: { guard: 'management', access: 'manage' },
    tags,
    summary: 'Read the audit log, newest entries first',
    query: Type.Object({ ...ListQuery.properties, ...AuditFilter.properties }),
    answer: { 200: pageOf(AuditEntry, 'newest first') },
    handle: ({ caller, query }) => projects.listChanges(caller, query),
  });
}

/** Source: docs/interface §2.1. */
const ProjectList = titled('ProjectList', {
  status: Type.Literal('success'),
  data: Type.Object({
    projects: Type.Array(
      Type.Object(
        {
          id: Type.Integer(),
          name: Type.String(),
          'project-group-id': Type.Integer(),
          'project-group-name': Type.String(),
          locale: Type.String({ description: 'language and country, such as de-DE' }),
          language: Type.String(),
          country: Type.String(),
          tags: Type.Array(Type.String()),
        },
        { title: 'Project' },
      ),
      { description: 'ordered by id' },
    ),
  }),
  nextCursor: Type.Optional(orNull(Type.String(), 'only for a page; null on the last one')),
});

const WireProjectGroup = titled('ProjectGroup', {
  id: Type.Integer(),
  name: Type.String(),
  createdAt: Instant,
});
const SentProjectGroup = closedObject({ name: Name });

/** Source: docs/interface §14.2 rule 3. */
const ManagedProject = titled('ManagedProject', {
  id: Type.Integer(),
  name: Type.String(),
  projectGroupId: Type.Integer(),
  locale: Type.String(),
  tags: Type.Array(Type.String()),
  settings: SentSettings,
  createdAt: Instant,
  deletedAt: optional.integer('only in the list of deleted projects'),
});

const toFields = fieldsOf(ManagedProject);
const toManagedProject = ({ deletedAt, ...project }: Project) =>
  toFields({ ...project, ...(deletedAt !== null && { deletedAt }) });

const ManagedProjectQuery = Type.Object({
  ...ListQuery.properties,
  deleted: optional.flag('true: the deleted projects that can be restored'),
});
