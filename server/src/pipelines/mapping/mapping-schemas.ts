import { type Static, type TSchema, Type } from 'typebox';
import { CONDITIONS_PER_FILTER, FILTER_DEPTH, OPERATORS } from '../../catalog/filters/filters.ts';
import { optional } from '../../kernel/optional.ts';

const closed = { additionalProperties: false } as const;

/**
 * One schema for values of several kinds. A mistake is reported once, for the kind that was sent, and not for each
 * kind.
 */
function either<Forms extends TSchema[]>(title: string | undefined, ...forms: Forms) {
  const types = forms.map((form) => (form as { type?: string }).type);
  const about = { type: types, ...(title !== undefined && { title }) };
  return Type.Unsafe<Static<Forms[number]>>(Object.assign({}, ...forms, about) as object);
}

/** Column names can be long, because they may be XML paths. */
const ColumnName = Type.String({ minLength: 1, maxLength: 1_000 });
const AttributeKey = { minLength: 1, maxLength: 255 } as const;

export const EXPRESSION_LENGTH = 4_096;
export const PATTERN_LENGTH = 1_000;
const SIGN_LENGTH = 20;

const text = (maxLength: number, description?: string) =>
  optional.text({ maxLength, ...(description !== undefined && { description }) });
const filledText = (maxLength: number, description: string) =>
  optional.text({ minLength: 1, maxLength, description });

/** Transformations of a column's text, in the order in which they are applied. */
const transformations = {
  trim: optional.flag('removes white space at both ends; default false'),
  replace: optional.list(
    Type.Object(
      {
        from: Type.String({ minLength: 1, maxLength: PATTERN_LENGTH }),
        to: Type.String({
          maxLength: PATTERN_LENGTH,
          description: 'with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign',
        }),
        regex: optional.flag(
          'default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references',
        ),
      },
      closed,
    ),
    { maxItems: 20, description: 'replaces every occurrence, one replacement after another' },
  ),
  split: filledText(100, 'splits a text into several values at this separator'),
  case: optional.choice(['upper', 'lower']),
  number: optional.object(
    {
      decimal: Type.Enum(['comma', 'point'], { description: 'the decimal separator of the source' }),
      group: text(
        1,
        'the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none',
      ),
    },
    {
      ...closed,
      description: 'turns 1.299,00 into 1299.00; a text that is not such a number rejects the row',
    },
  ),
  unit: filledText(50, 'added to each value after one space, unless the value ends with it'),
  default: text(65_536, 'the value if the source has none'),
};

const from = {
  column: Type.Optional(ColumnName),
  optional: optional.flag(
    'true: the source may lack the column; default false: a missing column ends the run',
  ),
  columns: optional.list(ColumnName, {
    minItems: 1,
    maxItems: 100,
    description: 'joined to one text; empty columns are skipped',
  }),
  join: text(100, 'the text between columns; default: one space'),
  constant: text(65_536),
  expression: filledText(
    EXPRESSION_LENGTH,
    'a JSONata expression that sees only the row; time and memory are limited',
  ),
};
const columnSpec = { ...from, ...transformations };

/** Source: docs/interface §13.1. */
export const ColumnSchema = either('MappedColumn', ColumnName, Type.Object(columnSpec, closed));

const ImageColumn = either(
  'MappedImage',
  ColumnName,
  Type.Object(
    {
      ...columnSpec,
      type: optional.choice(
        ['SMALL', 'LARGE', 'THUMB', 'ALTERNATIVE'],
        'default LARGE for the first image of a product and ALTERNATIVE for the others',
      ),
    },
    closed,
  ),
);

const AttributeColumn = either(
  'MappedAttribute',
  ColumnName,
  Type.Object(
    {
      ...columnSpec,
      userGroups: optional.list(Type.String(AttributeKey), {
        minItems: 1,
        maxItems: 1_000,
        description: 'the user groups that the values of this column are meant for',
      }),
    },
    closed,
  ),
);

function oneOrMore<Schema extends TSchema>(title: string, schema: Schema, maxItems: number) {
  const type = [(schema as { type?: string | string[] }).type ?? [], 'array'].flat();
  const list = Type.Array(schema, { minItems: 1, maxItems });
  return Type.Unsafe<Static<Schema> | Static<Schema>[]>({ ...schema, ...list, title, type });
}

const Path = Type.Object(
  {
    from: ColumnSchema,
    separator: filledText(SIGN_LENGTH, 'separator of the levels of a path; without it a path has one level'),
  },
  {
    ...closed,
    title: 'MappedPath',
    description: 'each value of the column is a path; split separates several paths in one cell',
  },
);

const KeyValues = Type.Object(
  {
    column: ColumnName,
    separator: filledText(SIGN_LENGTH, 'separator of two attributes; default: a comma'),
    assign: filledText(SIGN_LENGTH, 'separator of key and value; default: ='),
    split: filledText(SIGN_LENGTH, 'separator of several values of an attribute'),
    optional: optional.flag('the source may lack the column'),
  },
  { ...closed, title: 'MappedKeyValues' },
);

/** `compileRowFilter` checks a filter, because a filter is recursive. */
export type RowFilter =
  | { readonly all: readonly RowFilter[] }
  | { readonly any: readonly RowFilter[] }
  | { readonly not: RowFilter }
  | { readonly expression: string }
  | RowCondition;

export type RowCondition = {
  readonly column: Column;
  readonly operator: RowOperator;
  readonly value?: unknown;
};

export const ROW_OPERATORS = [
  ...OPERATORS,
  ...(['between', 'in', 'contains', 'startsWith', 'matches', 'exists'] as const),
] as const;
export type RowOperator = (typeof ROW_OPERATORS)[number];

const FilterSchema = Type.Unsafe<RowFilter>({
  type: 'object',
  title: 'RowFilter',
  description: `Which rows the run takes: {"all":[RowFilter…]}, {"any":[…]}, {"not":RowFilter}, {"expression": JSONata that gives true or false} or {"column": MappedColumn, "operator", "value"?}; at most ${CONDITIONS_PER_FILTER} conditions, depth ${FILTER_DEPTH}. Operators: ${ROW_OPERATORS.join(', ')}. If the value is a number, the column is compared as a number, otherwise as text. between and in take a list, matches takes a pattern of RE2, and exists takes no value. contains ignores case. A column without a value satisfies no condition.`,
});

const MappedTargets = oneOrMore('MappedTargets', ColumnSchema, 100);

/** The parts for all modes. `planMapping` checks which parts a mode has. */
export const MappingSchema = Type.Object(
  {
    identifier: Type.Optional(ColumnSchema),
    groupIdentifier: Type.Optional(ColumnSchema),
    name: Type.Optional(ColumnSchema),
    productUrl: Type.Optional(ColumnSchema),
    images: Type.Optional(oneOrMore('MappedImages', ImageColumn, 200)),
    categories: Type.Optional(oneOrMore('MappedPaths', Path, 20)),
    attributes: Type.Optional(
      either(
        undefined,
        Type.String({ pattern: '^\\*$' }),
        Type.Record(Type.String(), oneOrMore('MappedValues', AttributeColumn, 100), {
          maxProperties: 2_000,
          propertyNames: AttributeKey,
          description:
            '"*": all columns not used otherwise, each under its own name; or columns by the key of the attribute, where the key "*" with the value "*" adds all columns not used otherwise',
        }),
      ),
    ),
    keyValues: optional.list(KeyValues, {
      maxItems: 20,
      description: 'columns whose cells contain attributes with their keys, such as color=red,size=M',
    }),
    ignore: optional.list(ColumnName, { maxItems: 2_000, description: 'columns that "*" ignores' }),
    filter: Type.Optional(FilterSchema),
    emptyCells: optional.choice(
      ['keep', 'remove'],
      'mode partial: keep (default): an empty cell of an attribute does not change the attribute; remove: it removes the attribute. In all other modes, empty cells are not sent',
    ),
    source: Type.Optional(ColumnSchema),
    targets: Type.Optional(MappedTargets),
    quantity: Type.Optional({
      ...MappedTargets,
      description: 'mode links: the quantity of each target; as many columns as targets has',
    }),
    target: Type.Optional({ ...ColumnSchema, description: 'mode table: the value of the target' }),
    separator: filledText(SIGN_LENGTH, 'mode links: the separator of several targets in one cell'),
  },
  {
    ...closed,
    title: 'Mapping',
    description:
      'Which column becomes which part of a product. A column is its name, or an object with exactly one of column, columns, constant and expression, and with transformations in the order of their use. identifier is always required, and name in the modes full and incremental. Mode partial changes only what is mapped, and mode delete uses only the identifier. Mode links takes source, targets, quantity and separator instead, and mode table takes source and target.',
  },
);

export type Column = Static<typeof ColumnSchema>;
export type ColumnSpec = Exclude<Column, string>;
export type ImageSpec = Static<typeof ImageColumn>;
export type AttributeSpec = Static<typeof AttributeColumn>;
export type PathSpec = Static<typeof Path>;
export type KeyValuesSpec = Static<typeof KeyValues>;
export type Mapping = Static<typeof MappingSchema>;
export type PipelineMode = 'full' | 'incremental' | 'partial' | 'delete' | 'links' | 'table';

/** Whether rows are pairs of a source and a related value, and not products. */
export const isOfPairs = (mode: PipelineMode | undefined): mode is 'links' | 'table' =>
  mode === 'links' || mode === 'table';
