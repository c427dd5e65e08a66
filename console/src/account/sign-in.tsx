import { type Relata, RelataError, type SignedIn } from '@relata/client';
import { type ReactNode, useEffect, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import mark from '../mark.svg';
import { Button, LinkButton } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { Card, Dialog, ErrorNote, Note } from '../parts/page.tsx';
import { Code } from '../parts/show.tsx';
import { nameRole } from '../rules/roles.ts';
import { useAnswer } from '../state/answers.ts';
import { useSubmit } from '../state/forms.ts';
import { listLanguages, useLanguageChoice } from '../state/language.ts';
import { tell } from '../state/notices.ts';
import { linkTo, replaceWith } from '../state/route.ts';
import { askDevice, useRelata, useSession } from '../state/session.tsx';

/** The minimum that the service demands. Source: docs/interface §5.6 rule 4. */
const PASSWORD_LENGTH = 12;

const EMAIL = { name: 'email', type: 'email', autoComplete: 'username', required: true } as const;
const PASSWORD = { name: 'password', type: 'password', required: true } as const;
export const PRESENT_PASSWORD = { ...PASSWORD, autoComplete: 'current-password' } as const;
export const NEW_PASSWORD = {
  ...PASSWORD,
  autoComplete: 'new-password',
  minLength: PASSWORD_LENGTH,
} as const;

/** Sign-in by e-mail and password, or, on a fresh installation and for a quick look, with an API key. */
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
              hint={t('The key needs the access “manage”. It is kept only in this tab, until you reload.')}
            />
          ) : (
            <>
              <TextField label={t('E-mail')} {...EMAIL} autoFocus />
              <TextField label={t('Password')} {...PRESENT_PASSWORD} />
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

/** The service answers every refused key in the same way, so the console names the possible reasons. */
function inWords(error: unknown, isByKey: boolean): unknown {
  if (!(error instanceof RelataError) || error.status !== 401 || !isByKey) return error;
  return new Error(t('This key is unknown or has expired, or its access is not “manage”.'));
}

/** The frame of pages that are shown before sign-in. */
export const Door = ({ title, children }: { title: string; children: ReactNode }) => (
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

/**
 * The query with which the browser returned from the company's provider. It is valid only once, so it is
 * removed from the address and the history.
 */
let returned = takeReturned();

function takeReturned(): string | undefined {
  const query = new URLSearchParams(location.search);
  if (!query.has('state') || !(query.has('code') || query.has('error'))) return undefined;
  history.replaceState(history.state, '', location.pathname + location.hash);
  return query.toString();
}

/** Signs in with the company's account, if one is set up. */
function CompanyAccount({ onError }: { onError(error: unknown): void }) {
  const relata = useRelata();
  const { accept } = useSession();
  const [isBusy, setBusy] = useState(returned !== undefined);
  const ways = useAnswer(['ways'], ({ signal }) => relata.session.findWays({ signal }));
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

/** Covers the page when a session ends while the page has unsaved changes, so that no input is lost. */
export function SignInAgain() {
  const { caller: signedIn, relata, isOver, goOn, leave } = useSession();
  const email = signedIn?.kind === 'user' ? signedIn.session.user.email : '';
  const { onSubmit, error, isBusy } = useSubmit(({ password = '' }) =>
    goOn(relata.session.signIn(email, password, askDevice)),
  );
  // Continues on this page when the user has signed in in another tab.
  useEffect(() => {
    if (!isOver) return;
    // An answer without a session is expected here, and the open dialog already reports it.
    const look = () => void goOn(relata.session.get()).catch(() => undefined);
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, [isOver, goOn, relata]);
  if (signedIn?.kind !== 'user') return null;
  const { user } = signedIn.session;
  const stay = () => undefined;
  return (
    <Dialog title={t('Sign in again')} isOpen={isOver} onClose={stay} isFirm>
      <p>
        {t(
          'Your session has ended. Your changes on this page are kept, and you can save them after you sign in again.',
        )}
      </p>
      <form className="stack" onSubmit={onSubmit}>
        {user.signsInWith === 'password' ? (
          <>
            <TextField label={t('E-mail')} type="email" value={user.email} readOnly autoComplete="username" />
            <TextField label={t('Password')} {...PRESENT_PASSWORD} />
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

/** The language of the console, which this browser remembers. */
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

type LinkType = 'owner' | 'invitation';
type Given = Readonly<Record<'email' | 'name' | 'password', string>>;

/** The page that an owner link opens. */
export const Welcome = ({ token }: { token: string }) => (
  <EnterForm
    type="owner"
    token={token}
    title={t('Welcome to Relata')}
    action={t('Create the owner')}
    hasEmail
    about={t('You are the first user. The owner manages everything, including other users.')}
    enter={(relata, given) => relata.session.createOwner({ token, ...given })}
  />
);

/** The page that an invitation link opens. */
export const Invitation = ({ token }: { token: string }) => (
  <EnterForm
    type="invitation"
    token={token}
    title={t('Join Relata')}
    action={t('Accept the invitation')}
    about={t('Choose the name that others see, and a password.')}
    enter={(relata, { name, password }) => relata.session.acceptInvitation({ token, name, password })}
  />
);

interface EnterShape {
  type: LinkType;
  token: string;
  title: string;
  action: string;
  about: ReactNode;
  hasEmail?: boolean;
  enter(relata: Relata, given: Given): Promise<SignedIn>;
}

function EnterForm({ type, token, title, action, about, hasEmail, enter }: EnterShape) {
  const { accept } = useSession();
  // A link that is no longer valid shows no form.
  const link = useAnswer(
    ['link', token],
    ({ relata, signal }) => relata.session.checkLink(token, { signal }),
    { refetchOnWindowFocus: false, gcTime: 0 },
  );
  const isEnded = link.error instanceof RelataError && link.error.status === 400;
  const { onSubmit, error, isBusy } = useSubmit(async (typed) => {
    await accept((client) => enter(client, typed as Given));
    // The token is used up and does not need to stay in the history.
    replaceWith(linkTo());
  });
  useEffect(() => {
    document.title = `${title} · Relata`;
  }, [title]);
  return (
    <Door title={title}>
      <Card>
        {isEnded ? <EndedLink type={type} /> : <p className="soft">{about}</p>}
        {link.data?.email && (
          <p>
            {rich('You are invited as {email}, {role}.', {
              email: <strong>{link.data.email}</strong>,
              role: nameRole(link.data.role),
            })}
          </p>
        )}
        {!isEnded && (
          <form className="stack" onSubmit={onSubmit}>
            {hasEmail && <TextField label={t('E-mail')} {...EMAIL} />}
            <TextField label={t('Name')} name="name" autoComplete="name" required maxLength={255} />
            <TextField
              label={t('Password')}
              hint={t('At least {count} characters', { count: PASSWORD_LENGTH })}
              {...NEW_PASSWORD}
            />
            <ErrorNote error={error} />
            <Button type="submit" look="primary" busy={isBusy}>
              {action}
            </Button>
          </form>
        )}
      </Card>
      <LinkButton look="quiet" href={linkTo()}>
        {t('Go to sign-in')}
      </LinkButton>
    </Door>
  );
}

function EndedLink({ type }: { type: LinkType }) {
  if (type === 'invitation')
    return (
      <Note
        look="warn"
        title={t(
          'This invitation has ended: it was used, replaced or withdrawn, or it is older than 7 days.',
        )}
        lines={[t('Sign in if you have used it. Otherwise ask an owner to invite you again.')]}
      />
    );
  return (
    <>
      <Note
        look="warn"
        title={t('This owner link has ended: it was used, or it is older than an hour.')}
        lines={[t('An operator of the service can create another one with this command:')]}
      />
      <Code label={t('Create another owner link')} text="relata owner-link" />
      <p className="soft small">
        {rich('With Docker: <code>docker compose exec relata relata owner-link</code>')}
      </p>
    </>
  );
}
