import { isUtf8 } from 'node:buffer';
import { gunzipSync } from 'node:zlib';
import { Ajv, type Options as AjvOptions, type ErrorObject, type ValidateFunction } from 'ajv';
import { type ProductViolation, ServiceError } from '../kernel/errors.ts';
import { isStorableText } from '../kernel/storable-text.ts';
import type { SentPatch, SentProduct } from './product.ts';
import { PatchProduct, PRODUCTS_PER_REQUEST, UploadProduct } from './product-schemas.ts';

/** Which form the products of a body have. */
export type BodyForm = 'products' | 'patches';

export interface BodySource {
  readonly bytes: Uint8Array;
  readonly encoding: 'identity' | 'gzip';
  readonly maxMib: number;
}

export interface CheckedBody<Sent> {
  /** Distinct by identifier: the last one sent wins, where the first one stood. */
  readonly products: readonly Sent[];
  readonly sent: number;
  readonly repeated: readonly string[];
}

const MIB = 1024 * 1024;
/** Bad products named one by one; the rest is counted. Source: docs/interface.md §7.3. */
const VIOLATIONS = 100;
const ERRORS_PER_PRODUCT = 20;

const checks = { products: compileChecks(UploadProduct), patches: compileChecks(PatchProduct) };

interface Checks {
  /** For bodies whose strings hold no escape: what UTF-8 cannot hold can only be written with one. */
  readonly passesPlain: ValidateFunction;
  readonly passes: ValidateFunction;
  readonly explains: ValidateFunction;
}

/**
 * One schema, compiled three times. The first two stop at the first error and count UTF-16 units, which is quick and
 * never less than characters; what they refuse is looked at again by the last, which counts characters and names
 * every error.
 */
function compileChecks(schema: object): Checks {
  return {
    passesPlain: compile(schema, { allErrors: false, unicode: false }),
    passes: compile(schema, { allErrors: false, unicode: false, isText: isStorableText }),
    explains: compile(schema, { allErrors: true, verbose: true, isText: isStorableText }),
  };
}

function compile(
  schema: object,
  { isText, ...options }: AjvOptions & { isText?: (value: string) => boolean },
): ValidateFunction {
  const ajv = new Ajv({ ...options, strict: false, messages: true, logger: false });
  if (isText === undefined) return ajv.addKeyword('isText').compile(schema);
  ajv.addKeyword({
    keyword: 'isText',
    type: 'string',
    error: { message: 'must not hold NUL or unpaired surrogates' },
    validate: (_: unknown, value: string) => isText(value),
  });
  return ajv.compile(schema);
}

/**
 * Unpacks, parses and checks a body of products. Nothing is converted: values are strings by contract.
 * @throws body_not_gzip, body_too_large, body_not_json, request_invalid, too_many_products, no_products
 */
export function checkBody(source: BodySource, form: 'products'): CheckedBody<SentProduct>;
export function checkBody(source: BodySource, form: 'patches'): CheckedBody<SentPatch>;
export function checkBody(source: BodySource, form: BodyForm): CheckedBody<SentProduct | SentPatch>;
export function checkBody(source: BodySource, form: BodyForm): CheckedBody<SentProduct | SentPatch> {
  const text = readText(source);
  const list = readList(parseJson(text));
  if (list.length === 0) throw new ServiceError('no_products');
  if (list.length > PRODUCTS_PER_REQUEST) {
    throw new ServiceError('too_many_products', { values: [list.length, PRODUCTS_PER_REQUEST] });
  }
  const { passesPlain, passes, explains } = checks[form];
  const isGood = text.includes('\\u') ? passes : passesPlain;
  const bad = list.flatMap((product, index) => (isGood(product) || explains(product) ? [] : [index]));
  if (bad.length > 0) throw refuseProducts(list, bad, explains);
  return withoutRepetitions(list as (SentProduct | SentPatch)[]);
}

/** @returns what is wrong with one product; nothing when a body of this form may hold it */
export function listProductErrors(product: unknown, form: BodyForm): string[] {
  const { passes, explains } = checks[form];
  return passes(product) || explains(product) ? [] : describeErrors(explains.errors ?? []);
}

function readText({ bytes, encoding, maxMib }: BodySource): string {
  const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const plain = encoding === 'gzip' ? unpack(packed, maxMib) : packed;
  if (!isUtf8(plain)) throw new ServiceError('body_not_json', { details: ['the body is not valid UTF-8'] });
  return plain.toString('utf8').replace(/^\uFEFF/, '');
}

/** Stops at the limit, so that a small body cannot fill the memory. */
function unpack(packed: Buffer, maxMib: number): Buffer {
  try {
    return gunzipSync(packed, { maxOutputLength: maxMib * MIB });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new ServiceError('body_too_large', { values: [maxMib] });
    throw new ServiceError('body_not_gzip', { details: [message], cause: error });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const said = (error as Error).message;
    const details = [text.trim() === '' ? 'the body is empty' : said];
    throw new ServiceError('body_not_json', { details, cause: error });
  }
}

/** `{"products":[…]}` or the bare list. */
function readList(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (typeof body !== 'object' || body === null) throw refuseBody(['must be object or array']);
  const { products, ...others } = body as Record<string, unknown>;
  const unknown = Object.keys(others);
  if (products === undefined) throw refuseBody(["must have required property 'products'"]);
  if (!Array.isArray(products)) throw refuseBody(['/products must be array']);
  if (unknown.length > 0) throw refuseBody(unknown.slice(0, ERRORS_PER_PRODUCT).map(describeUnknown));
  return products;
}

const describeUnknown = (name: string) => `must NOT have additional properties: ${JSON.stringify(name)}`;

function refuseBody(errors: string[]): ServiceError {
  return new ServiceError('request_invalid', { validation: [violation(null, errors)] });
}

function refuseProducts(
  list: readonly unknown[],
  bad: readonly number[],
  explains: ValidateFunction,
): ServiceError {
  const validation = bad.slice(0, VIOLATIONS).map((index) => {
    explains(list[index]);
    const identifier = (list[index] as { identifier?: unknown } | null)?.identifier;
    const product = { identifier: typeof identifier === 'string' ? identifier.slice(0, 255) : null, index };
    return violation(product, describeErrors(explains.errors ?? []));
  });
  const rest = bad.length - VIOLATIONS;
  if (rest > 0) validation.push(violation(null, [`${rest} more products are not valid`]));
  return new ServiceError('request_invalid', { validation });
}

const violation = (product: ProductViolation['product'], errors: string[]): ProductViolation => ({
  product,
  schemaErrors: errors,
  errors,
});

function describeErrors(errors: readonly ErrorObject[]): string[] {
  const lines = errors.filter(({ keyword }) => keyword !== 'if').map(describeError);
  const distinct = [...new Set(lines)];
  const rest = distinct.length - ERRORS_PER_PRODUCT;
  return rest > 0 ? [...distinct.slice(0, ERRORS_PER_PRODUCT), `and ${rest} more`] : distinct;
}

function describeError(error: ErrorObject): string {
  const { instancePath, keyword, message = '', params } = error;
  const named = keyword === 'additionalProperties' ? `: ${JSON.stringify(params.additionalProperty)}` : '';
  const allowed = keyword === 'enum' ? `: ${(params.allowedValues as string[]).join(', ')}` : '';
  const types = keyword === 'type' ? message.replaceAll(',', ' or ') : message;
  const hint = isObjectForm(error) ? ', an object is for partial=true' : '';
  return `${instancePath} ${types}${named}${allowed}${hint}`.trim().slice(0, 1_000);
}

/** Attributes as a partial update may have them, where there can be only a list. */
const isObjectForm = ({ instancePath, keyword, data }: ErrorObject) =>
  instancePath === '/attributes' && keyword === 'type' && typeof data === 'object';

function withoutRepetitions<Sent extends { identifier: string }>(list: readonly Sent[]): CheckedBody<Sent> {
  const last = new Map<string, Sent>();
  const repeated: string[] = [];
  for (const product of list) {
    if (last.has(product.identifier)) repeated.push(product.identifier);
    last.set(product.identifier, product);
  }
  return { products: repeated.length === 0 ? list : [...last.values()], sent: list.length, repeated };
}
