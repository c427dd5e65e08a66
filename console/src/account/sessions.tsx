import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Answer, Card, DialogButton } from '../parts/page.tsx';
import { Ago, Removable, Table } from '../parts/show.tsx';
import { describeBrowser } from '../rules/format.ts';
import { makePasskey } from '../state/authenticator.ts';
import { afterwards, reread, tell, useAsked, useRelata, useSession } from '../state/service.tsx';

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

/** The second factor of one's own sign-in. */
export function Passkeys() {
  const relata = useRelata();
  const [name, setName] = useState('');
  const passkeys = useAsked(['passkeys'], ({ signal }) => relata.session.listPasskeys({ signal }));
  const add = async () => {
    await relata.session.addPasskey(name, makePasskey);
    setName('');
    await reread('passkeys');
  };
  return (
    <Card
      title={t('Passkeys')}
      actions={
        <DialogButton
          icon="plus"
          words={t('Add a passkey')}
          title={t('Add a passkey')}
          action={t('Ask the device')}
          onSubmit={add}
          canSubmit={name.trim() !== ''}
        >
          <TextField
            label={t('Name of the passkey')}
            value={name}
            maxLength={255}
            required
            placeholder={t('Laptop')}
            hint={t(
              'It is asked for after your password. Add a second one, on another device, in case you lose it.',
            )}
            onChange={setName}
          />
        </DialogButton>
      }
    >
      <Answer of={passkeys}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">
              {t('None. With a passkey, a password alone is not enough to sign in as you.')}
            </p>
          ) : (
            <Removable
              list={items}
              label={(one) => t('Remove the passkey {name}', { name: one.name })}
              onRemove={({ id }) => afterwards(relata.session.removePasskey(id), 'passkeys')}
            >
              {(one) => (
                <>
                  {one.name}{' '}
                  <span className="soft">
                    {rich('for {host}, {used}', {
                      host: one.host,
                      used: one.usedAt === null ? t('never used') : <Ago at={one.usedAt} />,
                    })}
                  </span>
                </>
              )}
            </Removable>
          )
        }
      </Answer>
    </Card>
  );
}
