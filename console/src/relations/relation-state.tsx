import type { Filter, Relation, RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';
import type { Kind } from '../parts/definitions.tsx';
import type { PartNames } from '../rules/changes.ts';
import { asGroup, EVERY_PRODUCT, isEveryPair } from '../rules/filters.ts';

/** Whether a relation answers, and why not. */
export function RelationState({ relation }: { relation: Pick<Relation, 'state' | 'enabled'> }) {
  if (relation.state === 'misconfigured') return <span className="badge bad">{t('cannot work')}</span>;
  if (relation.state === 'building') return <span className="badge busy">{t('building')}</span>;
  return relation.enabled !== false ? (
    <span className="badge good">{t('active')}</span>
  ) : (
    <span className="badge">{t('switched off')}</span>
  );
}

/** What a new one begins with. */
export const EMPTY: RelationDefinition = {
  name: '',
  tag: '',
  twoWay: false,
  enabled: true,
  source: { all: [] },
  target: { all: [] },
  match: [],
  sort: [],
  names: [],
  excludeSameGroup: true,
};

/** @returns the category that a side is about, where it is about one */
const findHead = (side: Filter = EVERY_PRODUCT) =>
  asGroup(side).filters.flatMap((one) => ('category' in one ? one.category.slice(-1) : []))[0];

/** @returns a name and a tag to begin with, `Bits for Drills` and `bits`; what is named already keeps its name */
export function proposeName({ name, tag, source, target }: RelationDefinition) {
  const [from, to] = [findHead(source), findHead(target)];
  const slug = to?.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  return {
    name: name || (from && to ? t('{target} for {source}', { target: to, source: from }) : ''),
    tag: tag || (slug ?? 'related'),
  };
}

const nameParts = (): PartNames<RelationDefinition> => ({
  ...{
    kind: t('Kind'),
    name: t('Name'),
    tag: t('Tag'),
    description: t('Description'),
    enabled: t('Active'),
  },
  ...{ twoWay: t('Both ways'), excludeSameGroup: t('Exclude variants') },
  ...{ source: t('From these products'), target: t('To these products'), match: t('What must match') },
  ...{ sort: t('Sort order'), names: t('Names for shoppers'), constraint: t('Must hold to fit') },
  ...{ total: t('What is added up'), operator: t('Comparison'), limit: t('The limit') },
});

export const RELATION: Kind<Relation, RelationDefinition> = {
  what: 'relation',
  list: ({ relata, projectId }, signal) => relata.relations.list(projectId, { signal }),
  get: ({ relata, projectId, id }, signal) => relata.relations.get(projectId, id, signal && { signal }),
  create: ({ relata, projectId }, definition) => relata.relations.create(projectId, definition),
  put: ({ relata, projectId, id }, definition, options) =>
    relata.relations.put({ projectId, relationId: id }, definition, options),
  delete: ({ relata, projectId, id }) => relata.relations.delete(projectId, id),
  nameParts,
  isBusy: ({ state }) => state === 'building',
  canUndo: true,
  findDoubt: (definition) =>
    (definition.kind ?? 'rule') === 'rule' && definition.enabled !== false && isEveryPair(definition)
      ? {
          title: t('Save it without a condition?'),
          words: t('This relation relates every product to every other one.'),
        }
      : undefined,
  sayState: ({ state }) => (state === 'building' ? t('It returns results as soon as it is built.') : ''),
};
