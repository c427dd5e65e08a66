import { t } from '../../languages/text.ts';
import type { IconName } from '../icon.tsx';

/** A page: its icon, its name, and where it is. */
export type Place = readonly [icon: IconName, words: string, ...place: (string | number)[]];

export const listAccountPlaces = (): readonly Place[] => [
  ['projects', t('Projects'), 'projects'],
  ['overview', t('Operations'), 'operations'],
  ['log', t('Audit log'), 'audit-log'],
];

export const listProjectPlaces = (id: string): readonly Place[] => [
  ['start', t('Start'), 'projects', id],
  ['products', t('Products'), 'projects', id, 'products'],
  ['ontology', t('Attributes'), 'projects', id, 'ontology'],
  ['relations', t('Relations'), 'projects', id, 'relations'],
  ['fit', t('Does it fit?'), 'projects', id, 'fit'],
  ['suggestions', t('Suggestions'), 'projects', id, 'suggestions'],
  ['pipelines', t('Pipelines'), 'projects', id, 'pipelines'],
  ['channels', t('Channels'), 'projects', id, 'channels'],
  ['updates', t('Updates'), 'projects', id, 'updates'],
  ['events', t('Events'), 'projects', id, 'events'],
  ['key', t('API access'), 'projects', id, 'api-access'],
  ['settings', t('Settings'), 'projects', id, 'settings'],
];

/** What can be asked and begun from anywhere in a project. */
export const listActions = (id: string, canChange: boolean): readonly Place[] => {
  const asked: Place = ['relations', t('Why, or why not?'), 'projects', id, 'why'];
  if (!canChange) return [asked];
  return [
    asked,
    ['plus', t('New relation'), 'projects', id, 'relations', 'new'],
    ['plus', t('New pipeline'), 'projects', id, 'pipelines', 'new'],
    ['plus', t('Import a file'), 'projects', id, 'import'],
  ];
};
