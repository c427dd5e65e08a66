import { RelataError, TaskError } from '@relata/client';
import { createContext, useContext } from 'react';
import { t } from '../languages/text.ts';
import { capital } from '../rules/format.ts';

/** Schema errors of a request body in the service's words, and in plain ones. Source: docs/openapi.json. */
const RULES: readonly (readonly [rule: RegExp, words: (...found: string[]) => string])[] = [
  [
    /^must NOT have additional propert(?:y|ies):? '?([^']+)'?$/,
    (name) => `/${name}: ${t('is not known here')}`,
  ],
  [/^must have required propert(?:y|ies):? '?([^',]+)'?/, (name) => `/${name}: ${t('is missing')}`],
  [/^must NOT have fewer than 1 (?:characters|items)/, () => `: ${t('must not be empty')}`],
  [
    /^must NOT have fewer than (\d+) (\w+)/,
    (count, what) => `: ${t('needs at least {count} {what}', { count, what })}`,
  ],
  [
    /^must NOT have more than (\d+) (\w+)/,
    (count, what) => `: ${t('takes at most {count} {what}', { count, what })}`,
  ],
  [/^must be >= (.+)/, (least) => `: ${t('must be at least {least}', { least })}`],
  [/^must be <= (.+)/, (most) => `: ${t('must be at most {most}', { most })}`],
  [/^must be integer/, () => `: ${t('must be a whole number')}`],
  [/^must be (?:string|null)/, () => `: ${t('must be text')}`],
  [
    /^must be equal to one of the allowed values: (.+)/,
    (values) => `: ${t('must be one of {values}', { values })}`,
  ],
  [/^must match (?:pattern|format|a schema)/, () => `: ${t('is not written as it must be')}`],
];

/** @returns a detail of a refusal as a place and its mistake, `/mapping/identifier: is missing` */
export function sayMistake(detail: string): string {
  const [, place = '', rule = ''] = /^(.*?) ?(must (?:have|NOT|be|match) .*)$/s.exec(detail) ?? [];
  if (rule === '' || place.endsWith(':')) return detail;
  for (const [pattern, words] of RULES) {
    const found = pattern.exec(rule);
    if (found) return `${place}${words(...found.slice(1))}`;
  }
  return place === '' ? rule : `${place}: ${rule}`;
}

/** Places in a request body by the labels of their fields; others keep their names. */
const namePlaces = (): Readonly<Record<string, string>> => ({
  name: t('Name'),
  tag: t('Tag'),
  description: t('Description'),
  locale: t('Locale'),
  type: t('Type'),
  mapping: t('Mapping'),
  identifier: t('Identifier'),
  categories: t('Categories'),
  images: t('Pictures'),
  source: t('Source'),
  target: t('Result'),
  match: t('Match'),
  sort: t('Sort order'),
  url: t('URL'),
  format: t('Format'),
  filter: t('Products'),
  trigger: t('Trigger'),
  cron: t('Schedule (cron)'),
  destinations: t('Destinations'),
  relations: t('Related products'),
  attributes: t('Attributes'),
  maxDeletePercent: t('Deletion limit (%)'),
  minProducts: t('Minimum products'),
  events: t('Events'),
});

/** @returns it as a sentence, `Identifier is missing (Mapping)`, with the inner place first for readers */
export function readDetail(detail: string): string {
  const [, place, words] = /^\/([^:\s]+): (.*)$/s.exec(sayMistake(detail)) ?? [];
  if (place === undefined) return sayMistake(detail);
  const names = namePlaces();
  const nameOf = (part: string) =>
    /^\d+$/.test(part) ? String(Number(part) + 1) : (names[part] ?? capital(part));
  const [last = '', ...others] = place.split('/').map(nameOf).reverse();
  return `${last} ${words}${others.length > 0 ? ` (${others.reverse().join(' › ')})` : ''}`;
}

/** The service's refusals in words for users, by reason. Source: docs/interface §7.7. */
const nameRefusals = (): Readonly<Record<string, string>> => {
  const invalid = t('Something is missing or not right yet');
  const many = t('That was too much at once. Try again in a moment.');
  return {
    request_invalid: invalid,
    product_invalid: invalid,
    query_invalid: invalid,
    rate_limited: many,
    too_many_looks: many,
    pipeline_too_soon: many,
    token_missing: t('Your session has ended. Nothing was saved: try again once you are signed in.'),
    scope_refused: t('You have no access to this'),
    role_refused: t('Your role does not allow this'),
    not_found: t('It is not there any more, or you have no access to it'),
    changed_meanwhile: t('It was changed meanwhile. Look at it again, then save.'),
    nothing_to_restore: t('There is no change that can be undone.'),
    relation_not_ready: t('The relation is still being built'),
    search_not_ready: t('The search is being made ready …'),
    mapping_unfit: t('The mapping does not fit the file'),
    source_unreadable: t('The source cannot be read'),
    format_unreadable: t('The file cannot be read in this format'),
    rows_rejected: t('Some rows make no product, so nothing was changed'),
    not_ready: t('The service is not ready. Try again in a moment.'),
  };
};

export function sayRefusal(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return nameRefusals()[findReason(error) ?? ''] ?? message;
}

/** Tasks fail with the same reasons as refused calls. */
function findReason(error: unknown): string | undefined {
  if (error instanceof RelataError) return error.reason;
  return error instanceof TaskError ? error.task.error?.code : undefined;
}

export const MistakesContext = createContext<readonly string[]>([]);

/** @returns the mistakes that a refusal names, with their places */
export const readMistakes = (error: unknown): readonly string[] =>
  error instanceof RelataError ? error.details.map(sayMistake) : [];

/** @returns a function that tells a field, by its place in the request, why it was refused */
export function useMistake(): (place: string) => string | undefined {
  const details = useContext(MistakesContext);
  return (place) => mistakeAt(details, place);
}

/** @returns the reason why a part was refused as a whole; mistakes within it are shown at their fields */
export function useMistakeOf(place: string): string | undefined {
  const ofPlace = useContext(MistakesContext).filter((detail) => detail.startsWith(`${place}:`));
  return mistakeAt(ofPlace, place);
}

/** @returns the refusal of a place and of anything within it, such as `/trigger/cron` */
export function mistakeAt(details: readonly string[], place: string): string | undefined {
  const found = details.filter((detail) => detail.startsWith(`${place}:`) || detail.startsWith(`${place}/`));
  return found.map((detail) => detail.slice(detail.indexOf(': ') + 2)).join('; ') || undefined;
}
