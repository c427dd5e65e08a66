import { Type } from 'typebox';
import { ProjectQuery } from '../../http/http.ts';
import { WireTaskSchema } from '../../tasks/tasks.ts';
import type { OnInvalid } from './product-check.ts';
import { Identifier, PRODUCTS_PER_REQUEST, UpdateBody, UploadBody } from './product-schemas.ts';

export { UpdateBody, UploadBody };

const success = Type.Literal('success');

const onInvalid = Type.Optional(
  Type.Unsafe<OnInvalid>({
    type: 'string',
    enum: ['refuse', 'skip'],
    description:
      'what becomes of a request with products that are not valid; default: the setting of the project',
  }),
);

/** Source: docs/interface.md §4.3. */
export const UpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  onInvalid,
  partial: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description: 'default false; 1, 0 and other cases are taken too',
    }),
  ),
});

export const UpdateAnswer = Type.Object({
  message: Type.String(),
  status: success,
  task: WireTaskSchema,
  nrOfSent: Type.Integer(),
  nrOfParsed: Type.Integer(),
  validation: Type.Optional(
    Type.Array(
      Type.Object({
        product: Type.Union([
          Type.Object({ identifier: Type.Union([Type.String(), Type.Null()]), index: Type.Integer() }),
          Type.Null(),
        ]),
        schemaErrors: Type.Array(Type.String()),
        errors: Type.Array(Type.String()),
      }),
      { description: 'with onInvalid=skip: the products that were left out' },
    ),
  ),
});

const listed = Type.Optional(
  Type.Unsafe<string | string[]>({
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: 'in place of a body: a JSON array of identifiers, or one identifier a parameter',
  }),
);
/** Source: docs/interface.md §4.6. */
export const DeleteQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: listed,
  articleNumber: listed,
});
export const DeleteBody = Type.Unsafe<{ identifiers: string[] } | string[]>({
  anyOf: [
    {
      type: 'object',
      required: ['identifiers'],
      properties: { identifiers: { type: 'array', items: Identifier, minItems: 1 } },
    },
    { type: 'array', items: Identifier, minItems: 1 },
  ],
  description: `{"identifiers":["A1",…]} or the bare list, 1 to ${PRODUCTS_PER_REQUEST} identifiers`,
});

export const TaskStarted = Type.Object({ message: Type.String(), status: success, task: WireTaskSchema });

/** Source: docs/interface.md §4.4. */
export const FullUpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  fullUpdateId: Type.Optional(Type.Integer({ description: 'refuse when another full update is open' })),
});
export const UploadQuery = Type.Object({ ...FullUpdateQuery.properties, onInvalid });
export const StartQuery = Type.Object({
  ...FullUpdateQuery.properties,
  allowDeletes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'the exact number of products that the commit may delete' }),
  ),
  batches: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'how many batches were accepted; refuse when it is another number',
    }),
  ),
  products: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'the sum of nrOfParsed over the accepted batches; refuse when it is another number',
    }),
  ),
});
export const InitiateAnswer = Type.Object({
  message: Type.String(),
  status: success,
  fullUpdateId: Type.Integer(),
});
export const StartAnswer = Type.Object({ status: success, data: TaskStarted });

const Counted = Type.Object({
  count: Type.Integer(),
  identifiers: Type.Array(Type.String(), { maxItems: 100 }),
});
export const PreviewAnswer = Type.Object({
  status: success,
  created: Counted,
  changed: Counted,
  unchanged: Counted,
  deleted: Counted,
  deletePercent: Type.Number(),
});
