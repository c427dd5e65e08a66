import { type Static, Type } from 'typebox';
import { CONDITIONS_PER_FILTER, FILTER_DEPTH, OPERATORS } from '../../catalog/catalog.ts';

const closed = { additionalProperties: false } as const;

/** Names of columns may be long where an XML path makes them. */
const ColumnName = Type.String({ minLength: 1, maxLength: 1_000 });
const AttributeKey = { minLength: 1, maxLength: 255 } as const;

export const EXPRESSION_LENGTH = 4_096;
export const PATTERN_LENGTH = 1_000;

/** What can be done with the text of a column, in the order in which it is done. */
const transformations = {
  trim: Type.Optional(Type.Boolean({ description: 'without white space at both ends; default false' })),
  replace: Type.Optional(
    Type.Array(
      Type.Object(
        {
          from: Type.String({ minLength: 1, maxLength: PATTERN_LENGTH }),
          to: Type.String({
            maxLength: PATTERN_LENGTH,
            description: 'with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign',
          }),
          regex: Type.Optional(
            Type.Boolean({
              description:
                'default false: from is text. true: from is a pattern of RE2, without look-around and back-references',
            }),
          ),
        },
        closed,
      ),
      { maxItems: 20, description: 'every occurrence, one replacement after another' },
    ),
  ),
  split: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'makes several values of one: the text between them',
    }),
  ),
  case: Type.Optional(Type.Enum(['upper', 'lower'])),
  number: Type.Optional(
    Type.Object(
      {
        decimal: Type.Enum(['comma', 'point'], { description: 'how the source writes decimals' }),
        group: Type.Optional(
          Type.String({
            maxLength: 1,
            description:
              'what stands between thousands: default the other one of comma and point, a space or an apostrophe; empty: nothing',
          }),
        ),
      },
      { ...closed, description: 'makes 1299.00 of 1.299,00; a text that is no such number rejects the row' },
    ),
  ),
  unit: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 50,
      description: 'stands behind each value after one space, unless it is there',
    }),
  ),
  default: Type.Optional(Type.String({ maxLength: 65_536, description: 'where the source has nothing' })),
};

const from = {
  column: Type.Optional(ColumnName),
  columns: Type.Optional(
    Type.Array(ColumnName, {
      minItems: 1,
      maxItems: 100,
      description: 'joined to one text; empty ones are left out',
    }),
  ),
  join: Type.Optional(
    Type.String({ maxLength: 100, description: 'what stands between columns; default one space' }),
  ),
  constant: Type.Optional(Type.String({ maxLength: 65_536 })),
  expression: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: EXPRESSION_LENGTH,
      description: 'a JSONata expression that sees the row and nothing else; bounded in time and memory',
    }),
  ),
};

const columnTexts =
  'Exactly one of column, columns, constant and expression; then the transformations, in this order';

/** Source: docs/interface.md §13.1. */
export const ColumnSchema = Type.Union(
  [
    Type.String({ minLength: 1, maxLength: 1_000, description: 'the name of a column, as it stands' }),
    Type.Object({ ...from, ...transformations }, { ...closed, description: columnTexts }),
  ],
  { title: 'MappedColumn' },
);

const ImageColumn = Type.Union(
  [
    ColumnName,
    Type.Object(
      {
        ...from,
        ...transformations,
        type: Type.Optional(
          Type.Enum(['SMALL', 'LARGE', 'THUMB', 'ALTERNATIVE'], {
            description: 'default LARGE for the first image of a product and ALTERNATIVE for the others',
          }),
        ),
      },
      { ...closed, description: columnTexts },
    ),
  ],
  { title: 'MappedImage' },
);

const AttributeColumn = Type.Union(
  [
    ColumnName,
    Type.Object(
      {
        ...from,
        ...transformations,
        userGroups: Type.Optional(
          Type.Array(Type.String(AttributeKey), {
            minItems: 1,
            maxItems: 1_000,
            description: 'whom the values of this column are meant for',
          }),
        ),
      },
      { ...closed, description: columnTexts },
    ),
  ],
  { title: 'MappedAttribute' },
);

const oneOrMore = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema, maxItems: number) =>
  Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems })]);

/** Looked at more closely by `compileRowFilter`: a filter stands in itself. */
export type RowFilter =
  | { readonly all: readonly RowFilter[] }
  | { readonly any: readonly RowFilter[] }
  | { readonly not: RowFilter }
  | { readonly expression: string }
  | RowCondition;

export interface RowCondition {
  readonly column: Column;
  readonly operator: RowOperator;
  readonly value?: unknown;
}

export const ROW_OPERATORS = [
  ...OPERATORS,
  ...(['between', 'in', 'contains', 'startsWith', 'matches', 'exists'] as const),
] as const;
export type RowOperator = (typeof ROW_OPERATORS)[number];

const FilterSchema = Type.Unsafe<RowFilter>({
  type: 'object',
  title: 'RowFilter',
  description: `Which rows are taken: {"all":[RowFilter…]}, {"any":[…]}, {"not":RowFilter}, {"expression": JSONata that gives true or false} or {"column": MappedColumn, "operator", "value"?}; at most ${CONDITIONS_PER_FILTER} conditions, depth ${FILTER_DEPTH}. Operators: ${ROW_OPERATORS.join(', ')}. With a number as value the column is compared as a number, otherwise as text; between and in take a list, matches a pattern of RE2, exists no value. contains ignores case. A column without a value satisfies no condition.`,
});

export const MappingSchema = Type.Object(
  {
    identifier: ColumnSchema,
    groupIdentifier: Type.Optional(ColumnSchema),
    name: Type.Optional(ColumnSchema),
    productUrl: Type.Optional(ColumnSchema),
    images: Type.Optional(oneOrMore(ImageColumn, 200)),
    categories: Type.Optional(
      Type.Object(
        {
          from: ColumnSchema,
          separator: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 20,
              description: 'between the levels of a path; without it a path has one level',
            }),
          ),
        },
        {
          ...closed,
          description: 'each value of the column is a path; several in one cell are told apart by split',
        },
      ),
    ),
    attributes: Type.Optional(
      Type.Union([
        Type.Literal('*', { description: 'all columns not used otherwise, each under its own name' }),
        Type.Record(Type.String(), oneOrMore(AttributeColumn, 100), {
          maxProperties: 2_000,
          propertyNames: AttributeKey,
          description:
            'columns by the key of the attribute. The key "*" with the value "*" adds all columns not used otherwise',
        }),
      ]),
    ),
    ignore: Type.Optional(
      Type.Array(ColumnName, { maxItems: 2_000, description: 'columns that "*" leaves out' }),
    ),
    filter: Type.Optional(FilterSchema),
    emptyCells: Type.Optional(
      Type.Enum(['keep', 'remove'], {
        description:
          'mode partial: what an empty cell of an attribute does to it; keep (default) leaves it as it is. In every other mode empty cells are not sent',
      }),
    ),
  },
  {
    ...closed,
    title: 'Mapping',
    description:
      'Which column becomes which part of a product. identifier is always needed, name in the modes full and incremental; mode partial changes what is mapped and nothing else, mode delete uses the identifier alone.',
  },
);

export type Column = Static<typeof ColumnSchema>;
export type ColumnSpec = Exclude<Column, string>;
export type ImageSpec = Static<typeof ImageColumn>;
export type AttributeSpec = Static<typeof AttributeColumn>;
export type Mapping = Static<typeof MappingSchema>;
export type PipelineMode = 'full' | 'incremental' | 'partial' | 'delete';
