import { RelataError } from '@relata/client';
import { useEffect, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { useSubmit } from '../state/act.ts';
import { useSession } from '../state/session.tsx';
import { CompanyAccount } from './company-account.tsx';
import { Door } from './door.tsx';

/** By e-mail and password, or, on a fresh installation and for a quick look, with an API key. */
export function SignIn() {
  const session = useSession();
  const [isByKey, setByKey] = useState(false);
  const { onSubmit, error, setError, isBusy } = useSubmit(async ({ key = '', email = '', password = '' }) => {
    const entering = isByKey ? session.useKey(key.trim()) : session.signIn(email, password);
    await entering.catch((reason: unknown) => {
      throw inWords(reason, isByKey);
    });
  });
  const title = t('Sign in');
  useEffect(() => {
    document.title = `${title} · Relata`;
  }, [title]);
  return (
    <Door title={t('Sign in to Relata')}>
      <CompanyAccount onError={setError} />
      <Card>
        <form className="stack" onSubmit={onSubmit}>
          {isByKey ? (
            <TextField
              key="key"
              label={t('API key')}
              name="key"
              type="password"
              required
              autoFocus
              hint={t('It needs the access “manage”. It is kept only in this tab, until you reload.')}
            />
          ) : (
            <>
              <TextField
                label={t('E-mail')}
                name="email"
                type="email"
                autoComplete="username"
                required
                autoFocus
              />
              <TextField
                label={t('Password')}
                name="password"
                type="password"
                autoComplete="current-password"
                required
              />
            </>
          )}
          <ErrorNote error={error} />
          <Button type="submit" look="primary" busy={isBusy}>
            {t('Sign in')}
          </Button>
        </form>
      </Card>
      <Button
        look="quiet"
        onClick={() => {
          setByKey(!isByKey);
          setError(undefined);
        }}
      >
        {isByKey ? t('Sign in with e-mail and password') : t('Sign in with an API key')}
      </Button>
      <p className="soft small">
        {rich(
          'No users yet? The service logs an owner link at its start; <code>relata owner-link</code> creates another.',
        )}
      </p>
    </Door>
  );
}

/** The service says the same to every refused key; here it can be said what it is about. */
function inWords(error: unknown, isByKey: boolean): unknown {
  if (!(error instanceof RelataError) || error.status !== 401 || !isByKey) return error;
  return new Error(t('This key is unknown or has expired, or its access is not “manage”.'));
}
