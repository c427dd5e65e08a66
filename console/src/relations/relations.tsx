import type { Relation } from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, CopyButton } from '../parts/button.tsx';
import { DefinitionList } from '../parts/definitions.tsx';
import { FileField } from '../parts/forms/field.tsx';
import { DialogButton, ErrorNote } from '../parts/page.tsx';
import { Ago, saveFile } from '../parts/show.tsx';
import { describeFilter } from '../rules/filters.ts';
import { formatCount } from '../rules/format.ts';
import { reread, tell, useCalls, useRights } from '../state/service.tsx';
import { foreseeImport, type ImportEffect, readImport } from './relation-import.ts';
import { RELATION, RelationState } from './relation-state.tsx';

/** What goes with what, by which rule. */
export function Relations() {
  const { canChange } = useRights();
  return (
    <DefinitionList
      kind={RELATION}
      icon="relations"
      about={t(
        'A relation is a rule that finds related products, or a list of links. Shops ask for it by its id or its tag.',
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
        [t('Changed'), (relation) => <Ago at={relation.updatedAt} />, 'wide-only soft'],
      ]}
    />
  );
}

const describeSide = (relation: Relation, side: 'source' | 'target') =>
  relation.kind === 'links' ? t('listed products') : describeFilter(relation[side]);

const NAMED = 5;

/** All relations as a file, to keep or to take to another project. */
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

/** Makes a file the whole list; says before what that changes and deletes. */
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
        {t('{created} made, {changed} changed, {deleted} deleted', {
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
