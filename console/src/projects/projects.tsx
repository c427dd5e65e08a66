import type { ManagedProject, Relata } from '@relata/client';
import { useEffect, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { type Choice, LocaleField, OwnNameField, SelectField, TextField } from '../parts/forms/field.tsx';
import { Answer, Card, Empty, FormDialog, ListPage, Page } from '../parts/page.tsx';
import { Ago, Table, Tags } from '../parts/show.tsx';
import { useAll, useGroups, useProjects } from '../state/answers.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useRights } from '../state/rights.ts';
import { goTo, linkTo, replaceWith, useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

export function Projects() {
  const projects = useProjects();
  const groups = useGroups();
  const { parts } = useRoute();
  const { canChange } = useRights();
  const isCreating = parts[1] === 'new';
  const nameGroup = (id: number) =>
    groups.data?.find((group) => group.id === id)?.name ?? t('Group {id}', { id });
  return (
    <ListPage
      title={t('Projects')}
      about={t('A project is one catalog in one language and country, with its attributes and relations.')}
      icon="projects"
      list={projects}
      empty={t('No project yet')}
      hint={t('Create the first one with a name and a locale. Then add products.')}
      create={[t('New project'), linkTo('projects', 'new')]}
      columns={[
        [
          t('Project'),
          (project) => (
            <a className="strong" href={linkTo('projects', project.id)}>
              {project.name}
            </a>
          ),
        ],
        [t('Group'), (project) => nameGroup(project.projectGroupId)],
        [t('Locale'), (project) => project.locale, 'nowrap'],
        [
          t('Tags'),
          (project) => (
            <span className="row">
              <Tags list={project.tags} />
            </span>
          ),
          'wide-only',
        ],
        [t('Created'), (project) => <Ago instant={project.createdAt} />, 'wide-only soft'],
        [t('Id'), (project) => project.id, 'number mono nowrap'],
      ]}
    >
      <DeletedProjects />
      <NewProject isOpen={isCreating && canChange} onClose={() => goTo(linkTo('projects'))} />
    </ListPage>
  );
}

const NEW_GROUP = 'new';

const guessLocale = () => (/^[a-z]{2}-[A-Z]{2}$/.test(navigator.language) ? navigator.language : 'en-GB');

function NewProject({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const relata = useRelata();
  const groups = useGroups();
  const { canChangeGroup, canChangeAll } = useRights();
  const [name, setName] = useState('');
  const [locale, setLocale] = useState(guessLocale);
  const [chosen, setChosen] = useState<string>();
  const [groupName, setGroupName] = useState('');
  const choices: Choice[] = [
    ...(groups.data ?? [])
      .filter(({ id }) => canChangeGroup(id))
      .map((group): Choice => [String(group.id), group.name]),
    ...(canChangeAll ? [[NEW_GROUP, t('A new group …')] as const] : []),
  ];
  const group = chosen ?? choices[0]?.[0] ?? NEW_GROUP;
  const submit = async () => {
    const projectGroupId =
      group === NEW_GROUP ? (await relata.projects.createGroup(groupName || name)).id : Number(group);
    const project = await relata.projects.create({ name, locale, projectGroupId });
    await Promise.all([reread('projects'), reread('groups')]);
    setName('');
    // Runs later, because closing the dialog opens the list.
    setTimeout(() => goTo(linkTo('projects', project.id)));
  };
  return (
    <FormDialog
      title={t('New project')}
      action={t('Create the project')}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      canSubmit={name.trim() !== ''}
    >
      <OwnNameField value={name} placeholder={t('Hardware store DE')} onChange={setName} />
      <LocaleField value={locale} onChange={setLocale} />
      <SelectField label={t('Project group')} choices={choices} value={group} onChange={setChosen} />
      {group === NEW_GROUP && (
        <TextField
          label={t('Name of the new group')}
          value={groupName}
          maxLength={255}
          placeholder={name || t('Hardware store')}
          hint={t('Projects of one shop usually share a group.')}
          onChange={setGroupName}
        />
      )}
    </FormDialog>
  );
}

export async function restoreProject(relata: Relata, { id, name }: Pick<ManagedProject, 'id' | 'name'>) {
  await relata.projects.restore(id);
  await reread();
  tell.good(t('{name} is restored', { name }));
}

function DeletedProjects() {
  const relata = useRelata();
  const { canChangeGroup } = useRights();
  const deleted = useAll('deleted-projects', ({ projects }, page) =>
    projects.list({ deleted: true, ...page }),
  );
  if (!deleted.data?.length) return null;
  return (
    <Card title={t('Recently deleted')} isBare>
      <Table
        rows={deleted.data}
        keyOf={({ id }) => id}
        columns={[
          ['', ({ name }) => name],
          [
            '',
            ({ deletedAt }) =>
              rich('deleted {when}, kept for 30 days', { when: <Ago instant={deletedAt} /> }),
            'soft',
          ],
          [
            '',
            (project) =>
              canChangeGroup(project.projectGroupId) && (
                <Button onClick={() => void restoreProject(relata, project).catch(tell.bad)}>
                  {t('Restore')}
                </Button>
              ),
            'actions',
          ],
        ]}
      />
    </Card>
  );
}

/** The entry page: the project if there is only one, else all projects, or the first steps. */
export const Home = () => (
  <Answer of={useProjects()}>
    {([first, ...others]) => {
      if (first === undefined) return <Welcome />;
      return others.length > 0 ? <Projects /> : <GoTo projectId={first.id} />;
    }}
  </Answer>
);

function GoTo({ projectId }: { projectId: number }) {
  useEffect(() => {
    // The user may have opened another view by now, which stays.
    if (/^#?\/?$/.test(location.hash)) replaceWith(linkTo('projects', projectId));
  }, [projectId]);
  return null;
}

function Welcome() {
  const { canChange } = useRights();
  return (
    <Page title={t('Welcome to Relata')}>
      <Card isBare>
        <Empty icon="projects" title={t('Begin with a project')}>
          <p>
            {t(
              'Create a project first: one catalog in one language and country. Then import products, and define relations to get related products.',
            )}
          </p>
          {canChange && (
            <LinkButton icon="plus" look="primary" href={linkTo('projects', 'new')}>
              {t('Create the first project')}
            </LinkButton>
          )}
        </Empty>
      </Card>
    </Page>
  );
}
