import { Type } from 'typebox';
import { oneOf, orNull, titled } from '../http/answers/answers.ts';

/** Source: docs/interface §14.8. */
export const Commit = titled('Commit', {
  id: Type.Integer({ description: 'never reused' }),
  at: Type.Integer({ description: 'epoch milliseconds' }),
  kind: oneOf(['commit', 'delete']),
  author: orNull(
    Type.Object({
      type: oneOf(['key', 'user', 'command', 'pipeline']),
      id: orNull(Type.Integer(), 'of a key or user'),
      name: Type.String({ description: 'the name at the time of the commit' }),
    }),
    'null: an earlier version of the service made the commit',
  ),
  catalogVersion: orNull(Type.Integer(), 'null: an earlier version of the service made the commit'),
  created: Type.Integer({ description: 'products' }),
  changed: Type.Integer(),
  deleted: Type.Integer(),
  taskId: orNull(Type.String(), 'null: the task has been deleted'),
  origin: orNull(Type.String(), 'the origin of the task'),
});
export const RestoreEffect = titled('RestoreEffect', {
  commits: Type.Integer({ description: 'commits and deletes that would be undone' }),
  last: Type.Integer({ description: 'the id of the last commit; send it as ifLast of the restore' }),
  created: Type.Integer({ description: 'products that would exist again' }),
  changed: Type.Integer({ description: 'products whose upload would be replaced' }),
  deleted: Type.Integer({ description: 'products that would be deleted' }),
  changedSince: Type.Integer({ description: 'products whose later changes would be overwritten' }),
});
