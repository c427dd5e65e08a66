import { type Static, type TSchema, Type } from 'typebox';

/** Source of the limits: docs/interface.md §2.3 and §8. */
export const PRODUCTS_PER_REQUEST = 10_000;
export const IDENTIFIERS_PER_REQUEST = 1_000;
const IDENTIFIER_LENGTH = 255;
const NAME_LENGTH = 1_000;
const KEY_LENGTH = 255;
const VALUE_LENGTH = 65_536;
const URL_LENGTH = 4_096;
const ATTRIBUTES = 2_000;
export const IMAGES = 200;
const CATEGORIES = 100;
const CATEGORY_LEVELS = 20;
const USER_GROUPS = 1_000;
const ROW_LENGTH = 64;

/** `isText` refuses NUL and unpaired surrogates: no store keeps them and no JSON of ours could hold them. */
const text = (minLength: number, maxLength: number) => Type.String({ minLength, maxLength, isText: true });
const orNull = <Schema extends TSchema & { type: string }>(schema: Schema) =>
  Type.Optional(Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] }));
const closed = { additionalProperties: false };

export const Identifier = text(1, IDENTIFIER_LENGTH);
const UserGroups = Type.Array(text(1, KEY_LENGTH), { maxItems: USER_GROUPS });

const ImageSchema = Type.Object(
  {
    url: text(1, URL_LENGTH),
    type: Type.Unsafe({ type: 'string', enum: ['SMALL', 'LARGE', 'THUMB', 'ALTERNATIVE'] }),
  },
  closed,
);

export const CategorySchema = Type.Object(
  {
    path: Type.Array(text(1, NAME_LENGTH), { minItems: 1, maxItems: CATEGORY_LEVELS }),
    priority: orNull(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })),
    categoryId: orNull(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  },
  closed,
);

const Row = Type.Optional(
  Type.Unsafe<string | number | null>({
    ...{ ...text(1, ROW_LENGTH), type: ['string', 'integer', 'null'] },
    ...{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    description: 'values of one product with the same row belong together',
  }),
);

export const ValueSchema = Type.Object(
  {
    key: text(1, KEY_LENGTH),
    value: Type.Unsafe({ ...text(0, VALUE_LENGTH), type: ['string', 'null'] }),
    userGroups: orNull(UserGroups),
    row: Row,
  },
  closed,
);

const SETTINGS = Type.Object(
  { includeUserGroups: orNull(UserGroups), excludeUserGroups: orNull(UserGroups) },
  closed,
);
/** PHP writes an empty object as a list. */
type SentSettings = Static<typeof SETTINGS> | [];

const common = {
  groupIdentifier: orNull(text(1, IDENTIFIER_LENGTH)),
  productUrl: orNull(text(0, URL_LENGTH)),
  image: orNull(text(1, URL_LENGTH)),
  images: orNull(Type.Array(ImageSchema, { maxItems: IMAGES })),
  categories: orNull(Type.Array(CategorySchema, { maxItems: CATEGORIES })),
  settings: Type.Optional(
    Type.Unsafe<SentSettings | null>({ ...SETTINGS, type: ['object', 'array', 'null'], maxItems: 0 }),
  ),
};

/** A product of a full or incremental update. */
export const UploadProduct = Type.Object(
  {
    identifier: Identifier,
    name: text(0, NAME_LENGTH),
    ...common,
    attributes: orNull(Type.Array(ValueSchema, { maxItems: ATTRIBUTES })),
  },
  { ...closed, title: 'Product in a full or incremental update' },
);

const PatchValue = Type.Unsafe({
  type: ['string', 'object', 'null'],
  maxLength: VALUE_LENGTH,
  isText: true,
  required: ['value'],
  properties: { value: ValueSchema.properties.value, userGroups: orNull(UserGroups), row: Row },
  additionalProperties: false,
});

const PatchAttributes = Type.Unsafe({
  type: ['object', 'array', 'null'],
  maxProperties: ATTRIBUTES,
  propertyNames: text(1, KEY_LENGTH),
  additionalProperties: {
    type: ['string', 'object', 'array', 'null'],
    if: { type: 'array' },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { type: 'array', maxItems: ATTRIBUTES, items: PatchValue },
    else: PatchValue,
  },
  maxItems: ATTRIBUTES,
  items: ValueSchema,
});

/** A product of a partial update. */
export const PatchProduct = Type.Object(
  {
    identifier: Identifier,
    name: orNull(text(0, NAME_LENGTH)),
    ...common,
    attributes: Type.Optional(PatchAttributes),
  },
  { ...closed, title: 'Product in a partial update' },
);

const listOf = (product: object) =>
  Type.Unsafe<unknown>({
    anyOf: [
      { type: 'object', required: ['products'], properties: { products: { type: 'array', items: product } } },
      { type: 'array', items: product },
    ],
  });

/** For the documentation: bodies of products are checked one product at a time, by the thread that parses them. */
export const UploadBody = listOf(UploadProduct);
export const UpdateBody = listOf({ anyOf: [UploadProduct, PatchProduct] });
