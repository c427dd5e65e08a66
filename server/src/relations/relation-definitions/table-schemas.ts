import { type Static, Type } from 'typebox';
import { closedAs, Name, titled } from '../../http/answers/answers.ts';
import type { Sent } from '../../http/server/server.ts';
import { markOf } from '../../storage/storage.ts';

/** Source: docs/interface §12.9. */

/** The most pairs of a table. Each pair is two texts, and a table is always read completely. */
export const PAIRS_PER_TABLE = 100_000;
const Value = { type: 'string', minLength: 1, maxLength: 1_000, pattern: '^[^\\u0000]*$' };
const table = {
  name: Name,
  description: Type.Optional(Type.String({ maxLength: 4_096 })),
  pairs: Type.Array(
    Type.Unsafe<readonly [string, string]>({ type: 'array', minItems: 2, maxItems: 2, items: Value }),
    {
      maxItems: PAIRS_PER_TABLE,
      description: 'each pair is a value of the source and a value of the target; numbers have their unit',
    },
  ),
};

export const SentTable = closedAs('ValueTableDefinition', {
  ...table,
  createdAt: Type.Optional(Type.Integer()),
  updatedAt: Type.Optional(Type.Integer()),
});
export type SentTable = Static<typeof SentTable>;

export const WireTable = titled('ValueTable', {
  ...table,
  createdAt: Type.Integer(),
  updatedAt: Type.Integer(),
});

/** A stored table: a list of pairs of values that go together. */
export type StoredTable = Sent<Static<typeof WireTable>>;
export type ValueTable = Pick<StoredTable, 'name' | 'pairs'>;

/** @returns the mark of the parts of a table that a person wrote */
export const markOfTable = ({ name, description, pairs }: Omit<Sent<SentTable>, 'createdAt'>): string =>
  markOf({ name, description, pairs });
