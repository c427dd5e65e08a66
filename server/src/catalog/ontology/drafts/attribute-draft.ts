import type { ReportLine } from '../../../tasks/tasks.ts';
import { type Attribute, isTruth, type NumberForm, splitMeasure, toAliasMember } from '../attribute.ts';
import { isSameUnit, nameUnit, type UnitAliases } from '../units/units.ts';
import { isCodeName } from './code-names.ts';
import { CODE_DIGITS, countDigits, type Observed } from './observed-values.ts';

/** Settings that decide a draft besides the values. */
export interface DraftSettings {
  /** The locale of the project, such as `de-DE`. */
  readonly locale: string;
  readonly unitAliases?: UnitAliases | undefined;
}

/** An attribute that a full update creates, with the value that decided its type. */
export interface DraftedAttribute extends Attribute {
  readonly decidedBy: string;
}

/** @returns the attribute that a full update creates for these values */
export function draftAttribute(
  { id, name }: Pick<Attribute, 'id' | 'name'>,
  observed: Observed,
  settings: DraftSettings,
): DraftedAttribute {
  return { id, name, ...judge(name, observed, settings) };
}

type Judged = Omit<DraftedAttribute, 'id' | 'name'>;

function judge(name: string, observed: Observed, settings: DraftSettings): Judged {
  const { first, isBoolean } = observed;
  if (isBoolean)
    return { type: 'BOOLEAN_ATTRIBUTE', reason: 'every value is true or false', decidedBy: first };
  // Tries plain numbers first, then numbers in the form of this locale.
  const forms = ['plain', decimalOf(settings)] as const;
  const form = forms.find((candidate) => observed.misfits[candidate] === undefined);
  const { unitAliases } = settings;
  const other = observed.units.find(([unit]) => !isSameUnit(unit, observed.units[0]?.[0] ?? '', unitAliases));
  if (form === undefined) return describeText(observed, settings);
  if (other !== undefined)
    return asText(other[1], `${quote(other[1])} has another unit than ${quote(first)}`);
  if (isCodeName(name)) return asText(first, 'the key is named like a code, and codes are not numbers');
  const unitName = nameUnit(
    observed.units.map(([unit]) => unit),
    unitAliases,
  );
  return {
    type: 'NUMERIC_ATTRIBUTE',
    ...(unitName !== '' && { unitName, ...toAliasMember(unitAliases) }),
    ...(form !== 'plain' && { decimal: form }),
    reason: describeNumeric(observed, form, unitName),
    decidedBy: first,
  };
}

/** @returns the decimal sign of a locale (CLDR) */
const decimalOf = ({ locale }: DraftSettings) =>
  new Intl.NumberFormat([locale, 'en']).format(0.5).includes(',') ? 'comma' : 'point';

const quote = (value: string) => JSON.stringify(value);

const WRITTEN: Readonly<Record<NumberForm, string>> = {
  plain: '',
  comma: ' with a decimal comma',
  point: ' with a decimal point',
};

function describeNumeric({ first, unclear }: Observed, form: NumberForm, unitName: string) {
  const unit = unitName === '' ? '' : `${form === 'plain' ? ' with' : ' and'} the unit ${unitName}`;
  const doubt =
    form === 'plain' && unclear !== undefined
      ? `; the point in ${quote(unclear)} was read as a decimal point`
      : '';
  return `every value is a number${WRITTEN[form]}${unit}, such as ${quote(first)}${doubt}`;
}

function describeText({ misfits, units, first }: Observed, settings: DraftSettings): Judged {
  const value = misfits[decimalOf(settings)] ?? '';
  const other = units.find(([, example]) => example === value);
  const why =
    other !== undefined && other[1] !== first
      ? `${other[0] === '' ? 'has no unit, unlike' : 'has another unit than'} ${quote(first)}`
      : whyNoNumber(value, { notPlain: misfits.plain ?? '', first }, settings);
  return asText(value, `${quote(value)} ${why}`);
}

const asText = (decidedBy: string, reason: string): Judged => ({ type: 'TEXT_ATTRIBUTE', reason, decidedBy });

function whyNoNumber(
  value: string,
  { notPlain, first }: Record<'notPlain' | 'first', string>,
  { locale }: DraftSettings,
): string {
  const { number } = splitMeasure(value);
  if (/^[+-]?0\d/.test(number)) return 'begins with a zero, like a code';
  if (/^[\d.,]+$/.test(number) && countDigits(number) >= CODE_DIGITS)
    return `has ${CODE_DIGITS} digits or more, like a code`;
  if (isTruth(first)) return 'is neither true nor false';
  return value === notPlain
    ? `is not a number in ${locale}`
    : `and ${quote(notPlain)} are not numbers of the same form`;
}

/** @returns a line for the report of the task that creates the attribute */
export function describeCreated({ name, type, unitName, reason, decidedBy }: DraftedAttribute): ReportLine {
  const unit = unitName === undefined ? '' : ` with the unit ${unitName}`;
  const message = `created as ${type}${unit}: ${reason}`;
  return { code: 'attribute_created', attribute: name, value: decidedBy, message };
}

/** @returns the definition as text; attributes with equal texts make equal facts */
export const describeDefinition = ({ id, type, unitName, decimal }: Attribute): string =>
  `${id} ${type} ${unitName ?? ''} ${decimal ?? ''}`;
