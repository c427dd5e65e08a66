import type { Relata, SignedIn } from '@relata/client';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { Button, LinkButton } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { linkTo, replaceWith } from '../state/route.ts';
import { useSession } from '../state/session.tsx';
import { Door } from './door.tsx';

/** As the service asks. Source: docs/interface.md §5.6 rule 4. */
const PASSWORD_LENGTH = 12;

type Given = Readonly<Record<'email' | 'name' | 'password', string>>;

/** The first owner's link. */
export function Welcome({ token }: { token: string }) {
  return (
    <EnterForm
      title="Welcome to Relata"
      action="Create the owner"
      hasEmail
      about="You are the first user. The owner manages everything, including other users."
      enter={(relata, given) => relata.session.createOwner({ token, ...given })}
    />
  );
}

/** The link of an invitation. */
export function Invitation({ token }: { token: string }) {
  return (
    <EnterForm
      title="Join Relata"
      action="Accept the invitation"
      about="Choose the name that others see, and a password."
      enter={(relata, { name, password }) => relata.session.acceptInvitation({ token, name, password })}
    />
  );
}

interface Shape {
  title: string;
  action: string;
  about: ReactNode;
  hasEmail?: boolean;
  enter(relata: Relata, given: Given): Promise<SignedIn>;
}

function EnterForm({ title, action, about, hasEmail, enter }: Shape) {
  const { accept } = useSession();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${title} · Relata`;
  }, [title]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget)) as Given;
    setBusy(true);
    setError(undefined);
    await accept((relata) => enter(relata, given)).then(
      // The token is spent and need not stay in the history.
      () => replaceWith(linkTo()),
      setError,
    );
    setBusy(false);
  };
  return (
    <Door title={title}>
      <Card>
        <p className="soft">{about}</p>
        <form className="stack" onSubmit={(event) => void submit(event)}>
          {hasEmail && (
            <TextField label="E-mail" name="email" type="email" autoComplete="username" required />
          )}
          <TextField label="Name" name="name" autoComplete="name" required maxLength={255} />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            required
            minLength={PASSWORD_LENGTH}
            hint={`At least ${PASSWORD_LENGTH} characters`}
          />
          <ErrorNote error={error} />
          <Button type="submit" look="primary" busy={isBusy}>
            {action}
          </Button>
        </form>
      </Card>
      <LinkButton look="quiet" href={linkTo()}>
        Go to sign-in
      </LinkButton>
    </Door>
  );
}
