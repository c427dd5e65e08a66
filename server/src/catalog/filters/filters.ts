/**
 * The door of filters: the one language to select products and rows, and the one comparison of values. Relations,
 * lists of products and mappings use it. Pure.
 */
import { type Attribute, readMeasure, readPlain, readValue, splitMeasure } from '../ontology/ontology.ts';
import {
  addPlain,
  computeInBase,
  convertToBase,
  dimensionOf,
  isSameUnit,
  type Measure,
  type MeasureTerm,
  type Rounding,
  solveMeasure,
} from '../ontology/units/units.ts';
import type { UploadedProduct } from '../products/products.ts';

/**
 * A value that can be compared: text is compared by code point, instants are milliseconds, true is 1 and false is
 * 0.
 */
export type Comparable = string | number;

/**
 * The members of an attribute that are needed to compare its values; `keys` are the keys of uploads that mean the
 * attribute.
 */
export interface ComparedAttribute
  extends Pick<Attribute, 'name' | 'type' | 'unitName' | 'decimal' | 'unitAliases'> {
  readonly keys: readonly string[];
  /** Set if it is a field that every product has, not an attribute. */
  readonly field?: OwnField;
  /**
   * The dimension of its unit: numbers are compared in the base unit. It is set when the attribute is prepared for
   * comparing. Data derived by versions that did not convert units has other numbers.
   */
  readonly dimension?: string;
  /** A computation on the values of the attribute before they are compared, see `compute`. */
  readonly term?: MeasureTerm;
}

/**
 * A computation on a number in a definition: the number is multiplied first, then `plus` is added. Source:
 * docs/interface §12.3.
 */
export interface Computation {
  readonly times?: number;
  /** In the unit of the attribute, or with a unit of the same dimension. */
  readonly plus?: number | string;
}

/** @returns the attribute with the computation on its values, or the reason why its values cannot be computed */
export function compute(
  attribute: ComparedAttribute,
  { times, plus }: Computation,
): { readonly computed: ComparedAttribute } | { readonly problem: string } {
  if (times === undefined && plus === undefined) return { computed: attribute };
  if (kindOf(attribute) !== 'number')
    return { problem: `only numbers can be computed, but ${describeAttribute(attribute)}` };
  const added = plus === undefined ? undefined : readOperandMeasure(plus, attribute);
  if (plus !== undefined && added === undefined)
    return {
      problem: `the value ${JSON.stringify(plus)} does not fit, because ${describeAttribute(attribute)}`,
    };
  const term = { ...(times !== undefined && { times: String(times) }), ...(added && { plus: added }) };
  return { computed: { ...attribute, term } };
}

export type OwnField = 'identifier' | 'groupIdentifier' | 'name';

const ownField = (field: OwnField) => ({ name: field, type: 'TEXT_ATTRIBUTE' as const, keys: [], field });

/** Fields that every product has, compared as text. */
export const OWN: Readonly<Record<OwnField, ComparedAttribute>> = {
  identifier: ownField('identifier'),
  groupIdentifier: ownField('groupIdentifier'),
  name: ownField('name'),
};

/** @returns the attribute prepared for comparing, under these keys of an upload */
export function toCompared(
  { name, type, unitName, decimal, unitAliases }: Omit<ComparedAttribute, 'keys' | 'dimension'>,
  keys: readonly string[],
): ComparedAttribute {
  const dimension = unitName === undefined ? undefined : dimensionOf(unitName, unitAliases);
  return {
    name,
    type,
    ...(unitName !== undefined && { unitName }),
    ...(decimal !== undefined && { decimal }),
    keys,
    ...(dimension !== undefined && { dimension }),
    ...(unitAliases !== undefined && { unitAliases }),
  };
}

/**
 * @returns whether values of two attributes can be compared: of one kind, and for numbers without a unit, in one
 * unit or in one dimension
 */
export const areComparable = (a: ComparedAttribute, b: ComparedAttribute): boolean =>
  kindOf(a) === kindOf(b) &&
  (a.unitName === b.unitName || (a.dimension !== undefined && a.dimension === b.dimension));

const KINDS = {
  TEXT_ATTRIBUTE: 'text',
  UNTYPED_ATTRIBUTE: 'text',
  NUMERIC_ATTRIBUTE: 'number',
  BOOLEAN_ATTRIBUTE: 'boolean',
  DATE_ATTRIBUTE: 'date',
} as const;

const kindOf = ({ type }: ComparedAttribute) => KINDS[type];

/** @returns a value of an upload in comparable form; undefined if it makes no fact of the attribute (§11.3) */
export function readComparable(value: string, attribute: ComparedAttribute): Comparable | undefined {
  if (attribute.type === 'NUMERIC_ATTRIBUTE') {
    const measure = readMeasure(value, attribute);
    return 'plain' in measure ? toNumber(measure.plain, attribute) : undefined;
  }
  const read = readValue(value, attribute);
  switch (read.kind) {
    case 'text':
      return value;
    case 'boolean':
      return read.boolean ? 1 : 0;
    case 'date':
      return readInstant(value);
    default:
      return undefined;
  }
}

/** Turns -0 into 0. */
function toNumber(
  plain: string,
  { unitName = '', dimension, unitAliases, term }: ComparedAttribute,
  unit = unitName,
): number {
  if (term !== undefined) return computeInBase({ plain, unit }, term, unitAliases) + 0;
  return (dimension === undefined ? Number(plain) : convertToBase(plain, unit, unitAliases)) + 0;
}

/**
 * @param parts values that make facts of the numeric attribute, each with a factor
 * @returns their exact sum, as text and in comparable form; a computation on the attribute applies to the sum
 */
export function sumComparables(
  parts: readonly { readonly text: string; readonly times: number }[],
  attribute: ComparedAttribute,
): ComparableValue {
  const plain = addPlain(
    parts.flatMap(({ text, times }) => {
      const measure = readMeasure(text, attribute);
      return 'plain' in measure ? [{ plain: measure.plain, times }] : [];
    }),
  );
  const { unitName } = attribute;
  return {
    text: unitName === undefined ? plain : `${plain} ${unitName}`,
    comparable: toNumber(plain, attribute),
  };
}

/** @returns the number of a value that makes a fact of the numeric attribute, in the unit of the attribute */
export function readNumber(text: string, attribute: ComparedAttribute): Measure | undefined {
  const measure = readMeasure(text, attribute);
  return 'plain' in measure ? { plain: measure.plain, unit: attribute.unitName ?? '' } : undefined;
}

/** @returns the number in comparable form, after the computation on the attribute */
export const toComparable = ({ plain, unit }: Measure, attribute: ComparedAttribute): Comparable =>
  toNumber(plain, attribute, unit);

/**
 * @param number with the computation on it
 * @returns the number that compares as equal to it, in the unit of the attribute and before the computation of the
 * attribute; undefined if that computation has the factor 0
 */
export const solveNumber = (
  number: { readonly measure: Measure; readonly term?: MeasureTerm | undefined },
  { unitName: unit = '', term = {}, unitAliases }: ComparedAttribute,
  rounding: Rounding,
): string | undefined =>
  solveMeasure({ measure: number.measure, term: number.term ?? {} }, { unit, term, rounding }, unitAliases);

/** A date without a time means midnight on that day; a time without a zone is in UTC. */
function readInstant(value: string): number {
  const [day = '', time = ''] = value.split(/[T ]/);
  if (time === '') return Date.parse(day);
  return Date.parse(`${day}T${/(?:Z|[+-]\d{2}:?\d{2})$/.test(time) ? time : `${time}Z`}`);
}

/**
 * @returns a value of a filter in comparable form: a number in the attribute's unit, or text with a unit of the
 * same dimension; true or false; text. Source: docs/interface §12.2 rules 4 to 6
 */
export function readOperand(value: unknown, attribute: ComparedAttribute): Comparable | undefined {
  const kind = kindOf(attribute);
  if (kind === 'number') {
    const read = readOperandMeasure(value, attribute);
    return read && toNumber(read.plain, attribute, read.unit);
  }
  if (kind === 'boolean' && typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return undefined;
  return kind === 'text' ? value : readComparable(value, attribute);
}

/** @returns a number as written, with its unit: the attribute's unit or another one of its dimension */
export function readOperandMeasure(value: unknown, attribute: ComparedAttribute) {
  const { unitName = '', dimension, unitAliases } = attribute;
  if (typeof value === 'number') return { plain: String(value), unit: unitName };
  if (typeof value !== 'string') return undefined;
  const { number, unit = '' } = splitMeasure(value);
  const converts = dimension !== undefined && dimensionOf(unit, unitAliases) === dimension;
  if (!converts && !isSameUnit(unit, unitName, unitAliases)) return undefined;
  const plain = readOperandNumber(number, attribute);
  return plain === undefined ? undefined : { plain, unit };
}

/**
 * A program or a person writes a filter. So the number has a decimal point, whatever form the uploads have, or
 * the attribute's form, or any unambiguous form. `1,234` is ambiguous.
 */
function readOperandNumber(number: string, { decimal }: ComparedAttribute): string | undefined {
  const own = readPlain(number, 'plain') ?? (decimal && readPlain(number, decimal));
  if (own !== undefined) return own;
  const read = (['comma', 'point'] as const).flatMap((form) => readPlain(number, form) ?? []);
  return new Set(read).size === 1 ? read[0] : undefined;
}

/** Compares text by code point, as the stores do; JavaScript's own order puts U+FFFF after U+10000. */
export function compareValues(a: Comparable, b: Comparable): number {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) - Number(b);
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [unitOfA, unitOfB] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (unitOfA === unitOfB) continue;
    const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate(unitOfA) !== isSurrogate(unitOfB)) return isSurrogate(unitOfA) ? 1 : -1;
    return unitOfA - unitOfB;
  }
  return a.length - b.length;
}

/** A value as uploaded and in comparable form. */
export interface ComparableValue {
  readonly text: string;
  readonly comparable: Comparable;
  /** Values of one product with the same row belong together (§2.3). */
  readonly row?: string;
}

/** @returns the values of an upload that make facts of the attribute, in order */
export function readComparables(
  product: Pick<UploadedProduct, 'attributes' | OwnField>,
  attribute: ComparedAttribute,
): ComparableValue[] {
  if (attribute.field !== undefined) {
    const text = product[attribute.field];
    return [{ text, comparable: text }];
  }
  return product.attributes.flatMap(({ key, value: text, row }) => {
    const comparable = attribute.keys.includes(key) ? readComparable(text, attribute) : undefined;
    if (comparable === undefined) return [];
    return [row === undefined ? { text, comparable } : { text, comparable, row: String(row) }];
  });
}

const NAMES = { text: 'text', number: 'a number', boolean: 'true or false', date: 'a date' } as const;

/** @returns a description of what an attribute contains, for the reason of a problem */
export function describeAttribute(attribute: ComparedAttribute): string {
  const unit = attribute.unitName === undefined ? '' : ` with the unit ${attribute.unitName}`;
  if (attribute.field !== undefined) return `the ${attribute.field} of a product is text`;
  return `the attribute ${JSON.stringify(attribute.name)} is ${NAMES[kindOf(attribute)]}${unit}`;
}

/** Operators that compare two values, in matches and in filters. */
export const OPERATORS = ['equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual'] as const;
export type Operator = (typeof OPERATORS)[number];

const FILTER_OPERATORS = [...OPERATORS, 'in', 'contains', 'exists', 'between'] as const;
type FilterOperator = (typeof FILTER_OPERATORS)[number];

/** Limits of a filter of products, or of the rows of a source. */
export const CONDITIONS_PER_FILTER = 100;
export const FILTER_DEPTH = 10;

/** For each operator, whether it holds for `order`: the sign of its left operand compared with its right one. */
export const COMPARISONS: Readonly<Record<Operator, (order: number) => boolean>> = {
  equals: (order) => order === 0,
  notEquals: (order) => order !== 0,
  less: (order) => order < 0,
  lessOrEqual: (order) => order <= 0,
  greater: (order) => order > 0,
  greaterOrEqual: (order) => order >= 0,
};

/**
 * @param operands the value of the condition, the list of `in`, or both ends of `between`
 * @returns a function that tests whether a value satisfies the operator. Source: docs/interface §12.2 rules 4 to
 * 7 and 10
 */
export function compileOperator(
  operator: Exclude<FilterOperator, 'exists'>,
  operands: readonly Comparable[],
): Test<Comparable> {
  const [operand = '', end = ''] = operands;
  switch (operator) {
    case 'in': {
      const listed = new Set(operands);
      return (present) => listed.has(present);
    }
    case 'between':
      return (present) => compareValues(operand, present) <= 0 && compareValues(present, end) <= 0;
    case 'contains': {
      const part = String(operand).toLowerCase();
      return (present) => String(present).toLowerCase().includes(part);
    }
    default: {
      const holds = COMPARISONS[operator];
      return (present) => holds(compareValues(present, operand));
    }
  }
}

export type Test<Subject> = (subject: Subject) => boolean;

/** @returns the test of nested filters; `not` has one nested filter */
export function combineTests<Subject>(
  kind: 'all' | 'any' | 'not',
  tests: readonly Test<Subject>[],
): Test<Subject> {
  if (kind === 'all') return (subject) => tests.every((test) => test(subject));
  if (kind === 'any') return (subject) => tests.some((test) => test(subject));
  return (subject) => !tests.some((test) => test(subject));
}

/** Selects products. Source: docs/interface §12.2. */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | AttributeCondition
  | { readonly category: readonly string[] }
  | { readonly identifiers: readonly string[] };

export interface AttributeCondition {
  readonly attribute: string;
  readonly operator: FilterOperator;
  readonly value?: unknown;
}

export interface ProductView {
  readonly identifier: string;
  readonly categories: readonly (readonly string[])[];
  valuesOf(attribute: ComparedAttribute): readonly Comparable[];
  /** @returns the row of each of these values, by index; undefined if no value has a row */
  rowsOf?(attribute: ComparedAttribute): readonly (string | undefined)[] | undefined;
}

export type ProductTest = Test<ProductView>;

/** @returns an upload in the form that filters read; values and paths are read on demand */
export const viewUpload = (product: UploadedProduct): ProductView => new UploadView(product);

/** A class, because an object literal with a getter would have a new hidden class each time. */
class UploadView implements ProductView {
  readonly #product: UploadedProduct;

  constructor(product: UploadedProduct) {
    this.#product = product;
  }

  get identifier(): string {
    return this.#product.identifier;
  }

  get categories(): readonly (readonly string[])[] {
    return this.#product.categories.map(({ path }) => path);
  }

  valuesOf(attribute: ComparedAttribute): Comparable[] {
    return readComparables(this.#product, attribute).map(({ comparable }) => comparable);
  }
}

/** The reason why a comparison cannot work with the present attributes. Source: docs/interface §12.4. */
export class ComparisonProblem extends Error {}

export type FindAttribute = (name: string) => ComparedAttribute;

/** @throws ComparisonProblem */
export function compileFilter(filter: Filter, findAttribute: FindAttribute): ProductTest {
  const compile = (part: Filter) => compileFilter(part, findAttribute);
  if ('all' in filter) return combineTests('all', filter.all.map(compile));
  if ('any' in filter) return combineTests('any', filter.any.map(compile));
  if ('not' in filter) return combineTests('not', [compile(filter.not)]);
  if ('category' in filter) {
    const isUnder = (path: readonly string[]) => filter.category.every((name, level) => path[level] === name);
    return ({ categories }) => categories.some(isUnder);
  }
  if ('identifiers' in filter) {
    const named = new Set(filter.identifiers);
    return ({ identifier }) => named.has(identifier);
  }
  return compileCondition(filter, findAttribute(filter.attribute));
}

/**
 * A condition never holds for a product without a value. If the product has several values, one that satisfies the
 * condition suffices. Source: docs/interface §12.2 rules 8, 9.
 */
function compileCondition(
  { operator, value }: AttributeCondition,
  attribute: ComparedAttribute,
): ProductTest {
  if (operator === 'exists') return (product) => product.valuesOf(attribute).length > 0;
  if (operator === 'contains' && kindOf(attribute) !== 'text')
    throw new ComparisonProblem(`contains needs text, but ${describeAttribute(attribute)}`);
  const operands = [value].flat().map((operand) => getOperand(operand, attribute));
  const holds = compileOperator(operator, operands);
  return (product) => product.valuesOf(attribute).some(holds);
}

function getOperand(value: unknown, attribute: ComparedAttribute): Comparable {
  const operand = readOperand(value, attribute);
  if (operand !== undefined) return operand;
  throw new ComparisonProblem(
    `the value ${JSON.stringify(value)} does not fit, because ${describeAttribute(attribute)}`,
  );
}

/** @returns every condition of a filter, in order */
export function listConditions(filter: Filter): readonly Filter[] {
  if ('all' in filter) return filter.all.flatMap(listConditions);
  if ('any' in filter) return filter.any.flatMap(listConditions);
  return 'not' in filter ? listConditions(filter.not) : [filter];
}

/** Limits of a filter that is stored. Source: docs/interface §12.2. */

const LISTED = 10_000;
const TEXT_LENGTH = 65_536;
const PATH_LENGTH = 20;

/**
 * @param path the place of the filter within a body
 * @returns the problems of the filter, empty if it can be stored; whether it works with the ontology is a
 * separate question
 */
export function checkFilter(path: string, sent: unknown): string[] {
  const errors = checkPart(path, sent, 1);
  if (errors.length > 0) return errors;
  const conditions = listConditions(sent as Filter).length;
  if (conditions <= CONDITIONS_PER_FILTER) return [];
  return [
    `${path} must have at most ${CONDITIONS_PER_FILTER} conditions in at most ${FILTER_DEPTH} levels, but has ${conditions}`,
  ];
}

const SHAPE =
  'must be one of {"all":[…]}, {"any":[…]}, {"not":…}, {"attribute","operator","value"?}, {"category":[…]}, {"identifiers":[…]}';

function checkPart(path: string, sent: unknown, depth: number): string[] {
  if (depth > FILTER_DEPTH) return [`${path} is nested deeper than ${FILTER_DEPTH} levels`];
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return [`${path} ${SHAPE}`];
  const filter = sent as Record<string, unknown>;
  const fields = Object.keys(filter);
  const [field = ''] = fields;
  if ('attribute' in filter) return checkCondition(path, filter);
  if (fields.length !== 1 || !(field in PARTS)) return [`${path} ${SHAPE}`];
  return PARTS[field as keyof typeof PARTS](`${path}/${field}`, filter[field], depth);
}

const PARTS = {
  all: checkFilters,
  any: checkFilters,
  not: (path: string, sent: unknown, depth: number) => checkPart(path, sent, depth + 1),
  category: (path: string, sent: unknown) => checkTexts(path, sent, PATH_LENGTH),
  identifiers: (path: string, sent: unknown) => checkTexts(path, sent, LISTED),
};

function checkFilters(path: string, sent: unknown, depth: number): string[] {
  if (!Array.isArray(sent)) return [`${path} must be array`];
  if (sent.length > CONDITIONS_PER_FILTER)
    return [`${path} must NOT have more than ${CONDITIONS_PER_FILTER} items`];
  return sent.flatMap((part, index) => checkPart(`${path}/${index}`, part, depth + 1));
}

function checkTexts(path: string, sent: unknown, most: number): string[] {
  if (!Array.isArray(sent) || sent.some((text) => !isText(text))) return [`${path} must be array of strings`];
  return sent.length > most ? [`${path} must NOT have more than ${most} items`] : [];
}

const isText = (sent: unknown): sent is string => typeof sent === 'string' && sent.length <= TEXT_LENGTH;
const isValue = (sent: unknown) => isText(sent) || typeof sent === 'number' || typeof sent === 'boolean';

function checkCondition(path: string, { attribute, operator, value, ...others }: Record<string, unknown>) {
  const unknown = Object.keys(others).map((name) => `${path} must NOT have additional properties: ${name}`);
  if (unknown.length > 0) return unknown;
  if (!isText(attribute)) return [`${path}/attribute must be string`];
  if (!FILTER_OPERATORS.includes(operator as FilterOperator))
    return [`${path}/operator must be equal to one of ${FILTER_OPERATORS.join(', ')}`];
  const { takes, isGood } = OPERANDS[operator as keyof typeof OPERANDS] ?? SINGLE;
  return isGood(value) ? [] : [`${path}/value must be ${takes} for ${operator}`];
}

const isListOf = (value: unknown, most: number) =>
  Array.isArray(value) && value.length <= most && value.every(isValue);

const SINGLE = { takes: 'string, number or boolean', isGood: isValue };
const OPERANDS = {
  exists: { takes: 'absent', isGood: (value: unknown) => value === undefined || value === true },
  in: { takes: `array of at most ${LISTED} values`, isGood: (value: unknown) => isListOf(value, LISTED) },
  between: {
    takes: '[low, high]',
    isGood: (value: unknown) => isListOf(value, 2) && (value as unknown[]).length === 2,
  },
};

/**
 * False, unknown or true, by Kleene's strong logic (Introduction to Metamathematics, 1952, §64): a result is
 * unknown unless the known parts decide it. Source: docs/interface §12.10.
 */
export type Truth = -1 | 0 | 1;

/** The result if all parts must hold; true without parts. */
export const least = (truths: readonly Truth[]): Truth => Math.min(1, ...truths) as Truth;

/** The result if one part suffices; false without parts. */
const greatest = (truths: readonly Truth[]): Truth => Math.max(-1, ...truths) as Truth;

/**
 * A condition on an attribute without a value is unknown, whereas a test of the filter treats it as false.
 * `exists` is never unknown.
 * @throws ComparisonProblem
 */
export function judgeFilter(filter: Filter, find: FindAttribute): (product: ProductView) => Truth {
  const judge = (nested: Filter) => judgeFilter(nested, find);
  if ('all' in filter || 'any' in filter) {
    const combine = 'all' in filter ? least : greatest;
    const parts = ('all' in filter ? filter.all : filter.any).map(judge);
    return (product) => combine(parts.map((part) => part(product)));
  }
  if ('not' in filter) {
    const part = judge(filter.not);
    // Subtracting gives 0 for 0, where a negation would give -0.
    return (product) => (0 - part(product)) as Truth;
  }
  const test = compileFilter(filter, find);
  const judgeTest = (product: ProductView) => (test(product) ? 1 : -1);
  if (!isOnValue(filter)) return judgeTest;
  const attribute = find(filter.attribute);
  return (product) => (product.valuesOf(attribute).length === 0 ? 0 : judgeTest(product));
}

const isOnValue = (filter: Filter): filter is AttributeCondition =>
  'attribute' in filter && filter.operator !== 'exists';

/**
 * @returns the attributes whose missing values make a filter unknown, each once; an empty list if the filter is
 * decided
 */
export function listUnknown(filter: Filter, find: FindAttribute, product: ProductView): string[] {
  if (judgeFilter(filter, find)(product) !== 0) return [];
  const list = (parts: readonly Filter[]) => [
    ...new Set(parts.flatMap((part) => listUnknown(part, find, product))),
  ];
  if ('all' in filter) return list(filter.all);
  if ('any' in filter) return list(filter.any);
  if ('not' in filter) return list([filter.not]);
  return isOnValue(filter) ? [filter.attribute] : [];
}
