import type { Operator } from '../../catalog/filters/filters.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';

/**
 * The sentences about matches in the languages of the service. The name of an attribute precedes the advice.
 * Source: docs/interface §12.6 rule 8.
 */

type Comparing = Exclude<Operator, 'equals'>;

interface Sentences {
  readonly or: string;
  readonly noValue: string;
  /** The end of a list that is not shown completely. */
  readonly others: (count: string) => string;
  readonly oneOf: (list: string) => string;
  readonly wouldBe: (what: string) => string;
  readonly compared: Readonly<Record<Comparing, (value: string) => string>>;
  readonly wouldNeedValue: string;
  readonly wouldHaveNone: string;
  readonly unlisted: (value: string, table: string) => string;
  readonly whileMissing: (attribute: string) => string;
  readonly timesZero: string;
  readonly otherSide: (attribute: string) => string;
  readonly textOf: (attribute: string) => string;
  readonly paired: (target: string, source: string, table: string) => string;
  readonly unpaired: (target: string, source: string, table: string) => string;
  readonly passes: (comparison: string) => string;
}

const ENGLISH: Sentences = {
  or: 'or',
  noValue: 'no value',
  others: (count) => `${count} more`,
  oneOf: (list) => `one of ${list}`,
  wouldBe: (what) => `would have to be ${what}`,
  compared: {
    notEquals: (value) => `other than ${value}`,
    less: (value) => `less than ${value}`,
    lessOrEqual: (value) => `at most ${value}`,
    greater: (value) => `more than ${value}`,
    greaterOrEqual: (value) => `at least ${value}`,
  },
  wouldNeedValue: 'would need a value',
  wouldHaveNone: 'would have to have no value',
  unlisted: (value, table) => `would have to be ${value}, because the table ${table} has no pair with it`,
  whileMissing: (attribute) => `cannot make it hold while ${attribute} has no value`,
  timesZero: 'cannot make it hold, because it is multiplied by 0',
  otherSide: (attribute) => `cannot make it hold: ${attribute} would have to change`,
  textOf: (attribute) => `the text of ${attribute}`,
  paired: (target, source, table) => `${target} goes with ${source} by the table ${table}`,
  unpaired: (target, source, table) => `${target} does not go with ${source} by the table ${table}`,
  passes: (comparison) => `${comparison}: a missing value passes`,
};

const GERMAN: Sentences = {
  or: 'oder',
  noValue: 'kein Wert',
  others: (count) => `${count} weitere`,
  oneOf: (list) => `einer der Werte ${list}`,
  wouldBe: (what) => `müsste ${what} sein`,
  compared: {
    notEquals: (value) => `anders als ${value}`,
    less: (value) => `kleiner als ${value}`,
    lessOrEqual: (value) => `höchstens ${value}`,
    greater: (value) => `größer als ${value}`,
    greaterOrEqual: (value) => `mindestens ${value}`,
  },
  wouldNeedValue: 'bräuchte einen Wert',
  wouldHaveNone: 'dürfte keinen Wert haben',
  unlisted: (value, table) => `müsste ${value} sein, weil die Tabelle ${table} kein Paar dafür enthält`,
  whileMissing: (attribute) => `kann das nicht erfüllen, solange ${attribute} keinen Wert hat`,
  timesZero: 'kann das nicht erfüllen, weil der Wert mit 0 multipliziert wird',
  otherSide: (attribute) => `kann das nicht erfüllen: ${attribute} müsste sich ändern`,
  textOf: (attribute) => `der Text von ${attribute}`,
  paired: (target, source, table) => `${target} passt laut Tabelle ${table} zu ${source}`,
  unpaired: (target, source, table) => `${target} passt laut Tabelle ${table} nicht zu ${source}`,
  passes: (comparison) => `${comparison}: ein fehlender Wert genügt`,
};

/** The sentences of a language, with numbers in the form of the locale. */
export interface MatchTexts extends Sentences {
  /** @param plain a number in the notation of programs */
  writeNumber(plain: string, isGrouped: boolean): string;
}

const MOST_LOCALES = 100;
/** Written numbers are cached, because writing one takes 5 µs and the terms of matches repeat. */
const MOST_NUMBERS = 1_000;
const cachedTexts = new BoundedMap<string, MatchTexts>({ most: MOST_LOCALES });

/** @returns German texts for a German locale, and English texts for every other locale */
export function textsOf(locale: string): MatchTexts {
  return cachedTexts.getOrInsertComputed(locale, createTexts);
}

function createTexts(locale: string): MatchTexts {
  const [language = ''] = locale.toLowerCase().split('-', 1);
  const sentences = language === 'de' ? GERMAN : ENGLISH;
  // English sentences have English numbers, so a locale of a third language is replaced.
  const spoken = language === 'de' || language === 'en' ? locale : 'en-GB';
  const [grouped, plain] = [true, false].map(
    (useGrouping) => new Intl.NumberFormat(spoken, { maximumFractionDigits: 100, useGrouping }),
  ) as [Intl.NumberFormat, Intl.NumberFormat];
  const written = new BoundedMap<string, string>({ most: MOST_NUMBERS });
  const write = (number: string, isGrouped: boolean) => {
    // An upload may contain a number with an exponent, which is not formatted.
    if (/e/i.test(number)) return number;
    return (isGrouped ? grouped : plain).format(number as Intl.StringNumericLiteral).replace(/^-/, '−');
  };
  return {
    ...sentences,
    writeNumber(number, isGrouped) {
      return written.getOrInsertComputed(`${number} ${isGrouped}`, () => write(number, isGrouped));
    },
  };
}
