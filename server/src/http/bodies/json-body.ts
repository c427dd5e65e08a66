import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifyRequest } from 'fastify';
import { parse as parseJson } from 'secure-json-parse';
import { ServiceError } from '../../kernel/errors.ts';
import type { JsonCounts, JsonLimits } from '../../kernel/json-scan.ts';
import { countJson, describeExcess, holdsMoreThan, weighJson } from '../../kernel/json-scan.ts';
import { type BodyEncoding, unpackNow } from '../../storage/payloads/payloads.ts';
import { Passed } from '../../storage/threads/threads.ts';
import { describeSchemaErrors } from '../answers/answers.ts';
import { MIB, type RawBody } from './body.ts';
import type { HeldMemory } from './memory-budget.ts';

/** Options for the checks of both bodies and parameters. */
const CHECKS = {
  useDefaults: true,
  strict: false,
  removeAdditional: false,
  // The schemas belong to the service. Checking them would compile the meta-schema, which takes 30 ms of a start for
  // each checker.
  meta: false,
  validateSchema: false,
  // Optimising would take two thirds of the compile time, 80 ms for the largest schema, and V8 optimises hot code
  // anyway.
  code: { optimize: false },
} as const;
/**
 * The refusal of a body with up to this many values lists all mistakes, possibly several for one value. The refusal of
 * a larger body lists only the first.
 */
const SMALL_BODY_VALUES = 2_000;
/**
 * The most further checks of a body in which empty lists were replaced. Each check of a large body finds only one list.
 */
const MENDS = 10;

interface SchemaCheck {
  /** @returns whether the value passes; or, in Fastify's terms, the value to replace it with */
  (value: unknown): boolean | { readonly value: unknown };
  errors?: ErrorObject[] | null;
}

/**
 * Compiles a check at its first use, because compiling takes some milliseconds and most processes use only some of the
 * routes.
 * @returns the check
 */
function checkLater(compile: () => ValidateFunction, prepare?: (value: unknown) => void): SchemaCheck {
  let compiled: ValidateFunction | undefined;
  const check: SchemaCheck = (value) => {
    compiled ??= compile();
    prepare?.(value);
    const passes = compiled(value);
    check.errors = compiled.errors ?? null;
    return passes;
  };
  return check;
}

/**
 * Adds bounds to integers, because neither the stores nor JSON parsers can represent larger ones exactly.
 * @returns the schema, in which every integer has bounds, as docs/openapi.json shows them
 */
function boundIntegers<Schema>(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema === null) return schema;
  const numbers = schema as { type?: unknown; minimum?: number; maximum?: number };
  if ([numbers.type].flat().includes('integer')) {
    numbers.minimum ??= Number.MIN_SAFE_INTEGER;
    numbers.maximum ??= Number.MAX_SAFE_INTEGER;
  }
  for (const part of Object.values(schema)) boundIntegers(part);
  return schema;
}

/**
 * The validator alone would convert every text that JavaScript reads as a number, such as `1e0`, `0x1` and ` 1`.
 * Source: docs/interface §4.1.
 */
const DECIMAL = /^(?!-0)-?\d+$/;

/** Flags in the spellings of PHP (1, 0) and Python (True, False). Source: docs/interface §4.3 rule 1. */
const FLAGS: Readonly<Record<string, boolean>> = { '1': true, '0': false, true: true, false: false };

type Parameters = Record<string, unknown>;

/** Checks the parameters of a URL. They are text, so they are converted. */
export function createParameterChecks(): (schema: object) => SchemaCheck {
  const converting = new Ajv({ ...CHECKS, allErrors: true, coerceTypes: true });
  return (routeSchema) => {
    const schema: { properties?: Record<string, { type?: unknown }> } = boundIntegers(routeSchema);
    const namesOf = (soughtType: string) =>
      Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) =>
        type === soughtType ? name : [],
      );
    const integers = namesOf('integer');
    const flags = namesOf('boolean');
    const prepare = (parameters: unknown) => {
      for (const name of integers) refuseUnfit(parameters as Parameters, name);
      for (const name of flags) readFlag(parameters as Parameters, name);
    };
    return nameFlags(checkLater(() => converting.compile(schema), prepare));
  };
}

/** Adds the accepted words to the refusal of a flag, as in the refusal of a text from a closed list. */
function nameFlags(check: SchemaCheck): SchemaCheck {
  const named: SchemaCheck = (value) => {
    const passes = check(value);
    named.errors =
      check.errors?.map((error) =>
        error.keyword === 'type' && error.params.type === 'boolean'
          ? { ...error, message: 'must be equal to one of the allowed values: true, false' }
          : error,
      ) ?? null;
    return passes;
  };
  return named;
}

function refuseUnfit(parameters: Parameters, name: string): void {
  const text = parameters[name];
  // The check does not convert lists and refuses them as integers.
  if (typeof text === 'string' && !DECIMAL.test(text)) parameters[name] = [text];
}

function readFlag(parameters: Parameters, name: string): void {
  const text = parameters[name];
  if (typeof text === 'string') parameters[name] = FLAGS[text.toLowerCase()] ?? text;
}

/** Bodies that a parsing thread has checked. They skip the check of their route. */
const checked = new WeakSet<object>();

/**
 * A parsing thread checks bodies whose schema has more characters than this, because compiling such a schema takes too
 * long on the serving thread: 40 to 104 ms for that of a pipeline (56 KiB), 14 to 41 ms for that of a relation (8 KiB).
 */
const LARGE_SCHEMA = 4 * 1024;

const isLargeSchema = (schema: object | undefined) =>
  schema !== undefined && describeOnce(schema).length > LARGE_SCHEMA;

const described = new WeakMap<object, string>();

const describeOnce = (schema: object): string =>
  described.getOrInsertComputed(schema, () => JSON.stringify(schema));

/** Checks bodies. If a field names the kind of a body, only mistakes of that kind are reported. */
export function createBodyChecks(): (schema: object) => SchemaCheck {
  const shared = { ...CHECKS, discriminator: true, verbose: true };
  const all = new Ajv({ ...shared, allErrors: true });
  const first = new Ajv(shared);
  return (routeSchema) => {
    const schema = boundIntegers(routeSchema);
    const listsAll = checkLater(() => all.compile(schema));
    const stopsAtFirst = checkLater(() => first.compile(schema));
    // A request without a body never reaches a parsing thread. Fastify checks it as null here. Large schemas are
    // schemas of objects.
    const isOptional = (schema as { anyOf?: { type: string }[] }).anyOf?.some(({ type }) => type === 'null');
    const checksNone = isLargeSchema(schema)
      ? checkLater(() => first.compile({ type: isOptional ? ['object', 'null'] : 'object' }))
      : listsAll;
    const choose = (body: unknown) => {
      if (body === undefined || body === null) return checksNone;
      return holdsMoreThan(SMALL_BODY_VALUES, body) ? stopsAtFirst : listsAll;
    };
    const check: SchemaCheck = (body) => {
      const chosen = choose(body);
      const holder = { body };
      const passes = passesMended(chosen, holder);
      check.errors = chosen.errors ?? null;
      return passes && holder.body !== body ? { value: holder.body } : passes;
    };
    return check;
  };
}

function passesMended(check: SchemaCheck, holder: { body: unknown }): boolean {
  for (let left = MENDS; left >= 0; left -= 1) {
    if (checked.has(holder.body as object) || check(holder.body)) return true;
    if (!mendObjects(holder, check.errors ?? [])) return false;
  }
  return false;
}

/**
 * Replaces empty lists by empty objects, because PHP writes an empty object as a list.
 * @returns whether there were such lists
 */
function mendObjects(holder: { body: unknown }, errors: readonly ErrorObject[]): boolean {
  // Where a body may have several forms, one of them may be a list, so such a list remains.
  const choices = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(placeOf));
  const lists = errors.filter((error) => isEmptyObject(error) && !choices.has(placeOf(error)));
  for (const { instancePath } of lists) {
    const names = `body${instancePath}`.split('/').map(readName);
    const last = names.pop() as string;
    let part: Record<string, unknown> = holder;
    for (const name of names) part = part[name] as typeof part;
    part[last] = {};
  }
  return lists.length > 0;
}

const readName = (name: string) => name.replaceAll('~1', '/').replaceAll('~0', '~');
const placeOf = ({ instancePath }: ErrorObject) => instancePath;

const isEmptyObject = ({ keyword, params, data, parentSchema }: ErrorObject) =>
  keyword === 'type' &&
  [params.type].flat().includes('object') &&
  Array.isArray(data) &&
  data.length === 0 &&
  (parentSchema?.required ?? []).length === 0;

/** Whether a body is empty. PHP sends an empty list for an empty object. */
const saysNothing = (body: unknown): boolean =>
  body === undefined || body === null || (Array.isArray(body) && body.length === 0);

/**
 * Replaces an empty body by an empty object, for a POST that needs no body because its query has everything. Source:
 * docs/interface §4 rule 9.
 */
export async function takeNoBody(request: FastifyRequest): Promise<void> {
  if (saysNothing(request.body)) request.body = {};
}

const checkEmpty = createBodyChecks()({ type: 'object', additionalProperties: false });

/**
 * Refuses a body in a call that takes none. If the body were ignored, its sender would believe that it has an effect.
 * @throws request_invalid
 */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (saysNothing(body) || checkEmpty(body)) return;
  throw new ServiceError('request_invalid', { details: describeSchemaErrors(checkEmpty.errors ?? []) });
}

/**
 * Joins parameters of the query and the body. Null counts as absent.
 * @throws query_invalid if a parameter differs between them
 */
export function joinTwins<Parameters extends object>(
  query: Parameters,
  body: { readonly [Name in keyof Parameters]?: Parameters[Name] | null },
): Parameters {
  const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of sent) {
    const inQuery = (query as Record<string, unknown>)[name];
    if (inQuery === undefined || isDeepStrictEqual(inQuery, value)) continue;
    throw new ServiceError('query_invalid', `/${name} of the query and of the body differ`);
  }
  return { ...query, ...Object.fromEntries(sent) };
}

/** Limits of a body that is parsed as JSON. Source: docs/interface §8. */
export const JSON_LIMITS: JsonLimits = { values: 400_000, names: 50_000, text: MIB };

/**
 * Limits up to which the serving thread itself unpacks, counts and parses a body. That takes at most 3 ms, of which
 * 1,000 names take up to 2 ms.
 */
const SMALL_BYTES = MIB / 4;
const SMALL = { values: 20_000, names: 1_000 };
/** The memory of a value in addition to its text. */
const VALUE_BYTES = 50;

/** A body in the form that is passed to a parsing thread. */
export interface JsonInput {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  readonly maxMib: number;
  readonly limits: JsonLimits;
  /** The schema of the body, as JSON. */
  readonly schema: string | undefined;
}

interface ReadJson {
  readonly value: PackedValue;
  readonly heldBytes: number;
  readonly isChecked: boolean;
}

/** Has a parsing thread read a body. Owners take turns. */
export type ReadElsewhere = (
  input: JsonInput,
  options: { readonly owner: number; readonly signal: AbortSignal },
) => Promise<ReadJson>;

export interface JsonTerms {
  readonly maxMib: number;
  readonly limits: JsonLimits;
  readonly schema: object | undefined;
  /** Where the memory of the parsed value is counted until the answer is sent; if undefined, it is not counted. */
  readonly memory: HeldMemory | undefined;
  /** The owner that takes turns with others. */
  readonly owner: number;
  readonly readElsewhere: ReadElsewhere;
  /** Aborted when the caller disconnects. */
  openSignal(): AbortSignal;
}

/**
 * Reads a JSON body, for example of the management API. A small body is read on this thread, and a body that is large
 * or has many values on a parsing thread. The memory of unpacked bytes, and of a value that a thread returns, is
 * counted until it is released.
 * @returns undefined for an empty body
 * @throws body_not_unpacked, body_not_json, body_too_large, request_invalid
 */
export async function readJsonBody(raw: RawBody, terms: JsonTerms): Promise<unknown> {
  const { bytes, encoding } = raw;
  const { memory, limits } = terms;
  if (bytes.length > SMALL_BYTES || isLargeSchema(terms.schema)) return readLarge(raw, terms);
  if (encoding !== 'identity') await hold(memory, bytes.length + SMALL_BYTES);
  const plain = unpackSmall(raw, terms.maxMib);
  const counts = plain && countJson(plain, capLimits(limits));
  if (plain === undefined || counts === undefined || !isDecided(counts, limits)) return readLarge(raw, terms);
  if (encoding === 'identity') memory?.release();
  else memory?.shrink(bytes.length + plain.length);
  return parseCounted(plain, counts, limits);
}

async function readLarge({ bytes, encoding }: RawBody, terms: JsonTerms): Promise<unknown> {
  const { maxMib, limits, schema, memory, owner } = terms;
  const signal = terms.openSignal();
  await hold(memory, bytes.length + (encoding === 'identity' ? bytes.length : maxMib * MIB));
  const input = { bytes, encoding, maxMib, limits, schema: schema && describeOnce(schema) };
  const { value: packed, heldBytes, isChecked } = await terms.readElsewhere(input, { owner, signal });
  memory?.shrink(bytes.length + heldBytes);
  const value = await unpackValue(packed);
  if (isChecked && typeof value === 'object' && value !== null) checked.add(value);
  return value;
}

async function hold(memory: HeldMemory | undefined, toBytes: number): Promise<void> {
  if (memory?.grow(toBytes) === false) await memory.waitFor(toBytes);
}

/** @returns undefined if a thread must unpack the body */
function unpackSmall({ bytes, encoding }: RawBody, maxMib: number): Buffer | undefined {
  const smallMib = SMALL_BYTES / MIB;
  try {
    return unpackNow(viewBytes(bytes), encoding, Math.min(maxMib, smallMib));
  } catch (error) {
    const isLarge = error instanceof ServiceError && error.code === 'body_too_large' && maxMib > smallMib;
    if (isLarge) return undefined;
    throw error;
  }
}

const viewBytes = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength);

const capLimits = ({ values, names, text }: JsonLimits): JsonLimits => ({
  values: Math.min(values, SMALL.values),
  names: Math.min(names, SMALL.names),
  text,
});

/** @returns false if the count stopped at a limit of the serving thread that is lower than the limit of the body */
function isDecided({ beyond }: JsonCounts, limits: JsonLimits): boolean {
  return (beyond !== 'values' && beyond !== 'names') || limits[beyond] <= SMALL[beyond];
}

/** @throws body_not_json, request_invalid */
function parseCounted(plain: Uint8Array, counts: JsonCounts, limits: JsonLimits): unknown {
  if (plain.length === 0) return undefined;
  const excess = describeExcess(counts, limits);
  if (excess !== undefined && counts.beyond === 'values' && limits.list !== undefined)
    throw refuseList(limits.list);
  if (excess !== undefined) throw new ServiceError('request_invalid', excess);
  try {
    // The parser skips one byte order mark, but a second one is not JSON.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plain);
    return parseJson(text, NO_PROTOTYPE);
  } catch (error) {
    throw new ServiceError('body_not_json', (error as Error).message, { cause: error });
  }
}

/** Refuses a list that is too long to be counted, with the text for a counted list. */
function refuseList({ most, code }: NonNullable<JsonLimits['list']>): ServiceError {
  const more = `more than ${most}`;
  return code === 'too_many_identifiers'
    ? new ServiceError(code, { values: [more, most] })
    : new ServiceError(code, `${more} identifiers are too many: at most ${most} are answered at once`);
}

/**
 * Removes `__proto__`, which has no meaning in a management document and must not reach an object that is merged into
 * another.
 */
const NO_PROTOTYPE = { protoAction: 'remove', constructorAction: 'ignore' } as const;

/** The operation of parsing threads that reads a body. Refused bodies never reach the serving thread. */
export function jsonOperations() {
  const compile = createBodyChecks();
  const checks = new Map<string, SchemaCheck>();
  const findCheck = (schema: string) => checks.getOrInsertComputed(schema, () => compile(JSON.parse(schema)));
  return {
    readJson({ bytes, encoding, maxMib, limits, schema }: JsonInput) {
      const plain = unpackNow(viewBytes(bytes), encoding, maxMib);
      const counts = countJson(plain, limits);
      const value = parseCounted(plain, counts, limits);
      // An empty body is not checked, because the query may replace it. With a large schema it is checked anyway,
      // because the serving thread never compiles one.
      const isChecked = schema !== undefined && (!saysNothing(value) || schema.length > LARGE_SCHEMA);
      const packed = packValue(isChecked ? checkValue(findCheck(schema), value) : value);
      const heldBytes = packed.bytes.length + counts.values * VALUE_BYTES;
      // The unpacked bytes belong only to this thread, so they are also garbage now.
      const deadBytes = bytes.length + plain.length;
      return new Passed<ReadJson>({ value: packed, heldBytes, isChecked }, deadBytes, [packed.bytes.buffer]);
    },
  };
}

/** More than a line of a refusal can show. */
const LINE_CHARACTERS = 2_000;

/**
 * @returns the value, or its replacement
 * @throws request_invalid
 */
function checkValue(check: SchemaCheck, value: unknown): unknown {
  const passes = check(value);
  if (passes === false) {
    const details = describeSchemaErrors(check.errors ?? []).map((line) => line.slice(0, LINE_CHARACTERS));
    throw new ServiceError('request_invalid', { details });
  }
  return passes === true ? value : passes.value;
}

/** A value on its way between threads, in parts that take about a millisecond each to read. */
type PackedValue = Readonly<ReturnType<typeof packValue>>;

interface Part {
  /** The path of these members within the whole value. */
  readonly path: readonly (string | number)[];
  readonly members: unknown;
}

type Container = Record<string | number, unknown>;

/** The most values per part. Reading 400,000 values as one part takes 200 ms. */
const PART_VALUES = 2_000;

/** Packs undefined, or any value that JSON can represent. */
function packValue(value: unknown) {
  const parts = Array.from(cutValue(value), (part) => serialize(part));
  const ends: number[] = [];
  for (const { length } of parts) ends.push((ends.at(-1) ?? 0) + length);
  const bytes = new Uint8Array(ends.at(-1) ?? 0);
  for (const [index, part] of parts.entries()) bytes.set(part, ends[index - 1] ?? 0);
  return { bytes, ends };
}

/**
 * Yields to other work between two parts.
 * @returns the unpacked value
 */
async function unpackValue({ bytes, ends }: PackedValue): Promise<unknown> {
  let whole: unknown;
  let from = 0;
  for (const end of ends) {
    const { path, members } = deserialize(bytes.subarray(from, end)) as Part;
    if (from === 0) whole = members;
    else {
      await nextTurn();
      const container = path.reduce<unknown>((within, name) => (within as Container)[name], whole);
      if (Array.isArray(container)) container.push(...(members as unknown[]));
      else Object.assign(container as Container, members);
    }
    from = end;
  }
  return whole;
}

/**
 * Cuts a value into parts. Lists and objects that are too large for a part are sent empty first, and their members in
 * later parts.
 */
function* cutValue(value: unknown): Generator<Part> {
  const large: LargeContainer[] = [];
  yield { path: [], members: leaveOut({ path: [], member: value }, large).member };
  for (const { path, whole } of large) {
    let members = emptyOf(whole);
    let weight = 0;
    for (const [name, sent] of membersOf(whole)) {
      const { member, own } = leaveOut({ path: [...path, name], member: sent }, large);
      if (Array.isArray(members)) members.push(member);
      else members[name] = member;
      weight += own;
      if (weight < PART_VALUES) continue;
      yield { path, members };
      members = emptyOf(whole);
      weight = 0;
    }
    yield { path, members };
  }
}

interface LargeContainer {
  readonly path: Part['path'];
  readonly whole: Container;
}

/**
 * Adds containers that are too large to `large`.
 * @returns the member in the form in which the part contains it, and the number of values that it counts as
 */
function leaveOut({ path, member }: { path: Part['path']; member: unknown }, large: LargeContainer[]) {
  const own = weighJson(PART_VALUES, member);
  if (own <= PART_VALUES || typeof member !== 'object' || member === null) return { member, own };
  const whole = member as Container;
  large.push({ path, whole });
  return { member: emptyOf(whole), own: 1 };
}

const emptyOf = (whole: Container): Container => (Array.isArray(whole) ? [] : {}) as Container;
const membersOf = (whole: Container) => (Array.isArray(whole) ? whole.entries() : Object.entries(whole));
