import { useInfiniteQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Ago, Older, Table } from '../parts/show.tsx';
import { nameAction, nameActor } from '../rules/roles.ts';
import { useProjects } from '../state/answers.ts';
import { useRelata } from '../state/session.tsx';

/** The changes and deletions with their users, newest first. */
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
        'Every change of a key, project, attribute, relation or pipeline, and each deletion of products.',
      )}
    >
      <Answer of={log}>
        {({ pages }) => (
          <Card isBare>
            {pages[0]?.items.length === 0 && <Empty icon="log" title={t('No changes yet')} />}
            <Table
              label={t('Changes')}
              rows={pages.flatMap((page) => page.items)}
              keyOf={(entry) => entry.id}
              columns={[
                [t('When'), (entry) => <Ago instant={entry.at} />, 'soft'],
                [
                  t('Who'),
                  (entry) => (
                    <>
                      {entry.actor.name} <span className="soft small">{nameActor(entry.actor.type)}</span>
                    </>
                  ),
                ],
                [t('What'), (entry) => nameAction(entry.action)],
                [t('Of'), (entry) => String(entry.subject.name ?? entry.subject.id ?? '')],
                [t('Project'), (entry) => nameProject(entry.projectId), 'wide-only soft'],
              ]}
            />
            <Older of={log} />
          </Card>
        )}
      </Answer>
    </Page>
  );
}
