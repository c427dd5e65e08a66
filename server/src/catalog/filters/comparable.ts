import { type Attribute, readNumber, readValue } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';

/** A value that can be compared: text by code point, numbers, instants in ms, true as 1 and false as 0. */
export type Comparable = string | number;

type Kind = 'text' | 'number' | 'boolean' | 'date';

/** What must be known of an attribute to compare its values; the keys are those of an upload that mean it. */
export interface ComparedAttribute extends Pick<Attribute, 'name' | 'type' | 'unitName' | 'decimal'> {
  readonly keys: readonly string[];
  /** No attribute, but a field that every product has. */
  readonly field?: OwnField;
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
  const read = readValue(value, attribute as unknown as Attribute);
  switch (read.kind) {
    case 'text':
      return value;
    case 'number':
      return read.number === 0 ? 0 : read.number;
    case 'boolean':
      return read.boolean ? 1 : 0;
    case 'date':
      return readInstant(value);
    case 'none':
      return undefined;
  }
}

/** A date alone is its midnight; without a zone, UTC. */
function readInstant(value: string): number {
  const [day = '', time = ''] = value.split(/[T ]/);
  if (time === '') return Date.parse(day);
  return Date.parse(`${day}T${/(?:Z|[+-]\d{2}:?\d{2})$/.test(time) ? time : `${time}Z`}`);
}

/**
 * A value of a filter as the attribute understands it: a number in the attribute's unit, or a text that carries the
 * unit; true and false; text. Source: docs/interface.md §12.2 rules 4 to 6.
 */
export function readOperand(value: unknown, attribute: ComparedAttribute): Comparable | undefined {
  const kind = kindOf(attribute);
  if (kind === 'number' && typeof value === 'number') return value + 0;
  if (kind === 'boolean' && typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return undefined;
  return (
    readComparable(value, attribute) ?? (kind === 'number' ? readWithPoint(value, attribute) : undefined)
  );
}

/** A filter is written by a program: its numbers may have a point whatever the uploads have. */
function readWithPoint(value: string, { unitName }: ComparedAttribute): number | undefined {
  const suffix = unitName === undefined ? '' : ` ${unitName}`;
  return value.endsWith(suffix)
    ? readNumber(value.slice(0, value.length - suffix.length), 'point')
    : undefined;
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
  return product.attributes.flatMap(({ key, value: text }) => {
    const comparable = attribute.keys.includes(key) ? readComparable(text, attribute) : undefined;
    return comparable === undefined ? [] : [{ text, comparable }];
  });
}

const NAMES = { text: 'text', number: 'a number', boolean: 'true or false', date: 'a date' } as const;

/** @returns what an attribute holds, for the reason of a problem */
export function describeAttribute(attribute: ComparedAttribute): string {
  const unit = attribute.unitName === undefined ? '' : ` with the unit ${attribute.unitName}`;
  if (attribute.field !== undefined) return `the ${attribute.field} of a product is text`;
  return `the attribute ${JSON.stringify(attribute.name)} is ${NAMES[kindOf(attribute)]}${unit}`;
}
