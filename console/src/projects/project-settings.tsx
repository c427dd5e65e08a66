import type { ManagedProject } from '@relata/client';
import { useMemo, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { type Draft, Meanwhile, mergeOver, useDraft } from '../parts/forms/draft.tsx';
import {
  CountField,
  Fields,
  LocaleField,
  NumberField,
  OwnNameField,
  SelectField,
  TextField,
  TextsField,
  useBinding,
} from '../parts/forms/field.tsx';
import { Card, DialogButton, ErrorNote, Page } from '../parts/page.tsx';
import { isSame, type PartNames } from '../rules/changes.ts';
import { useGroups } from '../state/answers.ts';
import { useSubmit } from '../state/forms.ts';
import { tell } from '../state/notices.ts';
import { reread, rereading } from '../state/queries.ts';
import { useProject, useRights } from '../state/rights.ts';
import { goFromHere, linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { restoreProject } from './projects.tsx';

export function ProjectSettings() {
  const project = useProject();
  const canChange = useRights().canChangeGroup(project.projectGroupId);
  return (
    <Page title={t('Settings')} isNarrow>
      <SettingsForm key={project.id} project={project} canChange={canChange} />
      {canChange && <DeleteProject project={project} />}
    </Page>
  );
}

type Settings = Pick<ManagedProject, 'name' | 'locale' | 'projectGroupId' | 'tags'> &
  ManagedProject['settings'];

const toSettings = ({ name, locale, projectGroupId, tags, settings }: ManagedProject): Settings => ({
  name,
  locale,
  projectGroupId,
  tags,
  ...settings,
});

const nameParts = (): PartNames<Settings> => ({
  name: t('Name'),
  locale: t('Locale'),
  projectGroupId: t('Project group'),
  tags: t('Tags'),
  maxDeletePercent: t('Deletion limit (%)'),
  keptCommits: t('Changes that can be undone'),
  keptDays: t('Days until they can no longer be undone'),
  onInvalid: t('Invalid products'),
  brandAttribute: t('Brand attribute'),
  priceAttribute: t('Price attribute'),
});

type FieldsShape = Pick<Draft<Settings>, 'draft' | 'change'>;

function SettingsForm({ project, canChange }: { project: ManagedProject; canChange: boolean }) {
  const relata = useRelata();
  const stored = useMemo(() => ({ value: toSettings(project), etag: undefined }), [project]);
  const edited = useDraft<Settings>(stored, stored.value, nameParts());
  const { draft, change, round } = edited;

  /** Sends only the differences, so that changes of other users are kept. */
  async function write(from: Settings, to: Settings): Promise<void> {
    const changed = pickChanged(from, to);
    const { name, locale, projectGroupId, tags, ...settings } = changed;
    const own = pickChanged({}, { name, locale, projectGroupId, tags });
    await relata.projects.change(project.id, { ...own, settings });
  }

  async function save() {
    const now = toSettings(await relata.projects.get(project.id));
    const saved = mergeOver(edited, now, 'project');
    await write(now, saved);
    edited.adopt(saved);
    tell.undoable(t('The settings are saved'), () => rereading(write(saved, now), 'projects'));
  }

  const { onSubmit, error, isBusy } = useSubmit(() => rereading(save(), 'projects'));
  return (
    <form className="stack wide" onSubmit={onSubmit}>
      <Meanwhile what="project" of={edited} />
      <Fields key={round}>
        <ProjectFields draft={draft} change={change} />
        <CatalogFields draft={draft} change={change} />
      </Fields>
      <ErrorNote error={error} />
      {canChange && (
        <div className="row">
          <Button type="submit" look="primary" busy={isBusy}>
            {t('Save')}
          </Button>
        </div>
      )}
    </form>
  );
}

/** @returns the parts of `to` that differ from `from` */
const pickChanged = <Part extends object>(from: Partial<Part>, to: Part): Partial<Part> =>
  Object.fromEntries(
    Object.entries(to).filter(([name, value]) => !isSame(from[name as keyof Part], value)),
  ) as Partial<Part>;

function ProjectFields({ draft, change }: FieldsShape) {
  const groups = useGroups();
  const bind = useBinding(draft, change);
  const choices = groups.data?.map((group) => [String(group.id), group.name] as const) ?? [];
  return (
    <Card title={t('Project')}>
      <div className="fields">
        <OwnNameField {...bind('name')} />
        <LocaleField {...bind('locale')} />
        {choices.length > 0 && (
          <SelectField
            label={t('Project group')}
            choices={choices}
            value={String(draft.projectGroupId)}
            onChange={(id) => change({ projectGroupId: Number(id) })}
          />
        )}
      </div>
      <TextsField
        label={t('Tags')}
        hint={t('Comma-separated. Connectors see them in the project list.')}
        {...bind('tags')}
      />
    </Card>
  );
}

function CatalogFields({ draft, change }: FieldsShape) {
  const bind = useBinding(draft, change);
  return (
    <Card title={t('Catalog')}>
      <div className="fields">
        <NumberField
          label={t('Deletion limit (%)')}
          max={100}
          value={draft.maxDeletePercent}
          hint={t(
            'A full update that would delete a larger share of the catalog is refused. 100 switches the limit off.',
          )}
          onChange={(maxDeletePercent = 0) => change({ maxDeletePercent })}
        />
        <NumberField
          label={t('Changes that can be undone')}
          max={30}
          step={1}
          value={draft.keptCommits}
          onChange={(keptCommits = 0) => change({ keptCommits })}
        />
        <CountField
          label={t('Days until they can no longer be undone')}
          max={3650}
          value={draft.keptDays ?? undefined}
          hint={t('Empty: whatever their age.')}
          onChange={(keptDays) => change({ keptDays: keptDays ?? null })}
        />
        <SelectField
          label={t('Invalid products')}
          choices={[
            ['refuse', t('refuse the whole request')],
            ['skip', t('leave them out and report them')],
          ]}
          {...bind('onInvalid')}
        />
        <TextField
          label={t('Brand attribute')}
          required
          hint={t('The attribute that holds the brand of a product.')}
          {...bind('brandAttribute')}
        />
        <TextField
          label={t('Price attribute')}
          required
          hint={t('The attribute that shows which alternatives have a similar price.')}
          {...bind('priceAttribute')}
        />
      </div>
    </Card>
  );
}

function DeleteProject({ project }: { project: ManagedProject }) {
  const relata = useRelata();
  const [name, setName] = useState('');
  const remove = async () => {
    const go = goFromHere();
    await relata.projects.delete(project.id, name);
    go(linkTo('projects'));
    await reread();
    tell.undoable(t('{name} is deleted', { name: project.name }), () => restoreProject(relata, project));
  };
  return (
    <Card title={t('Delete this project')}>
      <p className="soft">
        {t(
          'Shops immediately lose access to its catalog and relations, and its keys stop working. You can restore it in the list of projects for 30 days.',
        )}
      </p>
      <div className="row">
        <DialogButton
          look="danger"
          words={t('Delete the project …')}
          title={t('Delete {name}', { name: project.name })}
          action={t('Delete the project')}
          isDanger
          onSubmit={remove}
          canSubmit={name === project.name}
        >
          <TextField
            label={t('Type the name of the project')}
            value={name}
            placeholder={project.name}
            onChange={setName}
          />
        </DialogButton>
      </div>
    </Card>
  );
}
