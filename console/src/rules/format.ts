const counts = new Intl.NumberFormat('en');
const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const clocks = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

export const formatCount = (count: number): string => counts.format(count);
/** @param many where it is not one with an -s @returns the word that goes with so many: `product`, `leads` */
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);
/** @returns `1 product`, `2,000 products` */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${plural(count, noun)}`;
export const formatPercent = (share: number): string => percents.format(share);
export const formatMoment = (at: number): string => moments.format(at);
export const formatClock = (at: number): string => clocks.format(at);

const STEPS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** `3 minutes ago`; after a month the date. */
export function formatAgo(at: number, now = Date.now()): string {
  const passed = now - at;
  if (Math.abs(passed) > 30 * 86_400_000) return moments.format(at).split(',')[0] ?? '';
  const step = STEPS.find(([, ms]) => Math.abs(passed) >= ms);
  return step ? relative.format(-Math.round(passed / step[1]), step[0]) : 'just now';
}

/** `1.4 s`, `3 min 20 s` */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
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
  const [unit, size] = SIZES.find(([, least]) => bytes >= least) ?? ['bytes', 1];
  return `${(bytes / size).toFixed(size === 1 ? 0 : 1)} ${unit}`;
}

const WORDS: Readonly<Record<string, string>> = {
  TEXT_ATTRIBUTE: 'text',
  NUMERIC_ATTRIBUTE: 'number',
  BOOLEAN_ATTRIBUTE: 'yes or no',
  DATE_ATTRIBUTE: 'date',
  UNTYPED_ATTRIBUTE: 'untyped',
};

/** The wire's name of an attribute type, to read. */
export const formatType = (type: string): string => WORDS[type] ?? type;

/** An upload has no name on the wire. Source: docs/interface.md §2.4 rule 1. */
export const nameTask = (name: string): string => {
  const known: Readonly<Record<string, string>> = {
    '': 'Upload of a batch',
    'Api triggered full update': 'Full update',
    'incremental partial update': 'Update',
    'delete products': 'Deletion of products',
    restore: 'Restore',
    're-extraction': 'Re-extraction',
    'relation build': 'Relation build',
  };
  return known[name] ?? name;
};

/** Only http and https may become a link: an address comes with the product data. */
export function safeUrl(text: string | null | undefined): string | undefined {
  if (!text || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : undefined;
}

/** The more special name comes first: Edge calls itself Chrome too, and Chrome Safari. */
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

/** @returns such as `Firefox on Windows`; of a program its own name */
export function describeBrowser(userAgent: string | null): string {
  if (!userAgent) return 'unknown browser';
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const browser = find(BROWSERS);
  if (browser === undefined) return userAgent.slice(0, 40);
  const system = find(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Words as they begin a label, a title or a sentence. */
export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
