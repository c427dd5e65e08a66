import {
  type Attribute,
  addPlain,
  computeInBase,
  convertToBase,
  dimensionOf,
  isSameUnit,
  type MeasureTerm,
  readMeasure,
  readPlain,
  readValue,
  splitMeasure,
} from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';

/** A value that can be compared: text by code point, numbers, instants in ms, true as 1 and false as 0. */
export type Comparable = string | number;

type Kind = 'text' | 'number' | 'boolean' | 'date';

/** What must be known of an attribute to compare its values; the keys are those of an upload that mean it. */
export interface ComparedAttribute
  extends Pick<Attribute, 'name' | 'type' | 'unitName' | 'decimal' | 'unitAliases'> {
  readonly keys: readonly string[];
  /** No attribute, but a field that every product has. */
  readonly field?: OwnField;
  /**
   * Of its unit: its numbers compare in the base unit. The code that made the attribute ready to compare says so, for what was
   * derived before units converted has other numbers.
   */
  readonly dimension?: string;
  /** What is compared is made of its values, see `compute`. */
  readonly term?: MeasureTerm;
}

/** What a definition makes of a number: times the factor first, then added to. Source: docs/interface.md §12.3. */
export interface Computation {
  readonly times?: number;
  /** In the unit of the attribute, or with a unit of its dimension. */
  readonly plus?: number | string;
}

/** @returns the attribute with what is to be made of its values, or why that cannot be */
export function compute(
  attribute: ComparedAttribute,
  { times, plus }: Computation,
): { readonly computed: ComparedAttribute } | { readonly problem: string } {
  if (times === undefined && plus === undefined) return { computed: attribute };
  if (kindOf(attribute) !== 'number')
    return { problem: `only numbers can be computed, ${describeAttribute(attribute)}` };
  const added = plus === undefined ? undefined : readOperandMeasure(plus, attribute);
  if (plus !== undefined && added === undefined)
    return { problem: `the value ${JSON.stringify(plus)} does not fit, ${describeAttribute(attribute)}` };
  const term = { ...(times !== undefined && { times: String(times) }), ...(added && { plus: added }) };
  return { computed: { ...attribute, term } };
}

const OWN_FIELDS = ['identifier', 'groupIdentifier', 'name'] as const;
export type OwnField = (typeof OWN_FIELDS)[number];

const ownField = (field: OwnField): ComparedAttribute => ({
  ...{ name: field, type: 'TEXT_ATTRIBUTE', keys: [], field },
});

/** What products have beside attributes, compared as text. */
export const OWN: Readonly<Record<OwnField, ComparedAttribute>> = {
  identifier: ownField('identifier'),
  groupIdentifier: ownField('groupIdentifier'),
  name: ownField('name'),
};

/** @returns the attribute ready to compare, under these keys of an upload */
export function toCompared(
  { name, type, unitName, decimal, unitAliases }: Omit<ComparedAttribute, 'keys' | 'dimension'>,
  keys: readonly string[],
): ComparedAttribute {
  const dimension = unitName === undefined ? undefined : dimensionOf(unitName, unitAliases);
  return {
    ...{ name, type },
    ...(unitName !== undefined && { unitName }),
    ...(decimal !== undefined && { decimal }),
    keys,
    ...(dimension !== undefined && { dimension }),
    ...(unitAliases !== undefined && { unitAliases }),
  };
}

/** Whether values of one kind can be compared: numbers without a unit, of one unit or of one dimension. */
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

export const kindOf = ({ type }: Pick<ComparedAttribute, 'type'>): Kind => KINDS[type];

/** @returns a value of an upload as the attribute understands it; undefined when it makes no fact (§11.3) */
export function readComparable(value: string, attribute: ComparedAttribute): Comparable | undefined {
  if (attribute.type === 'NUMERIC_ATTRIBUTE') {
    const measure = readMeasure(value, attribute);
    return 'plain' in measure ? toNumber(measure.plain, attribute) : undefined;
  }
  const read = readValue(value, attribute as unknown as Attribute);
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

/** 0 for -0. */
function toNumber(
  plain: string,
  { unitName = '', dimension, unitAliases, term }: ComparedAttribute,
  unit = unitName,
): number {
  if (term !== undefined) return computeInBase({ plain, unit }, term, unitAliases) + 0;
  return (dimension === undefined ? Number(plain) : convertToBase(plain, unit, unitAliases)) + 0;
}

/**
 * @param parts values that make facts of the numeric attribute, each so many times
 * @returns their exact sum, as it is written, and as it compares: what is computed of the attribute is computed of the sum
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

/** A date alone is its midnight; without a zone, UTC. */
function readInstant(value: string): number {
  const [day = '', time = ''] = value.split(/[T ]/);
  if (time === '') return Date.parse(day);
  return Date.parse(`${day}T${/(?:Z|[+-]\d{2}:?\d{2})$/.test(time) ? time : `${time}Z`}`);
}

/**
 * A value of a filter as the attribute understands it: a number in the attribute's unit, or a text that carries a unit of
 * the same dimension; true and false; text. Source: docs/interface.md §12.2 rules 4 to 6.
 */
export function readOperand(value: unknown, attribute: ComparedAttribute): Comparable | undefined {
  const kind = kindOf(attribute);
  if (kind === 'number') return readNumericOperand(value, attribute);
  if (kind === 'boolean' && typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return undefined;
  return kind === 'text' ? value : readComparable(value, attribute);
}

function readNumericOperand(value: unknown, attribute: ComparedAttribute): number | undefined {
  const read = readOperandMeasure(value, attribute);
  return read && toNumber(read.plain, attribute, read.unit);
}

/** @returns a number that somebody wrote, with its unit, which is the attribute's or another of its dimension */
function readOperandMeasure(
  value: unknown,
  attribute: ComparedAttribute,
): { readonly plain: string; readonly unit: string } | undefined {
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
 * A filter is written by a program or a person: with a decimal point whatever the uploads have, else as the attribute has
 * it, else in any form that leaves no doubt. `1,234` does.
 */
function readOperandNumber(number: string, { decimal }: ComparedAttribute): string | undefined {
  const own = readPlain(number, 'plain') ?? (decimal && readPlain(number, decimal));
  if (own !== undefined) return own;
  const read = (['comma', 'point'] as const).flatMap((form) => readPlain(number, form) ?? []);
  return new Set(read).size === 1 ? read[0] : undefined;
}

/** By code point, as the stores compare text; JavaScript's own order puts U+FFFF after U+10000. */
export function compareValues(a: Comparable, b: Comparable): number {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) - Number(b);
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [unitOfA, unitOfB] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (unitOfA === unitOfB) continue;
    const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate(unitOfA) !== isSurrogate(unitOfB)) return isSurrogate(unitOfA) ? 1 : -1;
    return unitOfA - unitOfB;
  }
  return a.length - b.length;
}

/** A value as it was uploaded and as it compares. */
export interface ComparableValue {
  readonly text: string;
  readonly comparable: Comparable;
  /** Values of one product with the same row belong together (§2.3). */
  readonly row?: string;
}

/** @returns the values of an upload that make facts of the attribute, in their order */
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

/** @returns what an attribute holds, for the reason of a problem */
export function describeAttribute(attribute: ComparedAttribute): string {
  const unit = attribute.unitName === undefined ? '' : ` with the unit ${attribute.unitName}`;
  if (attribute.field !== undefined) return `the ${attribute.field} of a product is text`;
  return `the attribute ${JSON.stringify(attribute.name)} is ${NAMES[kindOf(attribute)]}${unit}`;
}
