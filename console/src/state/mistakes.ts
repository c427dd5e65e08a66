import { RelataError, type Task, TaskError } from '@relata/client';
import { createContext, useContext } from 'react';
import { t } from '../languages/text.ts';
import { capital } from '../rules/format.ts';

/** Schema violations of a request body in the service's words, and in plain ones. Source: docs/openapi.json. */
const RULES: readonly (readonly [rule: RegExp, words: (...captured: string[]) => string])[] = [
  [
    /^must NOT have additional propert(?:y|ies):? ['"]?([^'"]+)['"]?$/,
    (name) => `/${name}: ${t('is not a known field')}`,
  ],
  [/^must have required propert(?:y|ies):? '?([^',]+)'?/, (name) => `/${name}: ${t('is missing')}`],
  [/^must NOT have fewer than 1 (?:characters|items)/, () => `: ${t('must not be empty')}`],
  [
    /^must NOT have fewer than (\d+) characters/,
    (count) => `: ${t('must have at least {count, number} characters', { count: Number(count) })}`,
  ],
  [
    /^must NOT have fewer than (\d+)/,
    (count) => `: ${t('must have at least {count, number} entries', { count: Number(count) })}`,
  ],
  [
    /^must NOT have more than (\d+) characters/,
    (count) => `: ${t('must have at most {count, number} characters', { count: Number(count) })}`,
  ],
  [
    /^must NOT have more than (\d+)/,
    (count) => `: ${t('must have at most {count, number} entries', { count: Number(count) })}`,
  ],
  [/^must NOT have duplicate items/, () => `: ${t('must not have the same entry twice')}`],
  [/^must be >= (.+)/, (least) => `: ${t('must be at least {least}', { least })}`],
  [/^must be <= (.+)/, (most) => `: ${t('must be at most {most}', { most })}`],
  [/^must be integer/, () => `: ${t('must be a whole number')}`],
  [/^must be number/, () => `: ${t('must be a number')}`],
  [/^must be (?:string|null)/, () => `: ${t('must be text')}`],
  [
    /^must be equal to one of the allowed values: (.+)/,
    (values) => `: ${t('must be one of {values}', { values })}`,
  ],
  [
    /^must (?:match (?:pattern|format|a schema|exactly one schema)|be (?:object|array|boolean)$)/,
    () => `: ${t('does not have the required form')}`,
  ],
];

/** @returns a detail of a refusal as the path of a field and its mistake, `/mapping/identifier: is missing` */
export function describeMistake(detail: string): string {
  const [, path = '', rule = ''] = /^(.*?) ?(must (?:have|NOT|be|match) .*)$/s.exec(detail) ?? [];
  if (rule === '' || path.endsWith(':')) return detail;
  for (const [pattern, words] of RULES) {
    const match = pattern.exec(rule);
    if (match) return `${path}${words(...match.slice(1))}`;
  }
  return path === '' ? rule : `${path}: ${rule}`;
}

/** Fields of a request body by the labels of the forms; other fields keep their names. */
const nameFields = (): Readonly<Record<string, string>> => ({
  access: t('Access'),
  attributes: t('Attributes'),
  brandAttribute: t('Brand attribute'),
  categories: t('Categories'),
  changes: t('Only changes'),
  cron: t('Schedule (cron)'),
  description: t('Description'),
  destinations: t('Destinations'),
  email: t('E-mail'),
  events: t('Events'),
  filter: t('Products'),
  format: t('Format'),
  headers: t('Header'),
  identifier: t('Identifier'),
  images: t('Pictures'),
  keptCommits: t('Changes that can be undone'),
  keptDays: t('Days until they can no longer be undone'),
  locale: t('Locale'),
  mapping: t('Mapping'),
  match: t('Match'),
  maxDeletePercent: t('Deletion limit (%)'),
  maxLeftOutPercent: t('Maximum left out, in %'),
  minProducts: t('Minimum products'),
  minSecondsBetween: t('Seconds between two calls'),
  mode: t('Mode'),
  name: t('Name'),
  names: t('Names for shoppers'),
  onInvalid: t('Invalid products'),
  onRejectedRow: t('Rows that make no product'),
  operator: t('Comparison'),
  password: t('Password'),
  priceAttribute: t('Price attribute'),
  products: t('Products'),
  projectGroupId: t('Project group'),
  relationId: t('Relation'),
  relations: t('Related products'),
  scope: t('Reaches'),
  sort: t('Sort order'),
  source: t('Source'),
  tableName: t('Table'),
  tag: t('Tag'),
  tags: t('Tags'),
  target: t('Result'),
  timeZone: t('Time zone'),
  total: t('What is added up'),
  trigger: t('Trigger'),
  type: t('Type'),
  url: t('URL'),
});

/** A path of fields in a request body with its mistake, after the product that it is about, if any. */
const DETAIL = /^(?:([^/]+): )?\/([^:\s]+): (.*)$/s;
const VERB = /^(?:is|are|has|must|does|needs|takes|cannot)\b/;

/**
 * @returns a detail of a refusal in words for users, without the path of the field: `Identifier is missing
 * (Mapping)`, with the inner field first
 */
export function describeDetail(detail: string): string {
  const deletion = describeDeletion(detail);
  if (deletion !== undefined) return deletion;
  const mistake = describeMistake(detail);
  const [, subject, path, words = ''] = DETAIL.exec(mistake) ?? [];
  if (path === undefined) return mistake;
  const [field, ...around] = labelFields(path);
  const sentence = `${field}${mistake !== detail || VERB.test(words) ? ' ' : ': '}${words}`;
  const outer = around.length > 0 ? ` (${around.reverse().join(' › ')})` : '';
  return `${subject === undefined ? '' : `${subject}: `}${sentence}${outer}`;
}

/** @returns the labels of a path, the inner field first; the last entry of a list has the name of the list */
function labelFields(path: string): string[] {
  const labels = nameFields();
  const [last = '', ...around] = path
    .split('/')
    .map((part) => (/^\d+$/.test(part) ? String(Number(part) + 1) : (labels[part] ?? toWords(part))))
    .reverse();
  const [list, ...others] = around;
  return /^\d+$/.test(last) && list !== undefined ? [`${list} ${last}`, ...others] : [last, ...around];
}

/** @returns the name of a field that has no label: `Byte order mark` for `byteOrderMark` */
const toWords = (name: string): string =>
  capital(name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));

const DELETION = /^the update would delete (\d+) of (\d+) \w+ \((.+) %\)$/;
const ALLOWED = /^the (project|pipeline) allows (.+) %[,;]/;
const NOT_EXACT = /^allowDeletes is (\d+), but must be exactly (\d+)$/;

/** @returns a detail of a refused deletion without the names of parameters. Source: docs/interface §4.4 */
function describeDeletion(detail: string): string | undefined {
  const [, deleted, present, percent] = DELETION.exec(detail) ?? [];
  if (deleted !== undefined)
    return t('{deleted} of {present} would be deleted ({percent} %).', { deleted, present, percent });
  const [, owner, limit] = ALLOWED.exec(detail) ?? [];
  if (owner !== undefined)
    return t('{owner, select, pipeline {The pipeline} other {The project}} allows {limit} %.', {
      owner,
      limit,
    });
  const [, given, exact] = NOT_EXACT.exec(detail) ?? [];
  return given === undefined
    ? undefined
    : t('The confirmed number is {given}, but it must be exactly {exact}.', { given, exact });
}

/** Refusals whose text for users is complete. Their details name headers and parameters of the interface. */
const COMPLETE: ReadonlySet<string | undefined> = new Set(['changed_meanwhile', 'full_update_incomplete']);

/** @returns the details of a refusal in words for users */
export function listDetails(error: unknown): readonly string[] {
  if (error instanceof RelataError)
    return COMPLETE.has(error.reason) ? [] : error.details.map(describeDetail);
  return error instanceof TaskError ? describeFailure(error.task.error).details : [];
}

/** The service's refusals in words for users, by reason. Source: docs/interface §7.7. */
const nameRefusals = (): Readonly<Record<string, string>> => {
  const invalid = t('Something is missing or not right yet');
  const many = t('Too many requests. Try again in a moment.');
  const moved = t('The full update has changed in the meantime. Check it again.');
  return {
    request_invalid: invalid,
    product_invalid: invalid,
    query_invalid: invalid,
    rate_limited: many,
    too_many_looks: many,
    too_many_pipelined: many,
    too_many_waits: many,
    answers_unread: many,
    pipeline_too_soon: many,
    pipeline_running: t('Too many runs at the same time. Try again after one has finished.'),
    channel_building: t('Too many builds at the same time. Try again after one has finished.'),
    token_missing: t('Your session has ended, and nothing was saved. Sign in, then try again.'),
    csrf_refused: t('Your session has changed. Reload the page, then try again.'),
    scope_refused: t('You have no access to this'),
    key_beyond_own: t('You have no access to this'),
    role_refused: t('Your role does not allow this'),
    not_found: t('It no longer exists, or you have no access to it'),
    changed_meanwhile: t('Somebody else has changed it in the meantime. Check the changes, then save again.'),
    delete_guard: t('Nothing was changed, because too much would be deleted.'),
    deletes_not_exact: t('Nothing was changed, because another number of deletions was confirmed.'),
    full_update_missing: moved,
    full_update_other: moved,
    full_update_incomplete: moved,
    full_update_ended: moved,
    confirm_missing: t('Enter the exact name of the project.'),
    pipeline_file_missing: t('This pipeline reads an uploaded file. Upload a file to start a run.'),
    nothing_to_restore: t('There is no change that can be undone.'),
    relation_not_ready: t('The relation is still being built'),
    search_not_ready: t('The search is being prepared …'),
    mapping_unfit: t('The mapping does not fit the file'),
    source_unreadable: t('The source cannot be read'),
    format_unreadable: t('The file cannot be read in this format'),
    rows_rejected: t('Some rows make no product, so nothing was changed'),
    secret_key_missing: t('This service cannot store secrets yet. An operator has to set a key for them.'),
    secret_unreadable: t('A stored secret cannot be read. Enter it again.'),
    not_ready: t('The service is not ready. Try again in a moment.'),
  };
};

export function describeRefusal(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return nameRefusals()[findReason(error) ?? ''] ?? message;
}

/** @returns the failure of a task in words for users, with its details */
export function describeFailure(failure: Task['error'] | null): {
  message: string;
  details: readonly string[];
} {
  const { code = '', message = '', details = [] } = failure ?? {};
  return {
    message: nameRefusals()[code] ?? message,
    details: COMPLETE.has(code) ? [] : details.map(describeDetail),
  };
}

/** Tasks fail with the same reasons as refused calls. */
function findReason(error: unknown): string | undefined {
  if (error instanceof RelataError) return error.reason;
  return error instanceof TaskError ? error.task.error?.code : undefined;
}

export const MistakesContext = createContext<readonly string[]>([]);

/** @returns the mistakes that a refusal names, with the paths of their fields */
export const listMistakes = (error: unknown): readonly string[] =>
  error instanceof RelataError ? error.details.map(describeMistake) : [];

/** @returns a function that returns the mistake of a field by its path in the request, such as `/trigger/cron` */
export function useMistake(): (path: string) => string | undefined {
  const details = useContext(MistakesContext);
  return (path) => findMistake(details, path);
}

/** @returns the mistake of a field as a whole; mistakes of inner fields are shown at those fields */
export function useMistakeOf(path: string): string | undefined {
  const ofField = useContext(MistakesContext).filter((detail) => detail.startsWith(`${path}:`));
  return findMistake(ofField, path);
}

/** @returns the mistakes of a field and of all fields within it */
export function findMistake(details: readonly string[], path: string): string | undefined {
  const ofField = details.filter((detail) => detail.startsWith(`${path}:`) || detail.startsWith(`${path}/`));
  return ofField.map((detail) => detail.slice(detail.indexOf(': ') + 2)).join('; ') || undefined;
}
