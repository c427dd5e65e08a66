import { useInfiniteQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Ago, TableBox } from '../parts/show.tsx';
import { nameAction, nameActor } from '../rules/audit.ts';
import { useProjects } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';

/** Who changed or deleted what, newest first. */
export function AuditLog() {
  const relata = useRelata();
  const projects = useProjects();
  const log = useInfiniteQuery({
    queryKey: ['audit-log'],
    queryFn: ({ pageParam, signal }) =>
      relata.projects.auditLog({ limit: 100, signal, ...(pageParam && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  });
  const nameProject = (id: number | null) =>
    projects.data?.find((project) => project.id === id)?.name ??
    (id === null ? '' : t('Project {id}', { id }));
  return (
    <Page
      title={t('Audit log')}
      about={t(
        'Every change of a key, project, ontology, relation or pipeline, and each deletion of products.',
      )}
    >
      <Answer of={log}>
        {({ pages }) => (
          <Card isBare>
            {pages[0]?.items.length === 0 && <Empty icon="log" title={t('No changes yet')} />}
            <TableBox label={t('Changes')}>
              <table className="table">
                <thead>
                  <tr>
                    <th>{t('When')}</th>
                    <th>{t('Who')}</th>
                    <th>{t('What')}</th>
                    <th>{t('Of')}</th>
                    <th className="wide-only">{t('Project')}</th>
                  </tr>
                </thead>
                <tbody>
                  {pages
                    .flatMap((page) => page.items)
                    .map((entry) => (
                      <tr key={entry.id}>
                        <td className="soft">
                          <Ago at={entry.at} />
                        </td>
                        <td>
                          {entry.actor.name} <span className="soft small">{nameActor(entry.actor.type)}</span>
                        </td>
                        <td>{nameAction(entry.action)}</td>
                        <td>{String(entry.subject.name ?? entry.subject.id ?? '')}</td>
                        <td className="wide-only soft">{nameProject(entry.projectId)}</td>
                      </tr>
                    ))}
                </tbody>
              </table>
            </TableBox>
            {log.hasNextPage && (
              <div className="grid-foot">
                <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
                  {t('Show older ones')}
                </Button>
              </div>
            )}
          </Card>
        )}
      </Answer>
    </Page>
  );
}
