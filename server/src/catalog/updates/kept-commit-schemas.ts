import { type TSchema, Type } from 'typebox';
import { Id, ProjectParams, ProjectQuery } from '../../http/http.ts';

/** Source: docs/interface.md §4.5 and §14.8. */

const orNull = <Of extends TSchema>(schema: Of, description: string) =>
  Type.Union([schema, Type.Null()], { description });

const Commit = Type.Object(
  {
    id: Type.Integer({ description: 'never given again' }),
    at: Type.Integer({ description: 'epoch milliseconds' }),
    kind: Type.Unsafe<'commit' | 'delete'>({ type: 'string', enum: ['commit', 'delete'] }),
    author: orNull(
      Type.Object({
        type: Type.Unsafe<'key' | 'user' | 'command' | 'pipeline'>({
          type: 'string',
          enum: ['key', 'user', 'command', 'pipeline'],
        }),
        id: orNull(Type.Integer(), 'of a key or user'),
        name: Type.String({ description: 'as it was then' }),
      }),
      'null: made by an earlier version of the service',
    ),
    catalogVersion: orNull(Type.Integer(), 'null: made by an earlier version of the service'),
    created: Type.Integer({ description: 'products' }),
    changed: Type.Integer(),
    deleted: Type.Integer(),
    taskId: orNull(Type.String(), 'null: the task is no longer kept'),
    origin: orNull(Type.String(), 'of the task, as there'),
  },
  { title: 'Commit' },
);
const reach = {
  keptCommits: Type.Integer({ description: 'the setting of the project' }),
  keptDays: orNull(Type.Integer(), 'the setting of the project; null: whatever their age'),
};
export const CommitList = Type.Object({
  items: Type.Array(Commit, { description: 'that can be undone, the last one first' }),
  ...reach,
});

const Upload = orNull(Type.Unknown(), 'upload shape; null: it was not there');
const change = {
  productId: Type.Integer(),
  identifier: Type.String(),
  kind: Type.Unsafe<'created' | 'changed' | 'deleted'>({
    type: 'string',
    enum: ['created', 'changed', 'deleted'],
  }),
  before: Upload,
  after: Upload,
  changedSince: Type.Boolean({
    description:
      'true: an update changed it again; `after` is how the next kept commit found it, or how it is now',
  }),
};
export const ChangePage = Type.Object({
  items: Type.Array(Type.Object(change, { title: 'CommitChange' })),
  nextCursor: orNull(Type.String(), 'null when nothing follows'),
});
export const ProductHistory = Type.Object({
  items: Type.Array(Type.Object({ commit: Commit, ...change }, { title: 'ProductChange' }), {
    description: 'the last one first',
  }),
  ...reach,
});
export const RestoreEffect = Type.Object(
  {
    commits: Type.Integer({ description: 'commits and deletes that would be undone' }),
    last: Type.Integer({ description: 'the id of the last commit, for ifLast of the restore' }),
    created: Type.Integer({ description: 'products that would be there again' }),
    changed: Type.Integer({ description: 'products that would get another upload' }),
    deleted: Type.Integer({ description: 'products that would go' }),
    changedSince: Type.Integer({ description: 'products whose later changes would be overwritten' }),
  },
  { title: 'RestoreEffect' },
);

export const CommitParams = Type.Object({ ...ProjectParams.properties, commitId: Id });
export const ChangeQuery = Type.Object({
  kind: Type.Optional(change.kind),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ maxLength: 100, description: 'nextCursor of the page before' })),
});
export const RestoreQuery = Type.Object({
  ...ProjectQuery.properties,
  commit: Type.Optional(
    Type.Integer({ ...Id, description: 'the oldest to be undone, with all after it; default: the last' }),
  ),
  ifLast: Type.Optional(
    Type.Integer({ ...Id, description: 'the commit that must be the last one; 412 when it is not' }),
  ),
});
