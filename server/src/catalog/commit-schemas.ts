import { Type } from 'typebox';
import { oneOf, orNull, titled } from '../http/answers/answers.ts';

/** Source: docs/interface §14.8. */
export const Commit = titled('Commit', {
  id: Type.Integer({ description: 'never given again' }),
  at: Type.Integer({ description: 'epoch milliseconds' }),
  kind: oneOf(['commit', 'delete']),
  author: orNull(
    Type.Object({
      type: oneOf(['key', 'user', 'command', 'pipeline']),
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
});
export const RestoreEffect = titled('RestoreEffect', {
  commits: Type.Integer({ description: 'commits and deletes that would be undone' }),
  last: Type.Integer({ description: 'the id of the last commit, for ifLast of the restore' }),
  created: Type.Integer({ description: 'products that would be there again' }),
  changed: Type.Integer({ description: 'products that would get another upload' }),
  deleted: Type.Integer({ description: 'products that would go' }),
  changedSince: Type.Integer({ description: 'products whose later changes would be overwritten' }),
});
