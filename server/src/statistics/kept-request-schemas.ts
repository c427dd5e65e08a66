import { Type } from 'typebox';

const Kind = Type.Union([Type.Literal('failed'), Type.Literal('slow')]);
const TextOrNull = Type.Union([Type.String(), Type.Null()]);

export const KeptRequestQuery = Type.Object({ kind: Type.Optional(Kind) });

/** Source: docs/interface.md §14.9. */
export const KeptRequestList = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          requestId: Type.String(),
          kind: Kind,
          at: Type.Integer({ description: 'when it was answered, epoch milliseconds' }),
          method: Type.String(),
          url: Type.String({ description: 'path and query; secrets are masked' }),
          status: Type.Integer(),
          reason: TextOrNull,
          message: TextOrNull,
          details: Type.Array(Type.String(), { maxItems: 5 }),
          ms: Type.Integer(),
          by: Type.Object({
            type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
            id: Type.Union([Type.Integer(), Type.Null()]),
            name: Type.String(),
          }),
          body: Type.Union([Type.String(), Type.Null()], {
            description:
              'its first 1,024 characters; secrets are masked. null: no body, a file, or not readable',
          }),
          bodyBytes: Type.Integer({ description: 'of the body as it was sent' }),
          isBodyWhole: Type.Boolean(),
        },
        { title: 'KeptRequest' },
      ),
      { maxItems: 100, description: 'newest first' },
    ),
    since: Type.Integer({ description: 'when this process began to keep requests, epoch milliseconds' }),
    isWhole: Type.Boolean({ description: 'false: other processes may have answered others' }),
  },
  { title: 'KeptRequests' },
);
