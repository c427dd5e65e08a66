import { isUtf8 } from 'node:buffer';
import { Ajv, type Options as AjvOptions, type ErrorObject, type ValidateFunction } from 'ajv';
import { boundLines, countBytes, cutText } from '../../kernel/bounded-lines.ts';
import { type ProductViolation, ServiceError } from '../../kernel/errors.ts';
import { countJson, describeExcess, holdsMoreThan } from '../../kernel/json-scan.ts';
import { isStorableText } from '../../kernel/storable-text.ts';
import { type BodyEncoding, unpackNow } from '../../storage/payloads/payloads.ts';
import { mergePatches } from './product.ts';
import {
  IMAGES,
  PatchProduct,
  PRODUCTS_PER_REQUEST,
  type SentPatch,
  type SentProduct,
  UploadProduct,
} from './schemas/schemas.ts';

/** Whether a body with invalid products is refused, or its invalid products are skipped. */
export type OnInvalid = 'refuse' | 'skip';

export type BodyForm = 'products' | 'patches';

export interface BodySource {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  readonly maxMib: number;
  /** Default: 'refuse'. */
  readonly onInvalid?: OnInvalid;
}

export interface CheckedBody<Sent> {
  /**
   * The products, distinct by identifier, at the position of the first one. The last product of an identifier wins;
   * patches are merged.
   */
  readonly products: readonly Sent[];
  readonly sent: number;
  readonly repeated: readonly string[];
  readonly skipped: readonly SkippedProduct[];
  readonly corrected: readonly CorrectedProduct[];
}

const ERRORS_PER_PRODUCT = { most: 20, bytes: 4 * 1024 };
/**
 * The limit of values. Ordinary bodies have 14 bytes per value. An empty object counts as two values and takes 56
 * bytes of memory, which is seven times its share.
 */
const VALUES_PER_MIB = 128 * 1024;
/** Ten times the limits of a product. Longer lists are refused without parsing. */
const WIDEST = 20_000;
/** A product with at most this many values gets all its errors. A larger one gets only the first. */
const SMALL_PRODUCT_VALUES = 10_000;

const checks = {
  products: compileChecks(UploadProduct),
  patches: compileChecks(PatchProduct),
};

type CheckOptions = AjvOptions & { isText?: (value: string) => boolean };

/**
 * One schema, compiled up to four times. The first two stop at the first error and count UTF-16 units. This is fast,
 * and there are never fewer units than characters. The third checks products that they refuse again, and counts
 * characters. The last reports every error: up to three per value, each with its own text.
 */
function compileChecks(schema: object) {
  return {
    // For bodies without escapes in strings, because only an escape can write what UTF-8 cannot represent.
    passesPlain: compileOnce(schema, { unicode: false }),
    passesEscaped: compileOnce(schema, { unicode: false, isText: isStorableText }),
    passes: compileOnce(schema, { verbose: true, isText: isStorableText }),
    explains: compileOnce(schema, { allErrors: true, verbose: true, isText: isStorableText }),
  };
}

/** Compiles on first use, because every thread loads this file but few check a product. All eight take 200 ms. */
function compileOnce(schema: object, { isText, ...options }: CheckOptions): () => ValidateFunction {
  let compiled: ValidateFunction | undefined;
  // The schema is our own. Checking it would compile the meta-schema too.
  const own = { strict: false, messages: true, logger: false, meta: false, validateSchema: false } as const;
  const keyword = isText && {
    type: 'string' as const,
    error: { message: 'must not contain NUL or unpaired surrogates' },
    validate: (_: unknown, value: string) => isText(value),
  };
  return () => {
    compiled ??= new Ajv({ ...options, ...own })
      .addKeyword({ keyword: 'isText', ...keyword })
      .compile(schema);
    return compiled;
  };
}

/**
 * Unpacks, parses and checks a body of products. It converts nothing, because values are strings by contract.
 * @throws body_not_unpacked, body_too_large, body_not_json, request_invalid, too_many_products, no_products
 */
export function checkBody(source: BodySource, form: BodyForm): CheckedBody<SentProduct | SentPatch> {
  const text = readText(source);
  const list = [...readList(parseJson(text))];
  if (list.length === 0) throw new ServiceError('no_products');
  if (list.length > PRODUCTS_PER_REQUEST)
    throw new ServiceError('too_many_products', { values: [list.length, PRODUCTS_PER_REQUEST] });
  const isValid = findCheck(form, text.includes('\\u'));
  const invalid = list.flatMap((product, index) => (isValid(product) ? [] : [index]));
  if (invalid.length > 0 && source.onInvalid !== 'skip') throw refuseProducts(list, invalid, form);
  const corrected: CorrectedProduct[] = [];
  const bad = invalid.filter((index) => {
    const { product, ...paths } = correctPaths(list[index]);
    list[index] = product;
    if (!isValid(product)) return true;
    corrected.push({ identifier: String(identifierOf(product)), ...paths });
    return false;
  });
  const out = new Set(bad);
  const valid = bad.length === 0 ? list : list.filter((_, index) => !out.has(index));
  return {
    ...(form === 'patches'
      ? withoutRepetitions(valid as SentPatch[], mergePatches)
      : withoutRepetitions(valid as SentProduct[], (_, last) => last)),
    sent: list.length,
    skipped: bad.map((index) => ({
      index,
      identifier: identifierOf(list[index]),
      errors: explainProduct(list[index], form),
    })),
    corrected,
  };
}

/** @returns the errors of one product; an empty list if it is valid in a body of this form */
export function listProductErrors(product: unknown, form: BodyForm): string[] {
  return findCheck(form, true)(product) ? [] : explainProduct(product, form);
}

/** @param isEscaped whether a string may contain characters that UTF-8 cannot represent */
function findCheck(form: BodyForm, isEscaped: boolean): (product: unknown) => boolean {
  const { passesPlain, passesEscaped, passes } = checks[form];
  const isGood = isEscaped ? passesEscaped() : passesPlain();
  return (product) => (isGood(product) || passes()(product)) && countImages(product) <= IMAGES;
}

function explainProduct(product: unknown, form: BodyForm): string[] {
  const { passes, explains } = checks[form];
  const explain = holdsMoreThan(SMALL_PRODUCT_VALUES, product) ? passes() : explains();
  if (explain(product)) return [`/images must NOT have more than ${IMAGES - 1} items beside /image`];
  return describeErrors(explain.errors ?? []);
}

/** @returns the number of images, including `image` */
function countImages(product: unknown): number {
  const { image, images } = product as SentProduct;
  return (images?.length ?? 0) + (typeof image === 'string' ? 1 : 0);
}

/** @throws body_not_unpacked, body_too_large */
export function unpackBody({ bytes, encoding, maxMib }: BodySource): Buffer {
  return unpackNow(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding, maxMib);
}

function readText(source: BodySource): string {
  const plain = unpackBody(source);
  refuseExcess(plain, source.maxMib);
  if (!isUtf8(plain)) throw new ServiceError('body_not_json', 'the body is not valid UTF-8');
  return plain.toString('utf8').replace(/^\uFEFF/, '');
}

/**
 * Refuses a body far above a limit before it is parsed.
 * @throws too_many_products, request_invalid
 */
export function refuseExcess(bytes: Buffer, maxMib: number): void {
  const limits = { values: maxMib * VALUES_PER_MIB, names: Infinity, text: Infinity };
  const counts = countJson(bytes, limits);
  const { at: offset, depth, members } = counts.widest;
  const isList = depth === 1 ? bytes[offset] === OPENS_LIST : depth === 2 && isNamedProducts(bytes, offset);
  if (members > WIDEST && isList)
    throw new ServiceError('too_many_products', { values: [members, PRODUCTS_PER_REQUEST] });
  const excess = describeExcess(counts, limits);
  if (excess !== undefined) throw refuseBody([excess]);
  if (members <= WIDEST) return;
  const [memberCount, most] = [members, WIDEST].map((count) => count.toLocaleString('en'));
  throw refuseBody([
    `a list or object of the body has ${memberCount} members, and at most ${most} are allowed`,
  ]);
}

const OPENS_LIST = 0x5b;
const isNamedProducts = (bytes: Buffer, offset: number) =>
  /"products"\s*:\s*\[$/.test(bytes.toString('latin1', Math.max(0, offset - 99), offset + 1));

/**
 * @returns whether a body is too short to exceed the limit of values, because each value of a valid body takes at
 * least four bytes
 */
export const isTooShortForExcess = ({ length }: Buffer, maxMib: number) =>
  length <= 4 * VALUES_PER_MIB * maxMib;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const details = [text.trim() === '' ? 'the body is empty' : (error as Error).message];
    throw new ServiceError('body_not_json', { details, cause: error });
  }
}

/** Reads `{"products":[…]}` or a bare list. */
function readList(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (typeof body !== 'object' || body === null) throw refuseBody(['must be object or array']);
  const { products, ...others } = body as Record<string, unknown>;
  const unknown = Object.keys(others);
  if (products === undefined) throw refuseBody(["must have required property 'products'"]);
  if (!Array.isArray(products)) throw refuseBody(['/products must be array']);
  if (unknown.length > 0) throw refuseBody(unknown.slice(0, ERRORS_PER_PRODUCT.most).map(describeUnknown));
  return products;
}

const describeUnknown = (name: string) => `must NOT have additional properties: ${JSON.stringify(name)}`;

function refuseBody(errors: string[]): ServiceError {
  const validation = [violation(null, boundLines(errors, ERRORS_PER_PRODUCT))];
  return new ServiceError('request_invalid', { validation });
}

function refuseProducts(list: readonly unknown[], bad: readonly number[], form: BodyForm): ServiceError {
  const invalid = bad.map((index) => ({
    index,
    identifier: identifierOf(list[index]),
    // Errors are only computed for products that are named.
    errors: () => explainProduct(list[index], form),
  }));
  return new ServiceError('product_invalid', { validation: describeInvalid(invalid) });
}

function describeErrors(errors: readonly ErrorObject[]): string[] {
  const lines = errors.filter(({ keyword }) => keyword !== 'if').map(describeError);
  return boundLines([...new Set(lines)], ERRORS_PER_PRODUCT);
}

function describeError(error: ErrorObject): string {
  const { instancePath, keyword, message = '', params } = error;
  const named = keyword === 'additionalProperties' ? `: ${JSON.stringify(params.additionalProperty)}` : '';
  const allowed = keyword === 'enum' ? `: ${(params.allowedValues as string[]).join(', ')}` : '';
  const types = keyword === 'type' ? describeTypes(error) : message;
  const hint = isObjectForm(error) ? '; an object needs partial=true' : '';
  return `${instancePath} ${types}${named}${allowed}${hint}`;
}

/** Omits two types: null, which means absent, and the list that PHP writes for an empty object. */
function describeTypes({ params, parentSchema }: ErrorObject): string {
  const { maxItems } = (parentSchema ?? {}) as { maxItems?: number };
  const types = [params.type]
    .flat()
    .filter((type) => type !== 'null' && (type !== 'array' || maxItems !== 0));
  return `must be ${types.join(' or ')}`;
}

/** @returns whether attributes have the form of a partial update where only a list is allowed */
const isObjectForm = ({ instancePath, keyword, data }: ErrorObject) =>
  instancePath === '/attributes' && keyword === 'type' && typeof data === 'object';

function withoutRepetitions<Sent extends { identifier: string }>(
  list: readonly Sent[],
  join: (first: Sent, second: Sent) => Sent,
): Pick<CheckedBody<Sent>, 'products' | 'repeated'> {
  const last = new Map<string, Sent>();
  const repeated: string[] = [];
  for (const product of list) {
    const before = last.get(product.identifier);
    if (before !== undefined) repeated.push(product.identifier);
    last.set(product.identifier, before === undefined ? product : join(before, product));
  }
  return { products: repeated.length === 0 ? list : [...last.values()], repeated };
}

/** An invalid product that its request skips. Source: docs/interface §4.12. */
export interface SkippedProduct {
  readonly index: number;
  /** null if no product could have the identifier. */
  readonly identifier: string | null;
  readonly errors: readonly string[];
}

/** A product whose category paths were corrected. */
export interface CorrectedProduct extends CorrectedPaths {
  readonly identifier: string;
}

interface CorrectedPaths {
  /** The number of paths with an empty name at an end. */
  readonly count: number;
  /** How many of these paths had no other name. */
  readonly dropped: number;
}

/** Limits of the invalid products that are named. Further products are only counted. Source: docs/interface §7.3. */
const VIOLATIONS = { most: 100, bytes: 48 * 1024 };
const IDENTIFIER_LENGTH = 255;

export function describeInvalid(
  invalid: readonly (Omit<SkippedProduct, 'errors'> & { errors: readonly string[] | (() => string[]) })[],
): ProductViolation[] {
  const validation: ProductViolation[] = [];
  let left = VIOLATIONS.bytes;
  for (const { identifier, index, errors } of invalid.slice(0, VIOLATIONS.most)) {
    const named = violation({ identifier, index }, typeof errors === 'function' ? errors() : errors);
    left -= countBytes(named);
    if (left < 0) break;
    validation.push(named);
  }
  const rest = invalid.length - validation.length;
  if (rest > 0) validation.push(violation(null, [`${rest} more products are not valid`]));
  return validation;
}

const violation = (product: ProductViolation['product'], errors: readonly string[]): ProductViolation => ({
  product,
  schemaErrors: errors,
  errors,
});

/** @returns the identifier, shortened to the longest that a product can have */
function identifierOf(product: unknown): string | null {
  const { identifier } = (product ?? {}) as { identifier?: unknown };
  return typeof identifier === 'string' ? cutText(identifier, IDENTIFIER_LENGTH) : null;
}

/** Drops the empty names at both ends of category paths, and drops paths without other names. */
function correctPaths(product: unknown): CorrectedPaths & { readonly product: unknown } {
  const { categories } = (product ?? {}) as { categories?: unknown };
  if (!Array.isArray(categories)) return { product, count: 0, dropped: 0 };
  let [count, dropped] = [0, 0];
  const corrected = categories.flatMap((category) => {
    const { path } = (category ?? {}) as { path?: unknown };
    if (!Array.isArray(path)) return [category];
    const names = trimEmpty(path);
    if (names.length === 0) dropped += 1;
    if (names.length < path.length || names.length === 0) count += 1;
    return names.length === 0 ? [] : [{ ...category, path: names }];
  });
  return { product: { ...(product as object), categories: corrected }, count, dropped };
}

function trimEmpty(path: readonly unknown[]): readonly unknown[] {
  const isName = (name: unknown) => name !== '' && name !== null;
  return path.slice(Math.max(0, path.findIndex(isName)), path.findLastIndex(isName) + 1);
}
