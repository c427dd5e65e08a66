import type { ExtractedValue } from '@relata/client';
import { type Language, presentLanguage, t } from '../languages/text.ts';

const formatsByLanguage = new Map<Language, ReturnType<typeof createFormats>>();

function createFormats(language: Language) {
  // Dates are written day first in every language of the console.
  const region = language === 'en' ? 'en-GB' : language;
  return {
    counts: new Intl.NumberFormat(language),
    numbers: new Intl.NumberFormat(language, { maximumFractionDigits: 4 }),
    tenths: new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    percents: new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }),
    relative: new Intl.RelativeTimeFormat(language, { numeric: 'auto' }),
    moments: new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'medium' }),
    dates: new Intl.DateTimeFormat(region, { dateStyle: 'medium' }),
    // Days of statistics begin at midnight UTC.
    days: new Intl.DateTimeFormat(region, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
    weekdays: new Intl.DateTimeFormat(region, { weekday: 'short', day: 'numeric' }),
    hours: new Intl.DateTimeFormat(region, { hour: '2-digit', minute: '2-digit' }),
    short: new Intl.NumberFormat(language, { notation: 'compact' }),
    clocks: new Intl.DateTimeFormat(region, { timeStyle: 'medium' }),
    allOf: new Intl.ListFormat(region, { type: 'conjunction' }),
  };
}

/** Making formatters takes longer than using them, so they are made once for each language. */
function formats() {
  const language = presentLanguage();
  const cached = formatsByLanguage.get(language) ?? createFormats(language);
  formatsByLanguage.set(language, cached);
  return cached;
}

export const formatCount = (count: number): string => formats().counts.format(count);
/** @returns the number with one decimal, `12.0` */
export const formatTenths = (value: number): string => formats().tenths.format(value);
export const formatPercent = (share: number): string => formats().percents.format(share);
export const formatMoment = (instant: number): string => formats().moments.format(instant);
export const formatClock = (instant: number): string => formats().clocks.format(instant);
/** `23 Nov`, for a day that begins at midnight UTC */
export const formatDayOf = (instant: number): string => formats().days.format(instant);
/** `Mon 23` */
export const formatWeekdayOf = (instant: number): string => formats().weekdays.format(instant);
/** `14:00` */
export const formatHourOf = (instant: number): string => formats().hours.format(instant);
/** `20K` */
export const formatShort = (count: number): string => formats().short.format(count);
/** @returns `a, b and c` */
export const formatAll = (list: readonly string[]): string => formats().allOf.format(list);

/** `13.28` */
export const formatNumber = (value: number): string => formats().numbers.format(value);

const CURRENCIES = new Set(['EUR', 'USD', 'GBP', 'CHF', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK', 'JPY']);

/** @returns `€2,209.00`; undefined for an unknown currency */
export const formatMoney = (value: number, currency: string): string | undefined =>
  CURRENCIES.has(currency)
    ? new Intl.NumberFormat(presentLanguage(), { style: 'currency', currency }).format(value)
    : undefined;

const STEPS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** `3 minutes ago`, or the date after a month. */
export function formatAgo(instant: number, now = Date.now()): string {
  const passed = now - instant;
  if (Math.abs(passed) > 30 * 86_400_000) return formats().dates.format(instant);
  const step = STEPS.find(([, ms]) => Math.abs(passed) >= ms);
  return step ? formats().relative.format(-Math.round(passed / step[1]), step[0]) : t('just now');
}

/** `1.4 s`, `3 min 20 s` */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${formatTenths(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const SIZES = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['KB', 1e3],
] as const;

/** `1.4 MB` */
export function formatSize(bytes: number): string {
  const [unit, size] = SIZES.find(([, least]) => bytes >= least) ?? [undefined, 1];
  if (unit === undefined) return t('{count, plural, one {# byte} other {# bytes}}', { count: bytes });
  return `${formatTenths(bytes / size)} ${unit}`;
}

export const listTypes = () =>
  [
    ['TEXT_ATTRIBUTE', t('text')],
    ['NUMERIC_ATTRIBUTE', t('number')],
    ['BOOLEAN_ATTRIBUTE', t('yes or no')],
    ['DATE_ATTRIBUTE', t('date')],
    ['UNTYPED_ATTRIBUTE', t('untyped')],
  ] as const;

/** The name of an attribute type for readers. */
export const formatType = (type: string): string => listTypes().find(([name]) => name === type)?.[1] ?? type;

/** @returns the same with the unit, if it has one */
export const formatTypeIn = (type: string, unit: string | null | undefined): string =>
  unit ? t('{type} in {unit}', { type: formatType(type), unit }) : formatType(type);

/** Names a task; uploads have an empty name in the API. Source: docs/interface §2.4 rule 1. */
export const nameTask = (name: string): string => {
  const names: Readonly<Record<string, string>> = {
    '': t('Upload of products'),
    'Api triggered full update': t('Full update'),
    'incremental partial update': t('Update'),
    'delete products': t('Deletion of products'),
    restore: t('Restore'),
    're-extraction': t('Values read again'),
    'relation build': t('Relation build'),
  };
  return names[name] ?? name;
};

/** Only http and https addresses may become links, as they come with the product data. */
export function safeUrl(text: string | null | undefined): string | undefined {
  if (!text || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : undefined;
}

/** More specific names come first: Edge also calls itself Chrome, and Chrome Safari. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** @returns for example `Firefox on Windows`, or the name of a program */
export function describeBrowser(userAgent: string | null): string {
  if (!userAgent) return t('unknown browser');
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const browser = find(BROWSERS);
  if (browser === undefined) return userAgent.slice(0, 40);
  const system = find(SYSTEMS);
  return system === undefined ? browser : t('{browser} on {system}', { browser, system });
}

/** Words as the beginning of a label, a title or a sentence; addresses and paths stay as they are. */
export const capital = (words: string): string =>
  /^\w+:\/\//.test(words) ? words : words.charAt(0).toUpperCase() + words.slice(1);

/** Units that people avoid for large numbers: the threshold, the larger unit, and its size. */
const LARGER: Readonly<Record<string, readonly [from: number, unit: string, size: number]>> = {
  g: [1_000, 'kg', 1_000],
  kg: [10_000, 't', 1_000],
  mm: [10_000, 'm', 1_000],
  m: [10_000, 'km', 1_000],
  ml: [1_000, 'l', 1_000],
  W: [10_000, 'kW', 1_000],
  Wh: [10_000, 'kWh', 1_000],
  MB: [1_000, 'GB', 1_000],
  GB: [1_000, 'TB', 1_000],
};

type Fact = NonNullable<ExtractedValue['fact']>;

/** @returns a value as people write it: `Yes`, `13.28 kg` for `13280 g`, `€2,209.00`; others as sent */
export function describeValue({ value, fact }: { value: string; fact?: Partial<Fact> | null }): string {
  if (fact?.type === 'BOOLEAN_ATTRIBUTE') return value.trim().toLowerCase() === 'true' ? t('Yes') : t('No');
  const { number, unit } = fact ?? {};
  if (number === undefined || unit === undefined) return value;
  const [from, larger, size] = LARGER[unit] ?? [Number.POSITIVE_INFINITY, unit, 1];
  if (Math.abs(number) >= from) return `${formatNumber(number / size)} ${larger}`;
  return formatMoney(number, unit) ?? value;
}

/** @returns the number as understood, `1234.5 g` for `1.234,5 g`; undefined if the value already shows it */
export function readingOf(value: string, { number, unit = '' }: Fact) {
  if (number === undefined) return undefined;
  const bare = value.endsWith(unit) ? value.slice(0, value.length - unit.length) : value;
  return Number(bare) === number ? undefined : `${number} ${unit}`.trim();
}
