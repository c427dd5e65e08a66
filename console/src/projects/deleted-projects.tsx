import { useQuery, useQueryClient } from '@tanstack/react-query';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Card } from '../parts/page.tsx';
import { Ago } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useRelata, useRights } from '../state/session.tsx';

/** Those that can be brought back; nothing when there are none. */
export function DeletedProjects() {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const { canChangeGroup } = useRights();
  const deleted = useQuery({
    queryKey: ['deleted-projects'],
    queryFn: async ({ signal }) => (await relata.projects.list({ deleted: true, limit: 1000, signal })).items,
  });
  if (!deleted.data?.length) return null;
  const restore = async (id: number, name: string) => {
    await relata.projects.restore(id);
    await queries.invalidateQueries();
    tell.good(t('{name} is restored', { name }));
  };
  return (
    <Card title={t('Recently deleted')} isBare>
      <div className="table-box">
        <table className="table">
          <tbody>
            {deleted.data.map(({ id, name, deletedAt, projectGroupId }) => (
              <tr key={id}>
                <td>{name}</td>
                <td className="soft">
                  {rich('deleted {when}, kept for 30 days', { when: <Ago at={deletedAt} /> })}
                </td>
                <td className="actions">
                  {canChangeGroup(projectGroupId) && (
                    <Button onClick={() => void restore(id, name).catch(tell.bad)}>{t('Restore')}</Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
