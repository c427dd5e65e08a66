import { type Relata, RelataError, type SignedIn } from '@relata/client';
import { type ReactNode, useEffect } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Card, ErrorNote, Note } from '../parts/page.tsx';
import { Code } from '../parts/show.tsx';
import { nameRole } from '../rules/roles.ts';
import { useSubmit } from '../state/act.ts';
import { useAsked } from '../state/project.ts';
import { linkTo, replaceWith } from '../state/route.ts';
import { useSession } from '../state/session.tsx';
import { Door } from './sign-in.tsx';

/** As the service asks. Source: docs/interface.md §5.6 rule 4. */
const PASSWORD_LENGTH = 12;

type LinkType = 'owner' | 'invitation';
type Given = Readonly<Record<'email' | 'name' | 'password', string>>;

/** The first owner's link. */
export function Welcome({ token }: { token: string }) {
  return (
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
}

/** The link of an invitation. */
export function Invitation({ token }: { token: string }) {
  return (
    <EnterForm
      type="invitation"
      token={token}
      title={t('Join Relata')}
      action={t('Accept the invitation')}
      about={t('Choose the name that others see, and a password.')}
      enter={(relata, { name, password }) => relata.session.acceptInvitation({ token, name, password })}
    />
  );
}

interface Shape {
  type: LinkType;
  token: string;
  title: string;
  action: string;
  about: ReactNode;
  hasEmail?: boolean;
  enter(relata: Relata, given: Given): Promise<SignedIn>;
}

function EnterForm({ type, token, title, action, about, hasEmail, enter }: Shape) {
  const { accept } = useSession();
  // No form is shown for a link that has ended.
  const link = useAsked(
    ['link', token],
    ({ relata, signal }) => relata.session.checkLink(token, { signal }),
    {
      ...{ refetchOnWindowFocus: false, gcTime: 0 },
    },
  );
  const isEnded = link.error instanceof RelataError && link.error.status === 400;
  const { onSubmit, error, isBusy } = useSubmit(async (typed) => {
    await accept((client) => enter(client, typed as Given));
    // The token is spent and need not stay in the history.
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
            {hasEmail && (
              <TextField label={t('E-mail')} name="email" type="email" autoComplete="username" required />
            )}
            <TextField label={t('Name')} name="name" autoComplete="name" required maxLength={255} />
            <TextField
              label={t('Password')}
              name="password"
              type="password"
              autoComplete="new-password"
              required
              minLength={PASSWORD_LENGTH}
              hint={t('At least {count} characters', { count: PASSWORD_LENGTH })}
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

/** What to do about a link that was used or replaced, or has expired. */
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
        lines={[t('An operator of the service makes another one with this command:')]}
      />
      <Code label={t('Make another owner link')} text="relata owner-link" />
      <p className="soft small">
        {rich('With Docker: <code>docker compose exec relata relata owner-link</code>')}
      </p>
    </>
  );
}
