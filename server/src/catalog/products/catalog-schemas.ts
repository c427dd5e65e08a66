import { Type } from 'typebox';
import { ListQuery, oneOf, orNull, ProjectParams, ProjectQuery } from '../../http/answers/answers.ts';
import { WireTaskSchema } from '../../tasks/tasks.ts';

const UploadedRow = Type.Optional(
  Type.Union([Type.String(), Type.Integer()], { description: 'as uploaded' }),
);

/** Source: docs/interface.md §2.2. */
const Fact = Type.Object(
  {
    attributeId: Type.Integer(),
    attribute: Type.String(),
    valueId: Type.Integer({ description: 'up to 53 bits' }),
    value: Type.String({ description: 'as uploaded' }),
    type: Type.String(),
    userGroups: Type.Optional(Type.Array(Type.String())),
    row: UploadedRow,
  },
  { title: 'Fact' },
);

export const LookupProduct = Type.Object(
  {
    id: Type.Integer(),
    identifier: Type.String(),
    groupId: Type.String(),
    name: Type.String(),
    link: Type.String(),
    images: Type.Array(Type.Object({ url: Type.String(), type: Type.String() })),
    categories: Type.Array(Type.Object({ path: Type.Array(Type.String()), categoryId: Type.Integer() })),
    facts: Type.Array(Fact),
    lastUpdateTs: Type.Integer({ description: 'epoch milliseconds' }),
  },
  { title: 'Product' },
);

export const ProductList = Type.Object({ products: Type.Array(LookupProduct) });

/** Source: docs/interface.md §4.2. */
export const IdentifiersQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      description: 'a JSON array of identifiers, or one identifier a parameter',
    }),
  ),
});
export const IdentifiersBody = Type.Object({
  ...ProjectQuery.properties,
  identifiers: Type.Optional(Type.Array(Type.String())),
});
export const IdentifierQuery = Type.Object({
  ...ProjectQuery.properties,
  identifier: Type.String({ minLength: 1, maxLength: 255 }),
});

/** Source: docs/interface.md §11.1. */
export const ATTRIBUTES = 20_000;
const UnitName = Type.String({ minLength: 1, maxLength: 64, pattern: '^\\S+$' });

export const AttributeSchema = Type.Object(
  {
    id: Type.Optional(Type.Integer({ minimum: 1 })),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    type: oneOf([
      'TEXT_ATTRIBUTE',
      'NUMERIC_ATTRIBUTE',
      'BOOLEAN_ATTRIBUTE',
      'DATE_ATTRIBUTE',
      'UNTYPED_ATTRIBUTE',
    ]),
    unitName: Type.Optional(UnitName),
    decimal: Type.Optional(oneOf(['point', 'comma'])),
    synonyms: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 100 })),
    reason: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description: 'why a full update gave the attribute its type; set by the service, ignored in a PUT',
      }),
    ),
    typing: Type.Optional(
      oneOf(['automatic'], 'sets the type back to automatic: the next full update judges the values anew'),
    ),
  },
  { additionalProperties: false, title: 'Attribute' },
);
/** An attribute as it is sent: it may get another name, with all that names it. Source: docs/interface.md §11.8. */
export const SentAttribute = Type.Object(
  {
    ...AttributeSchema.properties,
    renameTo: Type.Optional(
      Type.String({
        ...{ minLength: 1, maxLength: 255 },
        description: 'the name that it is to have; relations, channels and settings that name it follow',
      }),
    ),
    keepSynonym: Type.Optional(
      Type.Boolean({ description: 'with renameTo: whether the former name stays a synonym; default: true' }),
    ),
  },
  { additionalProperties: false, title: 'SentAttribute' },
);
export const OntologyDocument = Type.Object(
  {
    mode: oneOf(['automatic', 'own']),
    unitAliases: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 64, pattern: '^\\S{1,64}$' }), UnitName, {
        maxProperties: 200,
        additionalProperties: false,
        description: 'what the project calls units, to a spelling of the table of units: {"Daumen":"in"}',
      }),
    ),
    attributes: Type.Array(AttributeSchema, { maxItems: ATTRIBUTES }),
  },
  { additionalProperties: false, title: 'Ontology' },
);
export const SentOntology = Type.Object(
  {
    ...OntologyDocument.properties,
    attributes: Type.Array(SentAttribute, { maxItems: ATTRIBUTES }),
  },
  { additionalProperties: false, title: 'SentOntology' },
);

export const ProductParams = Type.Object({ ...ProjectParams.properties, identifier: Type.String() });
export const CategoryPath = Type.String({
  maxLength: 32_768,
  description: 'the top of a category path as a JSON list, such as ["Tools","Drills"]',
});
/** What products are found by in the index of search. Source: docs/interface.md §4.13. */
export const FoundBy = {
  q: Type.Optional(
    Type.String({
      maxLength: 500,
      description: 'words in any order; the last one may be the beginning of a word',
    }),
  ),
  filter: Type.Optional(
    Type.String({
      maxLength: 32_768,
      description:
        'a filter of relations as JSON, or a line such as TDP > 100 and Brand = Corsair (=, !=, <, <=, >, >=, ~ contains)',
    }),
  ),
  category: Type.Optional(CategoryPath),
};
/** Source: docs/interface.md §14.3. */
export const ProductListQuery = Type.Object({
  ...ListQuery.properties,
  format: Type.Optional(
    oneOf(
      ['json', 'table', 'ndjson'],
      'json: upload shape; table: what a table shows; ndjson: the whole catalog in upload shape, a line a product',
    ),
  ),
  identifierPrefix: Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[^\\u0000]*$',
      description: 'identifiers that begin so; without q, filter and category',
    }),
  ),
  ...FoundBy,
  name: Type.Optional(Type.String({ maxLength: 0, description: 'no longer: use q' })),
  attribute: Type.Optional(Type.String({ maxLength: 0, description: 'no longer: use filter' })),
});
export const TableProduct = Type.Object(
  {
    id: Type.Integer(),
    identifier: Type.String(),
    groupId: Type.String(),
    name: Type.String(),
    image: Type.String({ description: 'the first LARGE one, else the first; may be empty' }),
    thumbnail: Type.String({ description: 'the first THUMB or SMALL one, else as `image`; may be empty' }),
    category: Type.Array(Type.String(), { description: 'path of the main category; may be empty' }),
    lastUpdateTs: Type.Integer({ description: 'epoch milliseconds' }),
  },
  { title: 'TableProduct' },
);
export const ProductPage = Type.Object({
  items: Type.Array(
    Type.Union([Type.Unknown({ description: 'upload shape, plus id and lastUpdateTs' }), TableProduct], {
      description: 'TableProduct with format=table',
    }),
  ),
  nextCursor: orNull(Type.String()),
});
export const CategoryListQuery = Type.Object({
  ...ListQuery.properties,
  under: Type.Optional(CategoryPath),
});
export const CategoryPage = Type.Object({
  items: Type.Array(Type.Object({ path: Type.Array(Type.String()) })),
  nextCursor: orNull(Type.String()),
  isComplete: Type.Boolean({
    description: 'false: the index is catching up with a large change, whose categories may be missing',
  }),
});
const DescribedValue = Type.Object(
  {
    key: Type.String(),
    value: Type.String({ description: 'as uploaded' }),
    userGroups: Type.Optional(Type.Array(Type.String())),
    row: UploadedRow,
    attribute: orNull(Type.String(), 'null: the ontology does not know it'),
    fact: orNull(
      Type.Object({
        attributeId: Type.Integer(),
        valueId: Type.Integer({ description: 'up to 53 bits' }),
        type: Type.String(),
        number: Type.Optional(Type.Number({ description: 'in the unit of the attribute' })),
        unit: Type.Optional(Type.String()),
      }),
    ),
    code: Type.Optional(Type.String({ description: 'why there is no fact' })),
    message: Type.Optional(Type.String()),
  },
  { title: 'DescribedValue' },
);

export const ProductDetail = Type.Object({
  product: LookupProduct,
  upload: Type.Unknown({ description: 'upload shape' }),
  values: Type.Array(DescribedValue, { description: 'uploaded and extracted, in the order of the upload' }),
  notExtracted: Type.Array(
    Type.Object({
      attribute: Type.String(),
      value: Type.String(),
      code: Type.String(),
      message: Type.String(),
    }),
  ),
  lastChange: Type.Object({
    at: Type.Integer({ description: 'epoch milliseconds' }),
    task: orNull(WireTaskSchema, 'null: it was forgotten since'),
  }),
});
