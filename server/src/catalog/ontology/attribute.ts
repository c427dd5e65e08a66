import type { Static } from 'typebox';
import type { Sent } from '../../http/server/server.ts';
import type { AttributeSchema, OntologyDocument } from './ontology-schemas.ts';
import { isSameUnit, type UnitAliases } from './units/units.ts';

/**
 * The forms of numbers. `plain` has a decimal point and nothing else, as programs write it. `comma` and `point` have
 * that decimal sign and may group thousands, such as `1.234,50` and `1,234.50`. Source: docs/interface §11.3.
 */
export const NUMBER_FORMS = ['plain', 'comma', 'point'] as const;
export type NumberForm = (typeof NUMBER_FORMS)[number];

/**
 * Spaces between groups and before a unit: space, no-break space, narrow no-break space (CLDR for French and German).
 */
const SPACES = ' \\u00a0\\u202f';
export const groupsOf = (signs: string) => `[1-9]\\d{0,2}([${signs}'’${SPACES}])\\d{3}(?:\\1\\d{3})*`;
const POINT_NUMBER = '(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?';
const COMMA_NUMBER = '(?:\\d+(?:,\\d*)?|,\\d+)(?:[eE][+-]?\\d+)?';

const PATTERNS: Readonly<Record<NumberForm, RegExp>> = {
  plain: new RegExp(`^[+-]?${POINT_NUMBER}$`),
  comma: new RegExp(`^[+-]?(?:${groupsOf('.')}(?:,\\d+)?|${COMMA_NUMBER})$`),
  point: new RegExp(`^[+-]?(?:${groupsOf(',')}(?:\\.\\d+)?|${POINT_NUMBER})$`),
};
const GROUPED = /\d[.,'’ \u00a0\u202f]\d{3}(?!\d)/;

/** @returns the number in plain form; undefined if the text is not a number in this form, or if it is too large */
export function readPlain(text: string, form: NumberForm): string | undefined {
  if (!PATTERNS[form].test(text)) return undefined;
  const plain = form === 'plain' ? text : toPlain(text, form);
  return Number.isFinite(Number(plain)) ? plain : undefined;
}

function toPlain(text: string, form: 'comma' | 'point'): string {
  const decimal = form === 'comma' ? ',' : '.';
  if (!GROUPED.test(text)) return text.replace(decimal, '.');
  const [whole = '', fraction] = text.split(decimal);
  const digits = whole.replaceAll(/[^\d+-]/g, '');
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** A space that is not followed by a group of digits. */
const SPACE = /[ \u00a0\u202f](?!\d{3}(?!\d))/;
/** Signs that people write directly after the number: 27", 50%, 20°C, 19,99€. */
const SIGN = /(?<=\d)["”″°%‰€$£¥]/;

/** Splits a text into a number and its unit, if it has one. */
export function splitMeasure(value: string) {
  const space = value.search(SPACE);
  if (space >= 0) return { number: value.slice(0, space), unit: value.slice(space + 1) };
  const sign = value.search(SIGN);
  return sign < 0
    ? { number: value, unit: undefined }
    : { number: value.slice(0, sign), unit: value.slice(sign) };
}

/** Source: docs/interface §11.1. `reason` and `typing` are absent if a person chose the type. */
export interface Attribute extends Omit<Sent<Static<typeof AttributeSchema>>, 'id'> {
  readonly id: number;
  /** The project's aliases of units, if the attribute has a unit. */
  readonly unitAliases?: UnitAliases;
}

/** @returns whether the next full update judges the values of an existing attribute */
export const isWaiting = (attribute: Attribute | undefined): boolean => attribute?.typing === 'automatic';

/** An attribute as the columns that both engines list. */
export type AttributeRow = readonly [
  id: number,
  name: string,
  type: Attribute['type'],
  unitName: string | null,
  decimal: 'point' | 'comma' | null,
  /** JSON list */
  synonyms: string,
  reason?: string | null,
  typing?: 'automatic' | null,
];

function toAttribute(row: AttributeRow, unitAliases: UnitAliases): Attribute {
  const [id, name, type, unitName, decimal, synonyms, reason = null, typing = null] = row;
  const others = synonyms === '[]' ? [] : (JSON.parse(synonyms) as string[]);
  return {
    id,
    name,
    type,
    ...(unitName !== null && { unitName }),
    ...(decimal !== null && { decimal }),
    ...(others.length > 0 && { synonyms: others }),
    ...(reason !== null && { reason }),
    ...(typing !== null && { typing }),
    ...(unitName !== null && toAliasMember(unitAliases)),
  };
}

/**
 * `own`: the ontology belongs to the caller, and full updates create no attributes. `automatic`: full updates create
 * missing attributes.
 */
export type OntologyMode = Static<typeof OntologyDocument>['mode'];

export interface Ontology {
  readonly mode: OntologyMode;
  /** Every change by a person raises it. */
  readonly revision: number;
  readonly unitAliases?: UnitAliases;
  readonly attributes: readonly Attribute[];
}

/** An ontology as stored by either engine. */
export interface StoredOntology extends Pick<Ontology, 'mode' | 'revision'> {
  /** JSON object. */
  readonly unitAliases: string;
}

export function toOntology(stored: StoredOntology, rows: readonly AttributeRow[]): Ontology {
  const unitAliases = JSON.parse(stored.unitAliases) as UnitAliases;
  const { mode, revision } = stored;
  const attributes = rows.map((row) => toAttribute(row, unitAliases));
  return { mode, revision, ...toAliasMember(unitAliases), attributes };
}

/** @returns the aliases as a member for code that reads units; no member for a project without aliases */
export const toAliasMember = (unitAliases: UnitAliases = {}) =>
  Object.keys(unitAliases).length > 0 ? { unitAliases } : {};

/** The reason why a value makes no fact. Source: docs/interface §4.7, report codes. */
export type NotExtracted =
  | 'value_empty'
  | 'value_not_numeric'
  | 'unit_missing'
  | 'unit_other'
  | 'value_not_boolean'
  | 'value_not_date';

type ReadValue =
  | { readonly kind: 'text' }
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'boolean'; readonly boolean: boolean }
  | { readonly kind: 'date' }
  | { readonly kind: 'none'; readonly why: NotExtracted };

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** A blank value makes no fact of any type, because shops send it for properties that a product lacks. */
export function isBlank(value: string): boolean {
  const first = value.charCodeAt(0);
  return !(first > 0x20 && first < 0x80) && value.trim() === '';
}

export const isTruth = (value: string) => /^(?:true|false)$/i.test(value);

/** The members of an attribute that decide how its values are read. */
type ReadAttribute = Pick<Attribute, 'type' | 'unitName' | 'decimal' | 'unitAliases'>;

/** Reads a value as its attribute requires, without guessing. Source: docs/interface §11.3. */
export function readValue(value: string, attribute: ReadAttribute): ReadValue {
  if (isBlank(value)) return { kind: 'none', why: 'value_empty' };
  switch (attribute.type) {
    case 'NUMERIC_ATTRIBUTE': {
      const read = readMeasure(value, attribute);
      if ('why' in read) return { kind: 'none', why: read.why };
      return { kind: 'number', number: Number(read.plain) };
    }
    case 'BOOLEAN_ATTRIBUTE':
      return isTruth(value)
        ? { kind: 'boolean', boolean: value.toLowerCase() === 'true' }
        : { kind: 'none', why: 'value_not_boolean' };
    case 'DATE_ATTRIBUTE':
      return isDate(value) ? { kind: 'date' } : { kind: 'none', why: 'value_not_date' };
    case 'TEXT_ATTRIBUTE':
    case 'UNTYPED_ATTRIBUTE':
      return { kind: 'text' };
  }
}

/** @returns why the value makes no fact; undefined if it makes one */
export function whyNoFact(value: string, attribute: Attribute): NotExtracted | undefined {
  const read = readValue(value, attribute);
  return read.kind === 'none' ? read.why : undefined;
}

export const isFact = (value: string, attribute: Attribute): boolean =>
  readValue(value, attribute).kind !== 'none';

/**
 * Reads `number space unit` if the attribute has a unit, and only a number if it has none. A guessed unit would make
 * a wrong product comparable.
 * @returns the number in plain form
 */
export function readMeasure(
  value: string,
  { unitName, decimal, unitAliases }: Pick<Attribute, 'unitName' | 'decimal' | 'unitAliases'>,
): { readonly plain: string } | { readonly why: NotExtracted } {
  const { number, unit } = splitMeasure(value);
  const plain = readPlain(number, decimal ?? 'plain');
  if (plain === undefined) return { why: 'value_not_numeric' };
  if (unit === unitName || isSameUnit(unit ?? '', unitName ?? '', unitAliases)) return { plain };
  return { why: unit === undefined ? 'unit_missing' : 'unit_other' };
}

/** @returns whether the value is `YYYY-MM-DD` of an existing day, optionally with a time */
function isDate(value: string): boolean {
  const match = DATE.exec(value);
  if (match === null) return false;
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hasRealTime(value);
}

function hasRealTime(value: string): boolean {
  const time = value.slice(11);
  if (time === '') return true;
  const [hours = 0, minutes = 0, seconds = 0] = time.split(/[:Z+.-]/).map(Number);
  return hours < 24 && minutes < 60 && seconds < 60;
}

/** @returns a sentence for the report: the fault of the value, and the values that the attribute accepts */
export function describeNotExtracted(why: NotExtracted, attribute: Attribute): string {
  const { unitName } = attribute;
  const expected = unitName === undefined ? 'a number alone' : `a number, one space and ${unitName}`;
  const texts: Record<NotExtracted, string> = {
    value_empty: 'empty, so it makes no fact',
    value_not_numeric: `not a number; the attribute needs ${expected}`,
    unit_missing: `the unit is missing; the attribute needs ${expected}`,
    unit_other: `another unit; the attribute needs ${expected}`,
    value_not_boolean: 'neither true nor false',
    value_not_date: 'not a date written YYYY-MM-DD',
  };
  return texts[why];
}

/** @returns the attributes by every upload key that the ontology knows; names take precedence over synonyms */
export function indexByKey(attributes: readonly Attribute[]): Map<string, Attribute> {
  const byKey = new Map<string, Attribute>();
  for (const attribute of attributes)
    for (const synonym of attribute.synonyms ?? []) byKey.set(synonym, attribute);
  for (const attribute of attributes) byKey.set(attribute.name, attribute);
  return byKey;
}
