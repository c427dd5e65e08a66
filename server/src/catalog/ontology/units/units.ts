/** The door of units: the spelling and conversion of units, and exact sums of measures. */

import { UNIT_TABLE } from './unit-table.ts';

/** A decimal: `digits` × 10^`exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/**
 * A unit of the table. Numbers are compared in the base unit of its dimension, which is so small that all factors are
 * finite decimals.
 */
interface Unit {
  readonly name: string;
  readonly dimension: string;
  readonly factor: Decimal;
  readonly plus: Decimal;
}

/**
 * The largest exponent that is computed, positive or negative. A finite number of at most 65,536 characters (§8) with
 * a larger one is 0, and its digits would take gigabytes.
 */
const MOST_EXPONENT = 70_000;
const NUMBER = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/;

function readDecimal(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const power = Number(exponent) - fraction.length;
  if (Math.abs(power) > MOST_EXPONENT) return { digits: 0n, exponent: 0 };
  return { digits: BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`), exponent: power };
}

const multiply = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  exponent: a.exponent + b.exponent,
});

function add(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) return a;
  const exponent = Math.min(a.exponent, b.exponent);
  const digitsAt = (decimal: Decimal) => decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
  return { digits: digitsAt(a) + digitsAt(b), exponent };
}

const FACTOR = /^(?:\+(.+)\*)?([\d.]+)(?:\/(.+))?$/;

/** Quotients share one divisor, so that every factor of a dimension is a finite decimal. */
function buildUnits(dimension: string, table: string): (readonly [spelling: string, Unit])[] {
  const rows = table.split('|').map((row) => {
    const [name = '', factor = '', ...also] = row.trim().split(/\s+/);
    const [, plus = '0', dividend = '', own = '1'] = FACTOR.exec(factor) ?? [];
    return { name, plus, dividend, own, also };
  });
  const divisors = new Set(rows.map(({ own }) => own));
  return rows.flatMap(({ name, plus, dividend, own, also }) => {
    const others = [...divisors].filter((divisor) => divisor !== own);
    const unit: Unit = {
      name,
      dimension,
      plus: readDecimal(plus),
      factor: [dividend, ...others].map(readDecimal).reduce(multiply),
    };
    return [name, ...also].map((spelling) => [spelling, unit] as const);
  });
}

/** @returns whether a spelling is a name; a symbol may mean another unit in a different case, such as mW and MW */
const isName = (spelling: string) => /^\p{L}{4,}$/u.test(spelling);
const keyOf = (spelling: string) => (isName(spelling) ? spelling.toLowerCase() : spelling);

const UNITS: ReadonlyMap<string, Unit> = new Map(
  Object.entries(UNIT_TABLE)
    .flatMap(([dimension, rows]) => buildUnits(dimension, rows))
    .map(([spelling, unit]) => [keyOf(spelling), unit]),
);

/** A project's own names for units, each with a spelling of the table. Source: docs/interface §11.7. */
export type UnitAliases = Readonly<Record<string, string>>;

function findUnit(spelling: string, aliases?: UnitAliases): Unit | undefined {
  const unit = UNITS.get(spelling) ?? UNITS.get(keyOf(spelling));
  if (unit !== undefined || aliases === undefined || !Object.hasOwn(aliases, spelling)) return unit;
  return findUnit(aliases[spelling] as string);
}

/** @returns whether the table has the unit */
export const isUnit = (spelling: string): boolean => findUnit(spelling) !== undefined;

/** @returns the symbol of a unit in the table */
export const nameInTable = (spelling: string, aliases?: UnitAliases): string =>
  findUnit(spelling, aliases)?.name ?? spelling;

/** @returns whether two spellings mean one unit */
export function isSameUnit(a: string, b: string, aliases?: UnitAliases): boolean {
  if (a === b) return true;
  const unit = findUnit(a, aliases);
  return unit !== undefined && unit === findUnit(b, aliases);
}

/** @returns the name of a unit with these spellings: the spelling if all agree, otherwise the symbol of the table */
export function nameUnit(spellings: readonly string[], aliases?: UnitAliases): string {
  const [first = ''] = spellings;
  return spellings.every((spelling) => spelling === first)
    ? first
    : (findUnit(first, aliases)?.name ?? first);
}

/** @returns the dimension within which units convert; undefined if the unit is comparable only with itself */
export const dimensionOf = (spelling: string, aliases?: UnitAliases): string | undefined =>
  findUnit(spelling, aliases)?.dimension;

/**
 * @param plain a number in the form of `readPlain`
 * @returns the number in the base unit of the dimension, rounded once at the end: equal quantities are equal numbers,
 * and others keep their order
 */
export function convertToBase(plain: string, spelling: string, aliases?: UnitAliases): number {
  const unit = findUnit(spelling, aliases);
  return unit === undefined ? Number(plain) : round(toBase(readDecimal(plain), unit));
}

const toBase = (number: Decimal, unit: Unit) => multiply(add(number, unit.plus), unit.factor);

const round = ({ digits, exponent }: Decimal) => Number(`${digits}e${exponent}`);

/** @returns the exact sum of numbers from `readPlain`, each with a factor; as text without an exponent */
export function addPlain(parts: readonly { readonly plain: string; readonly times: number }[]): string {
  const counted = parts.map(({ plain, times }) =>
    multiply(readDecimal(plain), { digits: BigInt(times), exponent: 0 }),
  );
  const { digits, exponent } = counted.reduce(add, NOTHING);
  if (exponent >= 0) return String(digits * 10n ** BigInt(exponent));
  const text = String(digits < 0n ? -digits : digits).padStart(1 - exponent, '0');
  const fraction = text.slice(exponent).replace(/0+$/, '');
  return `${digits < 0n ? '-' : ''}${text.slice(0, exponent)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A computation on a number: multiply first, then add. Numbers have the form of `readPlain`. */
export interface MeasureTerm {
  readonly times?: string;
  /** A difference and not a point on a scale, so 10 °C are 10 K. */
  readonly plus?: { readonly plain: string; readonly unit: string };
}

/** A number with its unit. */
export interface Measure {
  readonly plain: string;
  readonly unit: string;
}

/** @returns the result of the term for the number, in the base unit of `convertToBase` */
export const computeInBase = (measure: Measure, term: MeasureTerm, aliases?: UnitAliases): number =>
  round(computeExactly(measure, term, aliases));

function computeExactly(
  { plain, unit: spelling }: Measure,
  { times = '1', plus }: MeasureTerm,
  aliases?: UnitAliases,
): Decimal {
  const unit = findUnit(spelling, aliases);
  const product = multiply(readDecimal(plain), readDecimal(times));
  return add(unit === undefined ? product : toBase(product, unit), addedBy(plus, aliases));
}

const addedBy = (plus: MeasureTerm['plus'], aliases?: UnitAliases): Decimal =>
  plus === undefined
    ? NOTHING
    : multiply(readDecimal(plus.plain), findUnit(plus.unit, aliases)?.factor ?? ONE);

/** The direction in which a number with endless decimals is rounded. */
export type Rounding = 'down' | 'up' | 'nearest';

/** The form of the number that `solveMeasure` computes: its unit, the term on it, and its rounding. */
export interface SoughtNumber {
  readonly unit: string;
  readonly term: MeasureTerm;
  readonly rounding: Rounding;
}

/**
 * @param number a number with its term
 * @returns the number with the same result, without an exponent unless it is very large or small; undefined if the
 * factor of its term is 0
 */
export function solveMeasure(
  number: { readonly measure: Measure; readonly term: MeasureTerm },
  { unit: spelling, term: { times = '1', plus }, rounding }: SoughtNumber,
  aliases?: UnitAliases,
): string | undefined {
  const unit = findUnit(spelling, aliases);
  const factor = readDecimal(times);
  if (factor.digits === 0n) return undefined;
  const added = addedBy(plus, aliases);
  const base = add(computeExactly(number.measure, number.term, aliases), negate(added));
  // (base / unit.factor − unit.plus) / factor, with one divisor.
  const divisor = multiply(unit?.factor ?? ONE, factor);
  const dividend = unit === undefined ? base : add(base, negate(multiply(unit.plus, unit.factor)));
  return writeDecimal(divide(dividend, divisor, rounding));
}

const negate = ({ digits, exponent }: Decimal): Decimal => ({ digits: -digits, exponent });

/**
 * How many digits of a quotient with endless decimals are computed. For `nearest` they are more than a double
 * distinguishes. For a limit (`down` or `up`) they are as many as people read.
 */
const DIGITS = { nearest: 20, down: 6, up: 6 } as const;
/** The digits within which the decimals of a quotient must end to count as exact. */
const MOST_DIGITS = 30;

function divide(dividend: Decimal, divisor: Decimal, rounding: Rounding): Decimal {
  const exact = divideTo(dividend, divisor, { rounding, digits: MOST_DIGITS });
  if (exact.isExact) return trimZeros(exact.quotient);
  return trimZeros(divideTo(dividend, divisor, { rounding, digits: DIGITS[rounding] }).quotient);
}

const sizeOf = (digits: bigint): number => String(digits < 0n ? -digits : digits).length;

/** @returns the quotient with about this many digits, and at least all digits of its integral part */
function divideTo(
  dividend: Decimal,
  divisor: Decimal,
  { rounding, digits }: { rounding: Rounding; digits: number },
) {
  const integral = sizeOf(dividend.digits) + dividend.exponent - sizeOf(divisor.digits) - divisor.exponent;
  const exponent = Math.min(0, integral - digits);
  // dividend / divisor = quotient × 10^exponent
  const shift = dividend.exponent - divisor.exponent - exponent;
  const top = dividend.digits * (shift > 0 ? 10n ** BigInt(shift) : 1n);
  const bottom = divisor.digits * (shift < 0 ? 10n ** BigInt(-shift) : 1n);
  const [above, below] = bottom < 0n ? [-top, -bottom] : [top, bottom];
  const floor = (above < 0n ? above - below + 1n : above) / below;
  const rest = above - floor * below;
  const isUp = rounding === 'up' ? rest > 0n : rounding === 'nearest' && 2n * rest >= below;
  return { quotient: { digits: isUp ? floor + 1n : floor, exponent }, isExact: rest === 0n };
}

function trimZeros({ digits, exponent }: Decimal): Decimal {
  if (digits === 0n) return NOTHING;
  const zeros = /0*$/.exec(String(digits))?.[0].length ?? 0;
  return { digits: digits / 10n ** BigInt(zeros), exponent: exponent + zeros };
}

/** The digits after the point, and zeros before it, that are written without an exponent. */
const WRITTEN_OUT = 40;

function writeDecimal({ digits, exponent }: Decimal): string {
  if (exponent > WRITTEN_OUT || exponent < -WRITTEN_OUT) return `${digits}e${exponent}`;
  if (exponent >= 0) return String(digits * 10n ** BigInt(exponent));
  const text = String(digits < 0n ? -digits : digits).padStart(1 - exponent, '0');
  return `${digits < 0n ? '-' : ''}${text.slice(0, exponent)}.${text.slice(exponent)}`;
}

const ONE: Decimal = { digits: 1n, exponent: 0 };
const NOTHING: Decimal = { digits: 0n, exponent: 0 };
