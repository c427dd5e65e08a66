/** How the console describes channels. Source: docs/interface §16. */

import {
  type BuildCounts,
  type Channel,
  type ChannelDefinition,
  type ChannelDestination,
  type ChannelPreview,
  type ChannelRelation,
  type ChannelSource,
  type ChannelToTry,
  type FeedField,
  feedFormats,
} from '@relata/client';
import { t } from '../languages/text.ts';
import type { Kind } from '../parts/definitions.tsx';
import type { PartNames } from '../rules/changes.ts';
import { toChoice } from '../rules/choices.ts';
import { EVERY_PRODUCT, pruneFilter } from '../rules/filters.ts';
import { formatCount } from '../rules/format.ts';
import { describeSchedule } from '../rules/schedule.ts';

export type ChannelMapping = NonNullable<ChannelDefinition['mapping']>;

export interface ChannelShape {
  draft: ChannelDefinition;
  onChange(changed: Partial<ChannelDefinition>): void;
}

export const listFormats = () => feedFormats.map(toChoice);

export const findFormat = ({ type }: ChannelDefinition['format']) =>
  feedFormats.find((format) => format.type === type);

export const EMPTY_CHANNEL: ChannelDefinition = {
  name: '',
  format: { type: 'google-merchant' },
  filter: EVERY_PRODUCT,
  relations: [],
  trigger: { type: 'manual' },
  destinations: [],
  maxDeletePercent: 30,
  maxLeftOutPercent: 100,
};

const nameParts = (): PartNames<ChannelDefinition> => ({
  name: t('Name'),
  format: t('Format'),
  filter: t('Products'),
  mapping: t('Mapping'),
  relations: t('Relations'),
  changes: t('Only changes'),
  trigger: t('Builds start'),
  destinations: t('Destinations'),
  maxDeletePercent: t('Maximum loss of rows, in %'),
  maxLeftOutPercent: t('Maximum left out, in %'),
});

export const isBuilding = ({ lastBuild }: Pick<Channel, 'lastBuild'>) =>
  lastBuild !== null && lastBuild.finishTime === null;

/** The most channels that a project may have. Source: docs/interface §16.1 rule 8. */
const MOST = 1_000;

export const CHANNEL: Kind<Channel, ChannelDefinition> = {
  what: 'channel',
  list: async ({ relata, projectId }, signal) =>
    (await relata.channels.list(projectId, { limit: MOST, signal })).items,
  get: ({ relata, projectId, id }, signal) =>
    relata.channels.get({ projectId, channelId: id }, signal && { signal }),
  create: ({ relata, projectId }, definition) => relata.channels.create(projectId, definition),
  put: ({ relata, projectId, id }, definition, options) =>
    relata.channels.put({ projectId, channelId: id }, definition, options),
  delete: ({ relata, projectId, id }) => relata.channels.delete({ projectId, channelId: id }),
  nameParts,
  isBusy: isBuilding,
};

export type SourceKind = keyof ChannelSource;

export const listSourceKinds = (): readonly (readonly [SourceKind | '', string])[] => [
  ['', '—'],
  ['attribute', t('Attribute')],
  ['field', t('Product field')],
  ['constant', t('Fixed text')],
  ['template', t('Template')],
  ['expression', t('Expression')],
];

export const listProductFields = (): readonly (readonly [NonNullable<ChannelSource['field']>, string])[] => [
  ['identifier', t('Identifier')],
  ['groupIdentifier', t('Group of variants')],
  ['name', t('Name')],
  ['productUrl', t('URL of the product')],
  ['image', t('Main image')],
  ['images', t('All images')],
  ['additionalImages', t('Other images')],
  ['category', t('Category')],
  ['categoryPath', t('Category path')],
  ['categories', t('All category paths')],
];

export const listRelatedAs = (): readonly (readonly [ChannelRelation['as'], string])[] => [
  ['accessory', t('Accessories')],
  ['required_part', t('Required parts')],
  ['substitute', t('Substitutes')],
  ['often_bought_with', t('Often bought with it')],
  ['part_of_set', t('Parts of the same set')],
  ['different_brand', t('The same of another brand')],
];

export const nameRelated = (as: string): string => listRelatedAs().find(([name]) => name === as)?.[1] ?? as;

export const kindOf = (source: ChannelSource | undefined): SourceKind | '' =>
  (Object.keys(source ?? {})[0] as SourceKind | undefined) ?? '';

export const textOfSource = (source: ChannelSource | undefined): string =>
  Object.values(source ?? {})[0] ?? '';

/** @returns the initial source of another kind; the former choice does not apply to it */
export function startSource(kind: SourceKind | '', field: FeedField): ChannelSource | undefined {
  if (kind === '') return undefined;
  if (kind === 'field') return { field: 'name' };
  return { [kind]: kind === 'constant' ? (field.choices?.[0] ?? '') : '' };
}

type Fields = readonly FeedField[] | undefined;

/**
 * @returns the field names of the mapping in its order, with missing required fields inserted in the order of
 * the format
 */
export function listFields(mapping: ChannelMapping, fields: Fields): string[] {
  const required = fields?.filter(({ isRequired }) => isRequired).map(({ name }) => name) ?? [];
  return required.reduce((names, name) => withName(names, name, fields), Object.keys(mapping));
}

/**
 * A new field is inserted after the fields that precede it in the format, or added last if the format accepts
 * any field.
 */
function withName(names: string[], name: string, fields: Fields): string[] {
  if (names.includes(name)) return names;
  const order = fields?.map((field) => field.name) ?? [];
  const before = new Set(order.slice(0, order.indexOf(name)));
  const index = fields ? names.findLastIndex((name) => before.has(name)) + 1 : names.length;
  return names.toSpliced(index, 0, name);
}

interface Change {
  readonly name: string;
  /** Undefined leaves the field out. */
  readonly source: ChannelSource | undefined;
}

/** @returns the mapping with one field changed and the others in their order */
export function withSource(mapping: ChannelMapping, { name, source }: Change, fields: Fields) {
  const all: Record<string, ChannelSource | undefined> = { ...mapping, [name]: source };
  const names = withName(Object.keys(mapping), name, fields);
  return Object.fromEntries(
    names.flatMap((fieldName) => (all[fieldName] ? [[fieldName, all[fieldName]] as const] : [])),
  );
}

/** @returns the mapping with a field renamed, or unchanged if the name is taken */
export function withFieldName(mapping: ChannelMapping, from: string, to: string): ChannelMapping {
  if (to === '' || Object.hasOwn(mapping, to)) return mapping;
  const entries = Object.entries(mapping);
  return Object.fromEntries(entries.map(([name, source]) => [name === from ? to : name, source]));
}

/** @returns the part of a draft that can be previewed, without incomplete entries */
export function toTried({ format, filter, mapping, relations }: ChannelDefinition): ChannelToTry {
  const whole = Object.entries(mapping ?? {}).filter(([, source]) => textOfSource(source) !== '');
  return {
    format,
    filter: pruneFilter(filter ?? EVERY_PRODUCT),
    relations: relations?.filter(({ tag, id }) => tag !== undefined || id !== undefined) ?? [],
    ...(mapping && { mapping: Object.fromEntries(whole) }),
  };
}

/** The number of products shown for each mistake. The report of a build names all of them. */
const SHOWN_IDENTIFIERS = 5;

export interface FieldTrouble {
  readonly field: string;
  readonly words: string;
  readonly identifiers: readonly string[];
  readonly hasMore: boolean;
}

/** @returns the missing fields of the checked products, then other mistakes of the first rows, each once */
export function listProblems({ missing, rows }: Pick<ChannelPreview, 'missing' | 'rows'>): FieldTrouble[] {
  const ofFields = missing.map(({ field, products, identifiers, message }) => ({
    field,
    ...shorten(identifiers, products),
    words: t('{count, plural, one {# product lacks} other {# products lack}} it: {message}', {
      count: products,
      message: afterColon(message),
    }),
  }));
  const wrong = rows.flatMap(({ identifier, problems }) =>
    problems
      .filter(({ code }) => code !== 'field_missing')
      .map(({ field, value, message }) => ({ identifier, field, message, value })),
  );
  const byMessage = Map.groupBy(wrong, ({ field, message }) => `${field} ${message}`);
  const others = [...byMessage.values()].map((all) => {
    const [{ field = '', message = '', value } = {}] = all;
    const reason = message.startsWith(`${field} `) ? message.slice(field.length + 1) : message;
    const words = value === undefined ? reason : `${reason} (“${value}”)`;
    const identifiers = all.map(({ identifier }) => identifier);
    return { field, words, ...shorten(identifiers, all.length) };
  });
  return [...ofFields, ...others];
}

const shorten = (identifiers: readonly string[], products: number) => ({
  identifiers: identifiers.slice(0, SHOWN_IDENTIFIERS),
  hasMore: products > SHOWN_IDENTIFIERS,
});

const afterColon = (message: string) => message.slice(message.indexOf(': ') + 2);

export function describeTrigger({ trigger }: Pick<Channel, 'trigger'>): string {
  if (trigger.type === 'schedule') return describeSchedule(trigger);
  if (trigger.type === 'manual') return t('by hand');
  return t('after changes, every {count, plural, one {# second} other {# seconds}} at most', {
    count: trigger.minSecondsBetween ?? 0,
  });
}

/** The destination of deliveries, without its secrets. */
export function describeDestination(destination: ChannelDestination): string {
  const { type, folder } = destination;
  const address =
    type === 'sftp'
      ? `${destination.user}@${destination.host}`
      : t('{bucket} at {endpoint}', { bucket: destination.bucket, endpoint: destination.endpoint });
  return folder ? t('{place}, folder {folder}', { place: address, folder }) : address;
}

const listCounted = () =>
  [
    ['related', t('related')],
    ['leftOut', t('left out')],
    ['filtered', t('filtered')],
  ] as const;

/** The nonzero counts of a build. */
export function describeCounts(counts: BuildCounts | null): string {
  if (counts === null) return '';
  const others = listCounted().filter(([name]) => counts[name] > 0);
  const words = others.map(([name, text]) => `${formatCount(counts[name])} ${text}`);
  return [t('{count, plural, one {# row} other {# rows}}', { count: counts.rows }), ...words].join(', ');
}

export function listWarnings({ lastBuild }: Pick<Channel, 'lastBuild'>): readonly string[] {
  const leftOut = lastBuild?.counts?.leftOut ?? 0;
  return [
    ...(leftOut > 0
      ? [t('{count, plural, one {# product} other {# products}} left out', { count: leftOut })]
      : []),
    ...(lastBuild?.warnings ?? []),
  ];
}
