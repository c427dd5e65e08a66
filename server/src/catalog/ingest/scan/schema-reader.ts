import { integer, list, object, oneOf, orNull, type Reader, type Sizes, text } from './readers.ts';

/** As much of JSON Schema as the schemas of products use; `additionalProperties` is always false there. */
interface ProductSchema {
  readonly type: string | readonly string[];
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: ProductSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, ProductSchema>>;
  readonly required?: readonly string[];
}

/** Readers that note what they read, in place of those that a schema would get. */
export type NotingReaders = ReadonlyMap<object, Reader>;

/** One schema for the validator and for this. @returns a reader of values that the schema certainly allows */
export function readerOf(bytes: Buffer, schema: object, noting: NotingReaders): Reader {
  const reader = noting.get(schema) ?? createReader(bytes, schema as ProductSchema, noting);
  return (schema as ProductSchema).type.includes('null') ? orNull(bytes, reader) : reader;
}

function createReader(bytes: Buffer, schema: ProductSchema, noting: NotingReaders): Reader {
  const { items, properties = {}, required = [], minItems = 0, maxItems = 0 } = schema;
  switch ([schema.type].flat()[0]) {
    case 'string':
      return schema.enum ? oneOf(bytes, schema.enum) : text(bytes, sizesOf(schema));
    case 'integer':
      return integer(bytes, { least: schema.minimum ?? 0, most: schema.maximum ?? 0 });
    case 'array':
      return list(bytes, {
        item: readerOf(bytes, items as ProductSchema, noting),
        ...{ least: minItems, most: maxItems },
      });
    case 'object': {
      const members = Object.entries(properties).map(([name, one]) => [name, readerOf(bytes, one, noting)]);
      return object(bytes, Object.fromEntries(members) as Record<string, Reader>, required);
    }
    default:
      throw new Error(`no reader of the type ${schema.type}`);
  }
}

export function sizesOf(schema: object): Sizes {
  const { minLength = 0, maxLength = 0 } = schema as ProductSchema;
  return { least: minLength, most: maxLength };
}
