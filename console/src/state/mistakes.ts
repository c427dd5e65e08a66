import { RelataError, TaskError } from '@relata/client';
import { createContext, useContext } from 'react';
import { t } from '../languages/text.ts';
import { capital } from '../rules/format.ts';

/** What the service says of a body that does not have its form, with what it means. Source: docs/openapi.json. */
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

/** @returns a detail of a refusal as its place and what is wrong there, `/mapping/identifier: is missing` */
export function sayMistake(detail: string): string {
  const [, place = '', rule = ''] = /^(.*?) ?(must (?:have|NOT|be|match) .*)$/s.exec(detail) ?? [];
  if (rule === '' || place.endsWith(':')) return detail;
  for (const [pattern, words] of RULES) {
    const found = pattern.exec(rule);
    if (found) return `${place}${words(...found.slice(1))}`;
  }
  return place === '' ? rule : `${place}: ${rule}`;
}

/** @returns the same to be read: `Identifier (mapping): is missing`; the place within comes first, as people look for it */
export const readDetail = (detail: string): string =>
  sayMistake(detail).replace(/^\/[^:\s]+/, (place) => {
    const [last = '', ...others] = place.slice(1).split('/').reverse();
    return capital(last) + (others.length > 0 ? ` (${others.reverse().join(' › ')})` : '');
  });

/** What the service says to programs, as people are told; by the reason of the refusal. Source: docs/interface.md §7.7. */
const nameRefusals = (): Readonly<Record<string, string>> => {
  const invalid = t('Something is missing or not right yet');
  return {
    request_invalid: invalid,
    product_invalid: invalid,
    token_missing: t('Your session has ended. Nothing was saved: try again once you are signed in.'),
  };
};

export function sayRefusal(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return nameRefusals()[findReason(error) ?? ''] ?? message;
}

/** A task fails with the reasons of refusals. */
function findReason(error: unknown): string | undefined {
  if (error instanceof RelataError) return error.reason;
  return error instanceof TaskError ? error.task.error?.code : undefined;
}

export const MistakesContext = createContext<readonly string[]>([]);

/** @returns the mistakes that a refusal names with their places */
export const readMistakes = (error: unknown): readonly string[] =>
  error instanceof RelataError ? error.details.map(sayMistake) : [];

/** @returns what tells a field, by its place in what was sent, why it was refused */
export function useMistake(): (place: string) => string | undefined {
  const details = useContext(MistakesContext);
  return (place) => mistakeAt(details, place);
}

/** @returns why a part was refused as a whole: what is wrong within it stands there */
export function useMistakeOf(place: string): string | undefined {
  const details = useContext(MistakesContext);
  return mistakeAt(
    details.filter((detail) => detail.startsWith(`${place}:`)),
    place,
  );
}

/** @returns what a refusal says of the place or of what is in it, as `/trigger/cron` */
export function mistakeAt(details: readonly string[], place: string): string | undefined {
  const found = details.filter((detail) => detail.startsWith(`${place}:`) || detail.startsWith(`${place}/`));
  return found.map((detail) => detail.slice(detail.indexOf(': ') + 2)).join('; ') || undefined;
}
