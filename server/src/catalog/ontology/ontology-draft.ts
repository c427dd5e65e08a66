import type { Attribute } from './attribute.ts';

/**
 * What all values of an attribute that the ontology does not know look like so far. `unit`: the unit that every value
 * carries, '' for plain numbers, null when they are not all numbers of one unit. Source: docs/interface.md §11.2.
 */
export interface Observed {
  readonly unit: string | null;
  readonly isBoolean: boolean;
}

/** By attribute name. A Map, not an object: `__proto__` is a name like any other. */
export type Observations = ReadonlyMap<string, Observed>;

/** A number that says so beyond doubt: no leading zeros, no exponent, at most 15 digits. */
const PLAIN_NUMBER = /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const MOST_DIGITS = 15;
/** A word of up to 12 characters that begins with no digit. */
const UNIT = /^[^\d\s]\S{0,11}$/u;

export function observeValue(value: string): Observed {
  return { unit: readUnit(value), isBoolean: /^(?:true|false)$/i.test(value) };
}

function readUnit(value: string): string | null {
  const space = value.indexOf(' ');
  const number = space < 0 ? value : value.slice(0, space);
  const unit = space < 0 ? '' : value.slice(space + 1);
  const isNumber = PLAIN_NUMBER.test(number) && number.replace(/[^\d]/g, '').length <= MOST_DIGITS;
  return isNumber && (space < 0 || UNIT.test(unit)) ? unit : null;
}

/** What holds of both holds of all: the order of the values does not matter. */
export function joinObserved(a: Observed | undefined, b: Observed): Observed {
  if (a === undefined) return b;
  return { unit: a.unit === b.unit ? a.unit : null, isBoolean: a.isBoolean && b.isBoolean };
}

export function joinObservations(all: Iterable<Observations>): Map<string, Observed> {
  const joined = new Map<string, Observed>();
  for (const observations of all) {
    for (const [name, observed] of observations) joined.set(name, joinObserved(joined.get(name), observed));
  }
  return joined;
}

/** @returns the attribute that a full update creates for these values. */
export function draftAttribute(id: number, name: string, { unit, isBoolean }: Observed): Attribute {
  if (unit !== null) return { id, name, type: 'NUMERIC_ATTRIBUTE', ...(unit !== '' && { unitName: unit }) };
  return { id, name, type: isBoolean ? 'BOOLEAN_ATTRIBUTE' : 'TEXT_ATTRIBUTE' };
}

/** @returns the definition as text: facts made with an equal one are equal. */
export function describeDefinition({ id, type, unitName }: Attribute): string {
  return `${id} ${type} ${unitName ?? ''}`;
}
