import { RelataError } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { CopyButton } from '../parts/button.tsx';
import { Card, Empty, ErrorNote, Loading, Page } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** What fetches product data by itself. */
export function Pipelines() {
  const project = useProject();
  const relata = useRelata();
  const pipelines = useQuery({
    queryKey: ['pipelines', project.id],
    queryFn: async ({ signal }) => (await relata.pipelines.list({ projectId: project.id, signal })).items,
  });
  const isMissing = pipelines.error instanceof RelataError && pipelines.error.status === 404;
  return (
    <Page
      title="Pipelines"
      crumbs={[[project.name, linkTo('projects', project.id)]]}
      about="A pipeline fetches a file, maps its columns, and updates the catalog: by hand, by schedule or by webhook."
    >
      {pipelines.isPending && <Loading />}
      {!isMissing && <ErrorNote error={pipelines.error} />}
      {(isMissing || pipelines.data?.length === 0) && (
        <Card isBare>
          <Empty icon="pipelines" title={isMissing ? 'Pipelines are not served yet' : 'No pipeline yet'}>
            <p>Until then, products come in by the API: see the calls on the start page of the project.</p>
            <a href={linkTo('projects', project.id)}>To the start page</a>
          </Empty>
        </Card>
      )}
      {pipelines.data !== undefined && pipelines.data.length > 0 && (
        <Card isBare>
          <div className="table-box">
            <table className="table">
              <thead>
                <tr>
                  <th>Pipeline</th>
                  <th>Source</th>
                  <th>Mode</th>
                  <th>Trigger</th>
                </tr>
              </thead>
              <tbody>
                {pipelines.data.map(({ id, name, source, format, mode, trigger }) => (
                  <tr key={id}>
                    <td>{name}</td>
                    <td>
                      {source.type}, {format.type}
                    </td>
                    <td>{mode}</td>
                    <td>
                      {trigger.type}
                      {trigger.url && <CopyButton text={trigger.url} label="Copy the webhook URL" />}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Card>
      )}
    </Page>
  );
}
