import { groupsOf, isTruth, NUMBER_FORMS, type NumberForm, splitMeasure } from '../attribute.ts';
import { isSameUnit, isUnit } from '../units/units.ts';

/**
 * The forms of all values so far of an attribute that the ontology does not know. Each finding has the first value
 * that showed it. Source: docs/interface §11.2.
 */
export interface Observed {
  readonly first: string;
  readonly isBoolean: boolean;
  /** Units in their spelling, '' for no unit. */
  readonly units: readonly (readonly [unit: string, value: string])[];
  /** For each form, a value that is not a number in this form. */
  readonly misfits: Readonly<Partial<Record<NumberForm, string>>>;
  /** A value that is a different number with a decimal point than with a decimal comma, such as 1.234. */
  readonly unclear?: string;
}

/** Observations by attribute name. It is a Map and not an object, because `__proto__` is a valid name. */
export type Observations = ReadonlyMap<string, Observed>;

/** Numbers without an exponent or leading zeros, which are certainly numbers. */
const FORMS: Readonly<Record<NumberForm, RegExp>> = {
  plain: /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/,
  comma: new RegExp(`^[+-]?(?:0|[1-9]\\d*|${groupsOf('.')})(?:,\\d+)?$`),
  point: new RegExp(`^[+-]?(?:0|[1-9]\\d*|${groupsOf(',')})(?:\\.\\d+)?$`),
};
/** A word of up to 12 characters that does not begin with a digit. */
const UNIT = /^[^\d\s]\S{0,11}$/u;
/** A number with this many digits is a code, such as a GTIN. */
export const CODE_DIGITS = 12;
const SHOWN_LENGTH = 100;
/** More spellings than this cannot belong to one unit. */
const UNITS = 8;

export function observeValue(value: string): Observed {
  const first = value.slice(0, SHOWN_LENGTH);
  const isBoolean = isTruth(value);
  const { number, unit = '' } = splitMeasure(value);
  const isMeasure = (unit === '' || UNIT.test(unit)) && countDigits(number) < CODE_DIGITS;
  const forms = isMeasure ? NUMBER_FORMS.filter((form) => FORMS[form].test(number)) : [];
  if (forms.length === 0) return { first, isBoolean, units: [], misfits: misfitAll(first) };
  const misfits = Object.fromEntries(
    NUMBER_FORMS.filter((form) => !forms.includes(form)).map((form) => [form, first]),
  );
  const isUnclear = number.includes('.') && forms.includes('plain') && forms.includes('comma');
  return { first, isBoolean, units: [[unit, first]], misfits, ...(isUnclear && { unclear: first }) };
}

export const countDigits = (number: string) => number.replaceAll(/\D/g, '').length;
const misfitAll = (value: string) => ({ plain: value, comma: value, point: value });

/** @returns whether no further value can change the observations */
export const isSurelyText = ({ misfits: { plain, comma, point }, isBoolean }: Observed): boolean =>
  !isBoolean && plain !== undefined && comma !== undefined && point !== undefined;

/** Joins two observations: a property holds for all values if it holds for both. */
export function joinObserved(a: Observed | undefined, b: Observed): Observed {
  if (a === undefined) return b;
  const spellings = new Set(a.units.map(([unit]) => unit));
  const units = [...a.units, ...b.units.filter(([unit]) => !spellings.has(unit))];
  const other = findOtherUnit(units);
  // After values that were all true or false, the first other value decides the type, so it is the misfit.
  const misfitsBefore = a.isBoolean && !b.isBoolean ? misfitAll(b.first) : a.misfits;
  const misfits = { ...(other === undefined ? b.misfits : misfitAll(other)), ...misfitsBefore };
  const unclear = misfits.comma === undefined ? (a.unclear ?? b.unclear) : undefined;
  return {
    first: a.first,
    isBoolean: a.isBoolean && b.isBoolean,
    units: units.slice(0, UNITS),
    misfits,
    ...(unclear !== undefined && { unclear }),
  };
}

/** @returns a value whose unit cannot be the unit of the values before it */
function findOtherUnit(units: Observed['units']): string | undefined {
  if (units.length > UNITS) return units.at(-1)?.[1];
  const [first] = units;
  // A unit that the table lacks may be the project's alias of a unit in it.
  return units.find(([unit]) => first !== undefined && isApart(first[0], unit))?.[1];
}

const isApart = (a: string, b: string) =>
  a !== b && (a === '' || b === '' || (isUnit(a) && isUnit(b) && !isSameUnit(a, b)));

export function joinObservations(all: Iterable<Observations>): Map<string, Observed> {
  const joined = new Map<string, Observed>();
  for (const observations of all)
    for (const [name, observed] of observations) joined.set(name, joinObserved(joined.get(name), observed));
  return joined;
}
