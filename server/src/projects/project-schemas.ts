import { Type } from 'typebox';
import { Id } from '../http/http.ts';
import type { AuditEntry } from './audit-store.ts';
import { type Project, type ProjectGroup, splitLocale } from './project.ts';
import type { ReachedProject } from './project-store.ts';

const Instant = Type.Integer({ description: 'epoch milliseconds' });
/** SQLite and many programs end a text at its NUL. */
const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' });
const NextCursor = Type.Union([Type.String(), Type.Null()], { description: 'null when nothing follows' });

export const IdParams = Type.Object({ id: Id });

/** Source: docs/interface.md §2.1. */
export const ProjectList = Type.Object(
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

export function toListedProject(project: ReachedProject) {
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

export const WireProjectGroup = Type.Object(
  { id: Type.Integer(), name: Type.String(), createdAt: Instant },
  { title: 'ProjectGroup' },
);

export const toWireGroup = ({ id, name, createdAt }: ProjectGroup) => ({ id, name, createdAt });

export const ProjectGroupPage = Type.Object({ items: Type.Array(WireProjectGroup), nextCursor: NextCursor });

export const NewProjectGroup = Type.Object({ name: Name }, { additionalProperties: false });

export const ProjectGroupChange = Type.Object({ name: Type.Optional(Name) }, { additionalProperties: false });

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
export const ManagedProject = Type.Object(
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

export function toManagedProject(project: Project) {
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

export const ManagedProjectPage = Type.Object({ items: Type.Array(ManagedProject), nextCursor: NextCursor });

export const ManagedProjectFilter = Type.Object({
  deleted: Type.Optional(Type.Boolean({ description: 'true: those that can be brought back' })),
});

const projectFields = {
  name: Name,
  projectGroupId: Id,
  locale: Type.String({ pattern: '^[a-z]{2,3}-[A-Z]{2}$', description: 'language and country, as de-DE' }),
  tags: Type.Array(Name, { maxItems: 100 }),
  settings: Type.Partial(Type.Object(settings), { additionalProperties: false }),
};

export const NewManagedProject = Type.Object(
  {
    ...projectFields,
    tags: Type.Optional(projectFields.tags),
    settings: Type.Optional(projectFields.settings),
  },
  { additionalProperties: false },
);

export const ManagedProjectChange = Type.Partial(Type.Object(projectFields), { additionalProperties: false });

export const ProjectDeletionQuery = Type.Object({
  confirm: Type.Optional(Type.String({ description: 'the exact name of the project' })),
});

/** Source: docs/interface.md §14.4. */
export const AuditPage = Type.Object({
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

export const AuditFilter = Type.Object({
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

export const toWireEntry = (entry: AuditEntry) => ({ ...entry, subject: { ...entry.subject } });
