import type { Filter, Relation, RelationDefinition } from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { DefinitionList, type Kind } from '../parts/definitions.tsx';
import { FileField } from '../parts/forms/field.tsx';
import { DialogButton, ErrorNote } from '../parts/page.tsx';
import { Ago, saveFile } from '../parts/show.tsx';
import type { PartNames } from '../rules/changes.ts';
import { asGroup, describeFilter, EVERY_PRODUCT, isEveryPair } from '../rules/filters.ts';
import { formatCount } from '../rules/format.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { foreseeImport, type ImportEffect, readImport } from './relation-import.ts';

/** The relations of the project, with their rules. */
export function Relations() {
  const { canChange } = useRights();
  return (
    <DefinitionList
      kind={RELATION}
      icon="relations"
      about={t(
        'A relation is a rule that finds related products, or a list of links. Shops request it by its id or its tag.',
      )}
      hint={t(
        'A relation has two sides, for example drills and bits, and attributes that must match, for example the shank. The preview shows what it finds.',
      )}
      describe={({ problem }) => problem}
      actions={(present) => (
        <>
          {present.length > 0 && <ExportRelations />}
          {canChange && <ImportRelations present={present} />}
        </>
      )}
      columns={[
        [t('State'), (relation) => <RelationState relation={relation} />],
        [
          t('Tag'),
          (relation) => (
            <>
              <span className="mono">{relation.tag}</span>
              <CopyButton text={relation.tag} label={t('Copy the tag {tag}', { tag: relation.tag })} />
            </>
          ),
          'nowrap',
        ],
        [
          t('Id'),
          (relation) => (
            <>
              <span className="mono">{relation.id}</span>
              <CopyButton text={String(relation.id)} label={t('Copy the id {id}', { id: relation.id })} />
            </>
          ),
          'wide-only nowrap',
        ],
        [t('From'), (relation) => describeSide(relation, 'source'), 'wide-only soft'],
        [
          t('To'),
          (relation) => (
            <>
              {relation.twoWay && <span title={t('also the other way')}>⇄ </span>}
              {describeSide(relation, 'target')}
            </>
          ),
          'wide-only soft',
        ],
        [t('Changed'), (relation) => <Ago instant={relation.updatedAt} />, 'wide-only soft'],
      ]}
    />
  );
}

const describeSide = (relation: Relation, side: 'source' | 'target') =>
  relation.kind === 'links' ? t('listed products') : describeFilter(relation[side]);

const NAMED = 5;

/** Saves all relations as a file, as a copy or for another project. */
export function ExportRelations() {
  const { relata, projectId } = useCalls();
  const save = (document: object) =>
    saveFile(`relations-${projectId}.json`, [JSON.stringify(document, null, 2)], 'application/json');
  const start = () => void relata.relations.export(projectId).then(save).catch(tell.bad);
  return <Button onClick={start}>{t('Export')}</Button>;
}

interface Chosen {
  readonly relations: ReturnType<typeof readImport>;
  readonly effect: ImportEffect;
}

/** Replaces the whole list with a file, after showing the changes and deletions. */
export function ImportRelations({ present }: { present: readonly Relation[] }) {
  const { relata, projectId } = useCalls();
  const [chosen, setChosen] = useState<Chosen>();
  const [error, setError] = useState<unknown>();
  const choose = async (file: File | undefined) => {
    setChosen(undefined);
    setError(undefined);
    if (file === undefined) return;
    const relations = readImport(await file.text());
    setChosen({ relations, effect: foreseeImport(present, relations) });
  };
  const submit = async () => {
    if (chosen === undefined) return;
    await relata.relations.import(projectId, chosen.relations);
    await reread('relations');
    tell.good(
      t('imported {count, plural, one {# relation} other {# relations}}', { count: chosen.relations.length }),
    );
  };
  return (
    <DialogButton
      words={t('Import …')}
      title={t('Import relations')}
      action={t('Replace the relations')}
      isDanger={(chosen?.effect.deleted.length ?? 0) > 0}
      onClose={() => void choose(undefined)}
      onSubmit={submit}
      canSubmit={chosen !== undefined}
    >
      <FileField
        label={t('Exported file')}
        accept=".json,application/json"
        hint={t('It replaces all relations.')}
        onChange={(file) => void choose(file).catch(setError)}
      />
      <ErrorNote error={error} />
      {chosen && <Effect effect={chosen.effect} />}
    </DialogButton>
  );
}

function Effect({ effect: { changed, created, deleted } }: { effect: ImportEffect }) {
  const more = deleted.length - NAMED;
  const names = deleted.slice(0, NAMED).map(({ name }) => name);
  return (
    <div role="status">
      <p>
        {t('{created} created, {changed} changed, {deleted} deleted', {
          created: formatCount(created),
          changed: formatCount(changed),
          deleted: formatCount(deleted.length),
        })}
      </p>
      {deleted.length > 0 && (
        <p className="soft">
          {more > 0
            ? t('Deleted: {names} and {more} more', { names: names.join(', '), more: formatCount(more) })
            : t('Deleted: {names}', { names: names.join(', ') })}
        </p>
      )}
    </div>
  );
}

/** Whether a relation returns results, or the reason why it does not. */
export function RelationState({ relation }: { relation: Pick<Relation, 'state' | 'enabled'> }) {
  if (relation.state === 'misconfigured') return <span className="badge bad">{t('cannot work')}</span>;
  if (relation.state === 'building') return <span className="badge busy">{t('building')}</span>;
  return relation.enabled !== false ? (
    <span className="badge good">{t('active')}</span>
  ) : (
    <span className="badge">{t('switched off')}</span>
  );
}

/** The initial state of a new relation. */
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

/** @returns the category that a side is about, if any */
const findHead = (side: Filter = EVERY_PRODUCT) =>
  asGroup(side).filters.flatMap((filter) => ('category' in filter ? filter.category.slice(-1) : []))[0];

/**
 * @returns an initial name and tag, such as `Bits for Drills` and `bits`; an existing name or tag is not
 * replaced
 */
export function proposeName({ name, tag, source, target }: RelationDefinition) {
  const [from, to] = [findHead(source), findHead(target)];
  const slug = to?.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
  return {
    name: name || (from && to ? t('{target} for {source}', { target: to, source: from }) : ''),
    tag: tag || (slug ?? 'related'),
  };
}

const nameParts = (): PartNames<RelationDefinition> => ({
  kind: t('Kind'),
  name: t('Name'),
  tag: t('Tag'),
  description: t('Description'),
  enabled: t('Active'),
  twoWay: t('Both ways'),
  excludeSameGroup: t('Exclude variants'),
  source: t('From these products'),
  target: t('To these products'),
  match: t('What must match'),
  sort: t('Sort order'),
  names: t('Names for shoppers'),
  constraint: t('Must hold to fit'),
  total: t('What is added up'),
  operator: t('Comparison'),
  limit: t('The limit'),
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
