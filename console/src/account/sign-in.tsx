import { RelataError } from '@relata/client';
import { type ReactNode, useEffect, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import mark from '../mark.svg';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { useSubmit } from '../state/act.ts';
import { tell } from '../state/done.ts';
import { listLanguages, useLanguageChoice } from '../state/language.ts';
import { useAsked } from '../state/project.ts';
import { askDevice, useRelata, useSession } from '../state/session.tsx';

/** By e-mail and password, or, on a fresh installation and for a quick look, with an API key. */
export function SignIn() {
  const session = useSession();
  const [isByKey, setByKey] = useState(false);
  const { onSubmit, error, setError, isBusy } = useSubmit(async ({ key = '', email = '', password = '' }) => {
    const entering = isByKey
      ? session.useKey(key.trim())
      : session.accept((relata) => relata.session.signIn(email, password, askDevice));
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

/** The page before one is in. */
export function Door({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="door">
      <div className="door-box">
        <h1 className="brand">
          <img src={mark} alt="" />
          {title}
        </h1>
        {children}
        <LanguageField />
      </div>
    </main>
  );
}

/**
 * The query with which the browser came back from the company's provider, taken out of the address at once: what it holds
 * is good once, and need not stay in the history.
 */
let returned = takeReturned();

function takeReturned(): string | undefined {
  const query = new URLSearchParams(location.search);
  if (!query.has('state') || !(query.has('code') || query.has('error'))) return undefined;
  history.replaceState(history.state, '', location.pathname + location.hash);
  return query.toString();
}

interface Shape {
  onError(error: unknown): void;
}

/** Signs in with the company's account, where there is one. */
function CompanyAccount({ onError }: Shape) {
  const relata = useRelata();
  const { accept } = useSession();
  const [isBusy, setBusy] = useState(returned !== undefined);
  const ways = useAsked(['ways'], ({ signal }) => relata.session.findWays({ signal }));
  const fail = (error: unknown) => {
    onError(error);
    setBusy(false);
  };
  useEffect(() => {
    const query = returned;
    returned = undefined;
    if (query !== undefined) accept((client) => client.session.finishCompanyAccount(query)).catch(fail);
  });
  const name = ways.data?.companyAccount?.name;
  if (name === undefined) return null;
  const start = () => {
    setBusy(true);
    onError(undefined);
    relata.session.startCompanyAccount().then((url) => location.assign(url), fail);
  };
  return (
    <Button look="primary" busy={isBusy} onClick={start}>
      {t('Sign in with {name}', { name })}
    </Button>
  );
}

/** Over the page whose session has ended while something on it was not saved: nothing of it is lost. */
export function SignInAgain() {
  const { who, relata, isOver, goOn, leave } = useSession();
  const email = who?.kind === 'user' ? who.session.user.email : '';
  const { onSubmit, error, isBusy } = useSubmit(({ password = '' }) =>
    goOn(relata.session.signIn(email, password, askDevice)),
  );
  // A user who signed in in another tab goes on here.
  useEffect(() => {
    if (!isOver) return;
    // No session is the usual answer here, and the dialog that is open says so already.
    const look = () => void goOn(relata.session.get()).catch(() => undefined);
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, [isOver, goOn, relata]);
  if (who?.kind !== 'user') return null;
  const { user } = who.session;
  const stay = () => undefined;
  return (
    <Dialog title={t('Sign in again')} isOpen={isOver} onClose={stay} isFirm>
      <p>
        {t(
          'Your session has ended. What you have changed on this page is kept, and can be saved when you are back.',
        )}
      </p>
      <form className="stack" onSubmit={onSubmit}>
        {user.signsInWith === 'password' ? (
          <>
            <TextField label={t('E-mail')} type="email" value={user.email} readOnly autoComplete="username" />
            <TextField
              label={t('Password')}
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          </>
        ) : (
          <p>
            {rich('<link>Sign in in another tab</link> as {email}, then come back.', {
              link: (words) => (
                <a href="/console/" target="_blank" rel="noopener">
                  {words}
                </a>
              ),
              email: user.email,
            })}
          </p>
        )}
        <ErrorNote error={error} />
        <div className="dialog-foot">
          <Button onClick={leave}>{t('Leave without saving')}</Button>
          {user.signsInWith === 'password' && (
            <Button type="submit" look="primary" busy={isBusy}>
              {t('Sign in')}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** The language of the console, which this browser keeps. */
function LanguageField() {
  const [choice, choose] = useLanguageChoice();
  return (
    <SelectField
      label={t('Language')}
      isQuiet
      choices={listLanguages()}
      value={choice}
      onChange={(value) => void choose(value).catch(tell.bad)}
    />
  );
}
