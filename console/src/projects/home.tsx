import { useEffect } from 'react';
import { t } from '../languages/text.ts';
import { LinkButton } from '../parts/button.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { useProjects } from '../state/project.ts';
import { linkTo, replaceWith } from '../state/route.ts';
import { useRights } from '../state/session.tsx';
import { Projects } from './projects.tsx';

/** Where one comes in: the project, if there is one; else all of them, or how to begin. */
export function Home() {
  return (
    <Answer of={useProjects()}>
      {([first, ...others]) => {
        if (first === undefined) return <Welcome />;
        return others.length > 0 ? <Projects /> : <GoTo projectId={first.id} />;
      }}
    </Answer>
  );
}

function GoTo({ projectId }: { projectId: number }) {
  useEffect(() => {
    // Not if the user has gone on by then.
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
              'Begin with a project: one catalog in one language and country. Then import products, and define relations to get related products.',
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
