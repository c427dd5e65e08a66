import { Type } from 'typebox';

/** Source: docs/interface.md §7.1. */
export const ErrorAnswer = Type.Object(
  {
    status: Type.Literal('failure'),
    code: Type.Integer({ description: 'the HTTP status' }),
    message: Type.String(),
    requestId: Type.Optional(Type.String()),
    details: Type.Optional(Type.Array(Type.String())),
    validation: Type.Optional(Type.Array(Type.Unknown(), { description: 'one element per bad product' })),
  },
  { title: 'Error' },
);

/** Source: docs/interface.md §4.10. */
export const ProjectQuery = Type.Object({
  projectId: Type.Optional(
    Type.Integer({ description: 'the project; not needed by a key that reaches exactly one' }),
  ),
});

/** Every list is paged. Source: docs/interface.md §8. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  cursor: Type.Optional(Type.String({ maxLength: 2048, description: 'nextCursor of the page before' })),
});
