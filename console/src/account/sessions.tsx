import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { Ago } from '../parts/show.tsx';
import { Table } from '../parts/table.tsx';
import { describeBrowser } from '../rules/format.ts';
import { afterwards, tell } from '../state/done.ts';
import { useAsked } from '../state/project.ts';
import { useRelata, useSession } from '../state/session.tsx';

/** Where one is signed in, and how to end that. */
export function Sessions() {
  const { signOut } = useSession();
  const relata = useRelata();
  const sessions = useAsked(['sessions'], ({ signal }) => relata.session.list({ signal }));
  const end = (ending: Promise<unknown>) => afterwards(ending, 'sessions');
  const actions = (
    <>
      {sessions.data && sessions.data.items.length > 1 && (
        <Button onClick={() => end(relata.session.endOthers())}>{t('End all other sessions')}</Button>
      )}
      <Button look="danger" onClick={() => void signOut(true).catch(tell.bad)}>
        {t('Sign out everywhere')}
      </Button>
    </>
  );
  return (
    <Card title={t('Sessions')} isBare actions={actions}>
      <Answer of={sessions}>
        {({ items }) => (
          <Table
            rows={items}
            keyOf={(one) => one.id}
            columns={[
              [
                t('Browser'),
                (one) => (
                  <>
                    <span title={one.userAgent ?? undefined}>{describeBrowser(one.userAgent)}</span>
                    <div className="soft small">{one.address ?? t('unknown address')}</div>
                  </>
                ),
              ],
              [t('Signed in'), (one) => <Ago at={one.createdAt} />],
              [t('Last used'), (one) => (one.isCurrent ? t('this session') : <Ago at={one.usedAt} />)],
              [
                <span className="hidden">{t('End')}</span>,
                (one) =>
                  !one.isCurrent && (
                    <Button
                      look="quiet"
                      aria-label={t('End the session of {browser}', {
                        browser: describeBrowser(one.userAgent),
                      })}
                      onClick={() => end(relata.session.end(one.id))}
                    >
                      {t('End')}
                    </Button>
                  ),
                'actions',
              ],
            ]}
          />
        )}
      </Answer>
    </Card>
  );
}
