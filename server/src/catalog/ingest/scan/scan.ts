import { isUtf8 } from 'node:buffer';
import type { Observed } from '../../ontology/drafts/drafts.ts';
import {
  CategorySchema,
  Identifier,
  IMAGES,
  PRODUCTS_PER_REQUEST,
  UploadProduct,
  ValueSchema,
} from '../../products/schemas/schemas.ts';
import { AttributeScan, type ScannedKey } from './attribute-scan.ts';
import {
  afterSameAgain,
  afterText,
  hasEscape,
  irregularities,
  LOWER_N,
  NO_SPAN,
  OPENS_LIST,
  type Reader,
  readerOf,
  readList,
  readObject,
  sizesOf,
  skipSpace,
  UNCERTAIN,
} from './readers.ts';
import { ScannedProducts } from './scanned-products.ts';
import { SpanNumbers } from './span-table.ts';

/**
 * The door of the scan. In one pass over its bytes, it checks that a body of products is certainly valid, and lists
 * its names. The validator checks all other bodies.
 */
export { TextNumbers } from './span-table.ts';

/** The results of one pass over the bytes of a body of products. */
export interface ScannedBody {
  /** The number of products, all with distinct identifiers. */
  readonly sent: number;
  /** The forms of the values of each attribute key, in the order in which the keys came. */
  readonly observed: ReadonlyMap<string, Observed>;
  /** The attribute keys, by their numbers in `products`. */
  readonly keys: readonly ScannedKey[];
  readonly products: ScannedProducts;
  /** Category paths without an id, as JSON, each once. */
  readonly paths: readonly string[];
}

const PRODUCTS = { least: 1, most: PRODUCTS_PER_REQUEST };
const IDENTIFIER = sizesOf(Identifier);
// The type of the schema describes products, so it does not show the schemas of their fields.
const { image, images } = UploadProduct.properties as unknown as { image: object; images: { items: object } };
const IMAGE_SCHEMAS: readonly object[] = [image, images.items];

/**
 * Checks a body of a full or incremental update and lists its names. It does not parse the body, so it takes a fifth
 * of the time.
 * @returns undefined if the body is not certainly valid or repeats an identifier; then the validator decides
 */
export function scanBody(bytes: Buffer): ScannedBody | undefined {
  if (!isUtf8(bytes)) return undefined;
  const identifiers = scanIdentifiers(bytes);
  const attributes = new AttributeScan(bytes);
  const categories = scanCategories(bytes);
  const products = new ScannedProducts(bytes, attributes);
  let sent = 0;
  /** The number of images of the product, including `image`. */
  let images = 0;

  const countImage =
    (read: Reader): Reader =>
    (offset) => {
      images += 1;
      return read(offset);
    };
  /** A null member counts as absent. */
  const noteMember =
    (name: string, reader: Reader): Reader =>
    (start) => {
      const before = irregularities.count;
      const end = reader(start);
      const isIrregular = irregularities.count > before;
      if (bytes[start] !== LOWER_N) products.note(name, { start, end, isIrregular });
      return end;
    };
  const noting = new Map<object, Reader>([
    [Identifier, identifiers.read],
    [CategorySchema, categories.read],
    [ValueSchema, attributes.read],
    ...IMAGE_SCHEMAS.map((schema) => [schema, countImage(readerOf(bytes, schema, new Map()))] as const),
  ]);
  const members = Object.entries(UploadProduct.properties).map(
    ([name, schema]) => [name, noteMember(name, readerOf(bytes, schema, noting))] as const,
  );
  const readProduct = readObject(bytes, Object.fromEntries(members), UploadProduct.required);
  const afterProduct: Reader = (offset) => {
    attributes.startProduct();
    products.start(offset);
    images = 0;
    const end = readProduct(offset);
    products.end(end);
    sent += 1;
    return identifiers.numbers.size === sent && images <= IMAGES ? end : UNCERTAIN;
  };
  const readProducts = readList(bytes, { ...PRODUCTS, item: afterProduct });
  const readBody = readObject(bytes, { products: readProducts }, ['products']);
  const start = skipSpace(bytes, 0);
  const end = bytes[start] === OPENS_LIST ? readProducts(start) : readBody(start);
  if (end < 0 || skipSpace(bytes, end) < bytes.length) return undefined;
  if (identifiers.mayRepeat() && new Set(products.listIdentifiers()).size < sent) return undefined;
  return {
    sent,
    products,
    keys: attributes.distinct,
    observed: attributes.observed,
    paths: categories.listPaths(),
  };
}

/** Reads the identifiers of products, and numbers them. */
function scanIdentifiers(bytes: Buffer) {
  const numbers = new SpanNumbers();
  let isEscaped = false;
  const read: Reader = (offset) => {
    const end = afterText(bytes, offset, IDENTIFIER);
    if (end < 0) return UNCERTAIN;
    numbers.add(bytes, offset, end);
    if (numbers.isCrowded) return UNCERTAIN;
    isEscaped ||= hasEscape(bytes, offset, end);
    return end;
  };
  return {
    read,
    numbers,
    /** Whether an identifier may be another spelling of an earlier one. */
    mayRepeat: () => isEscaped,
  };
}

const { path, categoryId } = CategorySchema.properties;

/** Reads the categories of products, and stores the paths without an id. */
function scanCategories(bytes: Buffer) {
  const numbers = new SpanNumbers();
  /** The numbers of paths without an id, each once, in the order in which they came. */
  const unnumbered = new Set<number>();
  let last = NO_SPAN;
  let number = UNCERTAIN;
  let hasId = false;
  const readPath = readerOf(bytes, path, new Map());
  const readId = readerOf(bytes, categoryId, new Map());

  /** Compares with the last path first, because products of one category are often consecutive. */
  const afterPath: Reader = (offset) => {
    const same = number < 0 ? UNCERTAIN : afterSameAgain(bytes, offset, last);
    if (same >= 0) return same;
    const before = irregularities.count;
    const end = readPath(offset);
    if (end < 0) return UNCERTAIN;
    number = numbers.add(bytes, offset, end);
    last = { start: offset, length: end - offset, irregularities: irregularities.count - before };
    return end;
  };
  const afterId: Reader = (offset) => {
    hasId = bytes[offset] !== LOWER_N;
    return readId(offset);
  };
  const noting = new Map<object, Reader>([
    [path, afterPath],
    [categoryId, afterId],
  ]);
  const readCategory = readerOf(bytes, CategorySchema, noting);
  const read: Reader = (offset) => {
    hasId = false;
    const end = readCategory(offset);
    if (end >= 0 && !hasId) unnumbered.add(number);
    return end;
  };
  return {
    read,
    /** @returns the paths as JSON, each once */
    listPaths(): string[] {
      const texts = Array.from(unnumbered, (path) => JSON.stringify(JSON.parse(numbers.textOf(path))));
      return [...new Set(texts)];
    },
  };
}
