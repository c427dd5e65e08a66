import type { ManagedProject } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { useUnsaved } from '../parts/forms/draft.tsx';
import { Fields, LocaleField, SelectField, TextField } from '../parts/forms/field.tsx';
import { Card, ErrorNote, Page } from '../parts/page.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useGroups, useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';

export function ProjectSettings() {
  const project = useProject();
  const canChange = useRights().canChangeGroup(project.projectGroupId);
  const [round, setRound] = useState(0);
  return (
    <Page title={t('Settings')} crumbs={[[project.name, linkTo('projects', project.id)]]} isNarrow>
      <SettingsForm
        key={`${project.id} ${round}`}
        project={project}
        canChange={canChange}
        onUndone={() => setRound((last) => last + 1)}
      />
      {canChange && <DeleteProject project={project} />}
    </Page>
  );
}

function SettingsForm({
  project,
  canChange,
  onUndone,
}: {
  project: ManagedProject;
  canChange: boolean;
  onUndone(): void;
}) {
  const relata = useRelata();
  const queries = useQueryClient();
  const groups = useGroups();
  const tell = useTell();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [isTouched, setTouched] = useState(false);
  useUnsaved(isTouched);
  const undo = async (saved: ManagedProject) => {
    const { name, locale, projectGroupId, tags } = project;
    await relata.projects.change(project.id, {
      ...listFormer({ name, locale, projectGroupId, tags }, saved),
      settings: listFormer(project.settings, saved.settings),
    });
    await queries.invalidateQueries({ queryKey: ['projects'] });
    onUndone();
  };
  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    await relata.projects
      .change(project.id, readForm(new FormData(event.currentTarget)))
      .then(async (saved) => {
        setTouched(false);
        await queries.invalidateQueries({ queryKey: ['projects'] });
        tell.undoable(t('The settings are saved'), () => undo(saved));
      }, setError);
    setBusy(false);
  };
  const choices = groups.data?.map((group) => [String(group.id), group.name] as const) ?? [];
  return (
    <form className="stack wide" onChange={() => setTouched(true)} onSubmit={(event) => void save(event)}>
      <Fields>
        <Card title={t('Project')}>
          <div className="fields">
            <TextField label={t('Name')} name="name" defaultValue={project.name} required maxLength={255} />
            <LocaleField name="locale" defaultValue={project.locale} />
            {choices.length > 0 && (
              <SelectField
                label={t('Project group')}
                name="projectGroupId"
                choices={choices}
                defaultValue={String(project.projectGroupId)}
              />
            )}
          </div>
          <TextField
            label={t('Tags')}
            name="tags"
            defaultValue={project.tags.join(', ')}
            hint={t('Comma-separated. Connectors see them in the project list.')}
          />
        </Card>
        <CatalogFields project={project} />
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

function CatalogFields({ project }: { project: ManagedProject }) {
  return (
    <Card title={t('Catalog')}>
      <div className="fields">
        <TextField
          label={t('Delete guard (%)')}
          name="maxDeletePercent"
          type="number"
          min={0}
          max={100}
          step="any"
          defaultValue={project.settings.maxDeletePercent}
          hint={t(
            'A commit that would delete a larger share of the catalog is refused. 100 switches the guard off.',
          )}
        />
        <TextField
          label={t('Commits that can be undone')}
          name="keptCommits"
          type="number"
          min={0}
          max={30}
          defaultValue={project.settings.keptCommits}
        />
        <TextField
          label={t('Days for which they can be undone')}
          name="keptDays"
          type="number"
          min={1}
          max={3650}
          defaultValue={project.settings.keptDays ?? ''}
          hint={t('Empty: whatever their age.')}
        />
        <SelectField
          label={t('Products that are not valid')}
          name="onInvalid"
          choices={[
            ['refuse', t('refuse the whole request')],
            ['skip', t('leave them out and report them')],
          ]}
          defaultValue={project.settings.onInvalid}
        />
        <TextField
          label={t('Brand attribute')}
          name="brandAttribute"
          defaultValue={project.settings.brandAttribute}
          required
          hint={t('The attribute for the brand of related products.')}
        />
        <TextField
          label={t('Price attribute')}
          name="priceAttribute"
          defaultValue={project.settings.priceAttribute}
          required
          hint={t('The attribute by which alternatives are near in price.')}
        />
      </div>
    </Card>
  );
}

function readForm(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const tags = text('tags')
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  return {
    name: text('name'),
    locale: text('locale'),
    tags,
    ...(form.has('projectGroupId') && { projectGroupId: Number(text('projectGroupId')) }),
    settings: {
      maxDeletePercent: Number(text('maxDeletePercent')),
      keptCommits: Number(text('keptCommits')),
      keptDays: text('keptDays') === '' ? null : Number(text('keptDays')),
      brandAttribute: text('brandAttribute'),
      priceAttribute: text('priceAttribute'),
      onInvalid: text('onInvalid') as 'refuse' | 'skip',
    },
  };
}

/** @returns what was changed, as it was: what others have changed since stays */
function listFormer<Fields extends object>(former: Fields, saved: NoInfer<Fields>): Partial<Fields> {
  const text = (value: unknown) => JSON.stringify(value);
  const changed = Object.entries(former).filter(
    ([name, value]) => text(value) !== text(saved[name as keyof Fields]),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}

function DeleteProject({ project }: { project: ManagedProject }) {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const remove = async () => {
    await relata.projects.delete(project.id, name);
    goTo(linkTo('projects'));
    await queries.invalidateQueries();
    tell.undoable(t('{name} is deleted', { name: project.name }), async () => {
      await relata.projects.restore(project.id);
      await queries.invalidateQueries();
      tell.good(t('{name} is restored', { name: project.name }));
    });
  };
  return (
    <Card title={t('Delete this project')}>
      <p className="soft">
        {t(
          'Its catalog, ontology, relations and keys stop answering at once. For 30 days you can restore it in the list of projects.',
        )}
      </p>
      <div className="row">
        <Button look="danger" onClick={() => setOpen(true)}>
          {t('Delete the project …')}
        </Button>
      </div>
      <FormDialog
        title={t('Delete {name}', { name: project.name })}
        action={t('Delete the project')}
        isDanger
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={remove}
        canSubmit={name === project.name}
      >
        <TextField
          label={t('Type the name of the project')}
          value={name}
          placeholder={project.name}
          onChange={(event) => setName(event.target.value)}
        />
      </FormDialog>
    </Card>
  );
}
