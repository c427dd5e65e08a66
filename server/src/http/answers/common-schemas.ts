import { type TSchema, Type } from 'typebox';
import { REASONS, type Reason } from './error-mapper.ts';

/** Source: docs/interface.md §7.3. */
const ProductViolation = Type.Object(
  {
    product: Type.Union(
      [
        Type.Object({ identifier: Type.Union([Type.String(), Type.Null()]), index: Type.Integer() }),
        Type.Null(),
      ],
      { description: 'null: the body as a whole, or how many more products are bad' },
    ),
    schemaErrors: Type.Array(Type.String()),
    errors: Type.Array(Type.String()),
  },
  { title: 'ProductViolation' },
);

/** Source: docs/interface.md §7.1. */
export const ErrorAnswer = Type.Object(
  {
    status: Type.Literal('failure'),
    code: Type.Integer({ description: 'the HTTP status' }),
    reason: Type.Unsafe<Reason>({
      type: 'string',
      enum: REASONS,
      description: 'one word for programs; the list is closed',
    }),
    message: Type.String(),
    requestId: Type.Optional(Type.String()),
    details: Type.Optional(Type.Array(Type.String())),
    validation: Type.Optional(Type.Array(ProductViolation, { description: 'one element per bad product' })),
  },
  { title: 'Error' },
);

/** Beyond it, numbers are not exact, and far beyond it a database takes none. */
const maximum = Number.MAX_SAFE_INTEGER;

export const Id = Type.Integer({ minimum: 1, maximum });

/** Of a query; 0 is refused as a project that does not exist. */
export const projectIdOf = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }));

/** Source: docs/interface.md §4.10. */
export const ProjectQuery = Type.Object({
  projectId: projectIdOf('the project; not needed by a key that reaches exactly one'),
});

/** Of the paths below a project. */
export const ProjectParams = Type.Object({ id: Id });

/** Every list is paged. Source: docs/interface.md §8. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  cursor: Type.Optional(Type.String({ maxLength: 2048, description: 'nextCursor of the page before' })),
});

/** Only the member that `type` names is checked, so that mistakes are reported for that one alone. */
export function byType<Value>({ anyOf }: { readonly anyOf: readonly TSchema[] }, title: string) {
  const discriminator = { propertyName: 'type' };
  return Type.Unsafe<Value>({ type: 'object', title, required: ['type'], discriminator, oneOf: anyOf });
}

/** The answer of a request that has nothing to say but that it is done. */
export const done = { status: 'success' } as const;
export const DoneAnswer = Type.Object({ status: Type.Literal(done.status) });
