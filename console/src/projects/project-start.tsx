import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { LinkButton } from '../parts/button.tsx';
import { FirstProducts } from '../parts/first-products.tsx';
import { Answer, Card, Page } from '../parts/page.tsx';
import { Figure } from '../parts/show.tsx';
import { formatCount } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { TaskTable, useTasks } from '../updates/updates.tsx';

const SHOWN_TASKS = 8;

/** A project at a glance: what is in it, what happened last; or how to begin. */
export function ProjectStart() {
  const project = useProject();
  const relata = useRelata();
  const { id } = project;
  const first = useQuery({
    queryKey: ['products', id, 'any'],
    queryFn: async ({ signal }) =>
      (await relata.products.listTable(id, { limit: 1, signal })).items.length > 0,
  });
  return (
    <Page
      title={project.name}
      crumbs={[[t('Projects'), linkTo('projects')]]}
      about={t('{locale} · id {id}', { locale: project.locale, id })}
      actions={
        <LinkButton icon="products" href={linkTo('projects', id, 'products')}>
          {t('Products')}
        </LinkButton>
      }
    >
      <Answer of={first}>
        {(hasProducts) =>
          hasProducts ? (
            <Glance />
          ) : (
            <Card isBare>
              <FirstProducts />
            </Card>
          )
        }
      </Answer>
    </Page>
  );
}

function Glance() {
  const project = useProject();
  const relata = useRelata();
  const { id } = project;
  const ontology = useQuery({
    queryKey: ['ontology', id],
    queryFn: ({ signal }) => relata.ontology.get(id, { signal }),
  });
  const relations = useQuery({
    queryKey: ['relations', id],
    queryFn: ({ signal }) => relata.relations.list(id, { signal }),
  });
  const tasks = useTasks(id, '', SHOWN_TASKS);
  const broken = relations.data?.filter(({ misconfigured }) => misconfigured).length ?? 0;
  return (
    <>
      <dl className="figures">
        <Figure
          label={t('Attributes')}
          value={formatCount(ontology.data?.value.attributes.length ?? 0)}
          more={ontology.data?.value.mode === 'own' ? t('own ontology') : t('grows by itself')}
        />
        <Figure
          label={t('Relations')}
          value={formatCount(relations.data?.length ?? 0)}
          more={broken > 0 ? t('{broken} misconfigured', { broken }) : ''}
        />
        <Figure
          label={t('Delete guard')}
          value={
            project.settings.maxDeletePercent === 100 ? t('off') : `${project.settings.maxDeletePercent} %`
          }
          more={project.settings.maxDeletePercent === 100 ? '' : t('of a commit')}
        />
        <Figure
          label={t('Can be undone')}
          value={formatCount(project.settings.keptCommits)}
          more={t('{count, plural, one {commit} other {commits}}', { count: project.settings.keptCommits })}
        />
      </dl>
      <Card
        title={t('Latest tasks')}
        isBare
        actions={
          <LinkButton look="quiet" href={linkTo('projects', id, 'updates')}>
            {t('All')}
          </LinkButton>
        }
      >
        <Answer of={tasks}>{({ pages }) => <TaskTable tasks={pages[0]?.tasks ?? []} />}</Answer>
      </Card>
    </>
  );
}
