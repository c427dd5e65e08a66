import { type ComponentType, useEffect, useState } from 'react';
import { PageCallButton } from './calls/page-call-button.tsx';
import { t } from './languages/text.ts';
import { Answer, Card, Empty, Loading, loadFile, Page, PageExtra } from './parts/page.tsx';
import { Home, Projects } from './projects/projects.tsx';
import { useProjects } from './state/answers.ts';
import { ProjectContext } from './state/rights.ts';
import { linkTo } from './state/route.ts';

/** Loads the file of a view when it is opened. React's `lazy` would show `Loading` for at least 300 ms. */
function load<Name extends string>(
  file: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): ComponentType {
  let View: ComponentType | undefined;
  return function Loaded() {
    const [{ isMissing, error }, setAnswer] = useState<{ isMissing: boolean; error?: unknown }>({
      isMissing: View === undefined,
    });
    useEffect(() => {
      if (!isMissing) return;
      loadFile(file).then(
        (loaded) => {
          View = loaded[name];
          setAnswer({ isMissing: false });
        },
        (failure: unknown) => setAnswer({ isMissing: true, error: failure }),
      );
    }, [isMissing]);
    if (error !== undefined) throw error;
    return View === undefined ? <Loading /> : <View />;
  };
}

const VIEWS: Readonly<Record<string, ComponentType>> = {
  '': Home,
  projects: Projects,
  operations: load(() => import('./overview/operations.tsx'), 'Operations'),
  'audit-log': load(() => import('./overview/audit-log.tsx'), 'AuditLog'),
  account: load(() => import('./account/account.tsx'), 'Account'),
};

const PROJECT_VIEWS: Readonly<Record<string, ComponentType>> = {
  '': load(() => import('./projects/project-start.tsx'), 'ProjectStart'),
  products: load(() => import('./products/products.tsx'), 'Products'),
  product: load(() => import('./products/page/product.tsx'), 'ProductView'),
  fit: load(() => import('./products/page/fit.tsx'), 'FitView'),
  why: load(() => import('./products/page/why.tsx'), 'WhyView'),
  ontology: load(() => import('./ontology/ontology.tsx'), 'OntologyView'),
  relations: load(() => import('./relations/relations.tsx'), 'Relations'),
  relation: load(() => import('./relations/relation.tsx'), 'RelationView'),
  suggestions: load(() => import('./suggestions/suggestions.tsx'), 'Suggestions'),
  import: load(() => import('./pipelines/import.tsx'), 'Import'),
  pipelines: load(() => import('./pipelines/pipelines.tsx'), 'Pipelines'),
  pipeline: load(() => import('./pipelines/pipelines.tsx'), 'PipelineView'),
  'pipeline-editor': load(() => import('./pipelines/pipeline-editor.tsx'), 'PipelineEditor'),
  channels: load(() => import('./channels/channels.tsx'), 'Channels'),
  channel: load(() => import('./channels/channels.tsx'), 'ChannelView'),
  'channel-editor': load(() => import('./channels/channel-editor.tsx'), 'ChannelEditor'),
  updates: load(() => import('./updates/updates.tsx'), 'Updates'),
  update: load(() => import('./updates/update.tsx'), 'Update'),
  events: load(() => import('./events/events.tsx'), 'Events'),
  endpoint: load(() => import('./events/events.tsx'), 'EventEndpoint'),
  'api-access': load(() => import('./access/api-access.tsx'), 'ApiAccess'),
  settings: load(() => import('./projects/project-settings.tsx'), 'ProjectSettings'),
};

/** The view of one item, whose address is below that of its list. */
const ONE_OF: Readonly<Record<string, string>> = {
  products: 'product',
  relations: 'relation',
  pipelines: 'pipeline',
  channels: 'channel',
  updates: 'update',
  events: 'endpoint',
};

/** Items that are read in one view and changed in another. */
const EDITORS: Readonly<Record<string, string>> = {
  pipelines: 'pipeline-editor',
  channels: 'channel-editor',
};

function findProjectView([list = '', itemId, act]: readonly string[]): ComponentType {
  if (itemId === undefined) return PROJECT_VIEWS[list] ?? Unknown;
  const editor = itemId === 'new' || act === 'edit' ? EDITORS[list] : undefined;
  return PROJECT_VIEWS[editor ?? ONE_OF[list] ?? '?'] ?? Unknown;
}

export const findScreen = (name: string): ComponentType => VIEWS[name] ?? Unknown;

export function ProjectScreen({ id, parts }: { id: number; parts: readonly string[] }) {
  const projects = useProjects();
  const View = findProjectView(parts);
  return (
    <Answer of={projects}>
      {(relations) => {
        const project = relations.find((candidate) => candidate.id === id);
        if (project === undefined) return <Unknown />;
        return (
          <ProjectContext value={project}>
            <PageExtra value={<PageCallButton />}>
              <View />
            </PageExtra>
          </ProjectContext>
        );
      }}
    </Answer>
  );
}

const Unknown = () => (
  <Page title={t('Page not found')}>
    <Card>
      <Empty icon="search" title={t('This address does not exist')}>
        <p>{t('It may have been deleted, or you may not have access.')}</p>
        <a href={linkTo()}>{t('Go to the start')}</a>
      </Empty>
    </Card>
  </Page>
);
