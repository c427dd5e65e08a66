import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { DialogButton } from '../parts/dialog.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { Ago, Removable } from '../parts/show.tsx';
import { makePasskey } from '../state/authenticator.ts';
import { afterwards, reread } from '../state/done.ts';
import { useAsked } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';

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
