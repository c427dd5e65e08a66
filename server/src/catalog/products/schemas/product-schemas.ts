import { type Static, type TSchema, Type } from 'typebox';
import {
  closedAs,
  closedObject,
  Instant,
  ListQuery,
  oneOf,
  orNull,
  ProjectParams,
  ProjectQuery,
  titled,
} from '../../../http/answers/answers.ts';
import type { Sent } from '../../../http/server/server.ts';
import { optional } from '../../../kernel/optional.ts';
import { WireTaskSchema } from '../../../tasks/tasks.ts';

/** Source of the limits: docs/interface §2.3 and §8. */
export const PRODUCTS_PER_REQUEST = 10_000;
export const IDENTIFIERS_PER_REQUEST = 1_000;
const IDENTIFIER_LENGTH = 255;
const NAME_LENGTH = 1_000;
const KEY_LENGTH = 255;
const VALUE_LENGTH = 65_536;
const URL_LENGTH = 4_096;
const VALUES = 2_000;
export const IMAGES = 200;
const CATEGORIES = 100;
const CATEGORY_LEVELS = 20;
const USER_GROUPS = 1_000;
const ROW_LENGTH = 64;

/** `isText` refuses NUL and lone surrogates, because no store accepts them and our JSON could not contain them. */
const text = (minLength: number, maxLength: number) => Type.String({ minLength, maxLength, isText: true });
const nullable = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Optional(Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] }));

export const Identifier = text(1, IDENTIFIER_LENGTH);
const UserGroups = Type.Array(text(1, KEY_LENGTH), { maxItems: USER_GROUPS });

const ImageSchema = closedObject({
  url: text(1, URL_LENGTH),
  type: oneOf(['SMALL', 'LARGE', 'THUMB', 'ALTERNATIVE']),
});

export const CategorySchema = closedObject({
  path: Type.Array(text(1, NAME_LENGTH), { minItems: 1, maxItems: CATEGORY_LEVELS }),
  priority: nullable(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })),
  categoryId: nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});

const Row = Type.Optional(
  Type.Unsafe<string | number | null>({
    ...text(1, ROW_LENGTH),
    type: ['string', 'integer', 'null'],
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'values of one product with the same row belong together',
  }),
);

export const ValueSchema = closedObject({
  key: text(1, KEY_LENGTH),
  value: Type.Unsafe<string | null>({ ...text(0, VALUE_LENGTH), type: ['string', 'null'] }),
  userGroups: nullable(UserGroups),
  row: Row,
});

const SETTINGS = closedObject({
  includeUserGroups: nullable(UserGroups),
  excludeUserGroups: nullable(UserGroups),
});
/** PHP writes an empty object as a list. */
type SentSettings = Static<typeof SETTINGS> | [];

const common = {
  groupIdentifier: nullable(text(1, IDENTIFIER_LENGTH)),
  productUrl: nullable(text(0, URL_LENGTH)),
  image: nullable(text(1, URL_LENGTH)),
  images: nullable(Type.Array(ImageSchema, { maxItems: IMAGES })),
  categories: nullable(Type.Array(CategorySchema, { maxItems: CATEGORIES })),
  settings: Type.Optional(
    Type.Unsafe<SentSettings | null>({ ...SETTINGS, type: ['object', 'array', 'null'], maxItems: 0 }),
  ),
};

export const UploadProduct = closedAs('Product in a full or incremental update', {
  identifier: Identifier,
  name: text(0, NAME_LENGTH),
  ...common,
  attributes: nullable(Type.Array(ValueSchema, { maxItems: VALUES })),
});

const PatchValue = Type.Unsafe({
  type: ['string', 'object', 'null'],
  maxLength: VALUE_LENGTH,
  isText: true,
  required: ['value'],
  properties: { value: ValueSchema.properties.value, userGroups: nullable(UserGroups), row: Row },
  additionalProperties: false,
});

/** A value that passed the schema. In an optional field, null means absent. */
export type SentValue = Sent<Static<typeof ValueSchema>>;
export type SentCategory = Sent<Static<typeof CategorySchema>>;
export type Image = Sent<Static<typeof ImageSchema>>;
/** A value in the object form of a partial update; null removes the attribute. */
export type SentPartialValue = string | null | Omit<SentValue, 'key'>;

const PatchAttributes = Type.Unsafe<
  readonly SentValue[] | Readonly<Record<string, SentPartialValue | readonly SentPartialValue[]>> | null
>({
  type: ['object', 'array', 'null'],
  maxProperties: VALUES,
  propertyNames: text(1, KEY_LENGTH),
  additionalProperties: {
    type: ['string', 'object', 'array', 'null'],
    if: { type: 'array' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { type: 'array', maxItems: VALUES, items: PatchValue },
    else: PatchValue,
  },
  maxItems: VALUES,
  items: ValueSchema,
});

export const PatchProduct = closedAs('Product in a partial update', {
  identifier: Identifier,
  name: nullable(text(0, NAME_LENGTH)),
  ...common,
  attributes: Type.Optional(PatchAttributes),
});

export type SentPatch = Sent<Static<typeof PatchProduct>>;
export type SentAttributes = NonNullable<SentPatch['attributes']>;
export type SentProduct = Omit<SentPatch, 'attributes'> &
  Pick<Sent<Static<typeof UploadProduct>>, 'attributes'>;

function listOf(product: object) {
  const products = { type: 'array', items: product, minItems: 1, maxItems: PRODUCTS_PER_REQUEST };
  return Type.Unsafe<unknown>({
    anyOf: [{ type: 'object', required: ['products'], properties: { products } }, products],
  });
}

/** Only documents the body. A parsing thread checks bodies one product at a time. */
export const UploadBody = listOf(UploadProduct);
export const UpdateBody = listOf({ anyOf: [UploadProduct, PatchProduct] });

/** A parameter of requests that send products. */
export const InvalidProducts = Type.Optional(
  oneOf(
    ['refuse', 'skip'],
    'refuse or skip the invalid products of a request; default: the setting of the project',
  ),
);

const UploadedRow = Type.Optional(
  Type.Union([Type.String(), Type.Integer()], { description: 'as uploaded' }),
);

/** Source: docs/interface §2.2. */
const Fact = titled('Fact', {
  attributeId: Type.Integer(),
  attribute: Type.String(),
  valueId: Type.Integer({ description: 'up to 53 bits' }),
  value: Type.String({ description: 'as uploaded' }),
  type: Type.String(),
  userGroups: optional.list(Type.String()),
  row: UploadedRow,
});

export const LookupProduct = titled('Product', {
  id: Type.Integer(),
  identifier: Type.String(),
  groupId: Type.String(),
  name: Type.String(),
  link: Type.String(),
  images: Type.Array(Type.Object({ url: Type.String(), type: Type.String() })),
  categories: Type.Array(Type.Object({ path: Type.Array(Type.String()), categoryId: Type.Integer() })),
  facts: Type.Array(Fact),
  lastUpdateTs: Instant,
});

export type LookedUp = Static<typeof LookupProduct>;
export const ProductList = Type.Object({ products: Type.Array(LookupProduct) });

/** Source: docs/interface §4.2. */
export const identifierList = (description: string, most = IDENTIFIERS_PER_REQUEST) =>
  Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [
        { type: 'string' },
        { type: 'array', items: { type: 'string' }, documented: { minItems: 1, maxItems: most } },
      ],
      description,
    }),
  );
export const IdentifiersQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: identifierList('a JSON array of identifiers, or one identifier per parameter'),
});
export const IdentifiersBody = Type.Object({
  ...ProjectQuery.properties,
  identifiers: Type.Optional(
    Type.Array(Type.String(), { documented: { maxItems: IDENTIFIERS_PER_REQUEST } }),
  ),
});
export const IdentifierQuery = Type.Object({
  ...ProjectQuery.properties,
  identifier: Type.String({ minLength: 1, maxLength: 255 }),
});

export const ProductParams = Type.Object({ ...ProjectParams.properties, identifier: Type.String() });
export const CategoryPath = Type.String({
  maxLength: 32_768,
  description: 'the top of a category path as a JSON list, such as ["Tools","Drills"]',
});
/** Parameters that find products in the index of search. Source: docs/interface §4.13. */
export const FoundBy = {
  q: optional.text({
    maxLength: 500,
    description: 'words in any order; the last one may be the beginning of a word',
  }),
  filter: optional.text({
    maxLength: 32_768,
    description:
      'a filter of relations as JSON, or a line such as TDP > 100 and Brand = Corsair (=, !=, <, <=, >, >=, ~ contains)',
  }),
  category: Type.Optional(CategoryPath),
};
/** Source: docs/interface §14.3. */
export const ProductListQuery = Type.Object({
  ...ListQuery.properties,
  format: Type.Optional(
    oneOf(
      ['json', 'table', 'ndjson'],
      'json: upload shape; table: the fields of a table; ndjson: the whole catalog in upload shape, one product per line',
    ),
  ),
  identifierPrefix: optional.text({
    maxLength: 255,
    pattern: '^[^\\u0000]*$',
    description: 'the beginning of the identifiers; send it without q, filter and category',
  }),
  ...FoundBy,
  name: optional.text({ maxLength: 0, description: 'no longer supported; use q' }),
  attribute: optional.text({ maxLength: 0, description: 'no longer supported; use filter' }),
});
export const TableProduct = titled('TableProduct', {
  id: Type.Integer(),
  identifier: Type.String(),
  groupId: Type.String(),
  name: Type.String(),
  image: Type.String({ description: 'the first LARGE image, otherwise the first image; may be empty' }),
  thumbnail: Type.String({
    description: 'the first THUMB or SMALL image, otherwise the same as `image`; may be empty',
  }),
  category: Type.Array(Type.String(), { description: 'path of the main category; may be empty' }),
  lastUpdateTs: Instant,
});
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
const DescribedValue = titled('DescribedValue', {
  key: Type.String(),
  value: Type.String({ description: 'as uploaded' }),
  userGroups: optional.list(Type.String()),
  row: UploadedRow,
  attribute: orNull(Type.String(), 'null: the ontology has no such attribute'),
  fact: orNull(
    Type.Object({
      attributeId: Type.Integer(),
      valueId: Type.Integer({ description: 'up to 53 bits' }),
      type: Type.String(),
      number: optional.number('in the unit of the attribute'),
      unit: optional.text(),
    }),
  ),
  code: optional.text('the reason why there is no fact'),
  message: optional.text(),
});

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
    at: Instant,
    task: orNull(WireTaskSchema, 'null: the task has been deleted'),
  }),
});
