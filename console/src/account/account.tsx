import type { NewInvitation, PartRole, Role, User } from '@relata/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Button, IconButton } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { type Choice, SelectField, TextField } from '../parts/forms/field.tsx';
import { Answer, Card, ErrorNote, Page } from '../parts/page.tsx';
import { useScopeName } from '../parts/scope.tsx';
import { Ago, Code } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useRelata, useRights, useSession } from '../state/session.tsx';
import { PartRoles } from './part-roles.tsx';
import { Passkeys } from './passkeys.tsx';
import { Sessions } from './sessions.tsx';
import { UserActions } from './user-actions.tsx';

const ROLES: readonly Choice[] = [
  ['none', 'none: only parts of the account'],
  ['viewer', 'viewer: read-only'],
  ['editor', 'editor: changes everything except users and account keys'],
  ['owner', 'owner: everything'],
];

/** One's own password and sessions, and, for an owner, who else may sign in. */
export function Account() {
  const { who } = useSession();
  const { canManageUsers } = useRights();
  if (who?.kind !== 'user') return null;
  const { user, account } = who.session;
  return (
    <Page
      title="Account"
      about={`${user.name} (${user.email}), ${user.role === 'none' ? 'in parts' : user.role} of ${account.name}`}
      isNarrow
    >
      {canManageUsers && <Users self={user.id} />}
      {canManageUsers && <Invitations />}
      {user.signsInWith === 'password' && <Password />}
      {user.signsInWith === 'password' && <Passkeys />}
      <Sessions />
    </Page>
  );
}

function Users({ self }: { self: number }) {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const users = useQuery({ queryKey: ['users'], queryFn: ({ signal }) => relata.users.list({ signal }) });
  const [removed, setRemoved] = useState<User>();
  const reread = () => queries.invalidateQueries({ queryKey: ['users'] });
  const [changed, setChanged] = useState<User>();
  const nameOf = useScopeName();
  // Nobody has no role at all: parts are chosen first.
  const setRole = (user: User, role: string) =>
    role === 'none' && user.roles.length === 0
      ? setChanged({ ...user, role })
      : void relata.users.change(user.id, { role: role as Role }).then(reread, tell.bad);
  return (
    <Card title="Users" isBare>
      <Answer of={users}>
        {({ items }) => (
          <div className="table-box">
            <table className="table">
              <thead>
                <tr>
                  <th>User</th>
                  <th>Role</th>
                  <th>
                    <span className="hidden">Remove</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((user) => (
                  <tr key={user.id}>
                    <td>
                      {user.name}
                      <div className="soft small">
                        {user.email}
                        {user.signsInWith === 'company-account' && ', company account'}
                      </div>
                      {user.roles.map(({ scope, role }) => (
                        <div key={`${scope.type} ${scope.id}`} className="soft small">
                          {role} in {nameOf(scope)}
                        </div>
                      ))}
                    </td>
                    <td>
                      <SelectField
                        label={`Role of ${user.name}`}
                        isQuiet
                        choices={ROLES}
                        value={user.role}
                        disabled={user.id === self || user.signsInWith === 'company-account'}
                        onChange={(event) => setRole(user, event.target.value)}
                      />
                    </td>
                    <UserActions
                      user={user}
                      isSelf={user.id === self}
                      onRoles={() => setChanged(user)}
                      onPasskeys={() => void relata.users.removePasskeys(user.id).then(reread, tell.bad)}
                      onRemove={() => setRemoved(user)}
                    />
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Answer>
      <FormDialog
        title={`Remove ${removed?.name ?? ''}`}
        action="Remove the user"
        isDanger
        isOpen={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        onSubmit={async () => {
          if (removed) await relata.users.delete(removed.id);
          await reread();
        }}
      >
        <p>They are signed out everywhere at once. What they created stays.</p>
      </FormDialog>
      <FormDialog
        title={`Roles of ${changed?.name ?? ''} in parts of the account`}
        action="Save the roles"
        isOpen={changed !== undefined}
        onClose={() => setChanged(undefined)}
        onSubmit={async () => {
          if (changed) await relata.users.change(changed.id, { role: changed.role, roles: changed.roles });
          await reread();
        }}
      >
        {changed && (
          <PartRoles roles={changed.roles} onChange={(roles) => setChanged({ ...changed, roles })} />
        )}
      </FormDialog>
    </Card>
  );
}

function Invitations() {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const [made, setMade] = useState<NewInvitation>();
  const [isOpen, setOpen] = useState(false);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<string>('editor');
  const [roles, setRoles] = useState<PartRole[]>([]);
  const invitations = useQuery({
    queryKey: ['invitations'],
    queryFn: ({ signal }) => relata.users.listInvitations({ signal }),
  });
  const reread = () => queries.invalidateQueries({ queryKey: ['invitations'] });
  const invite = async () => {
    setMade(await relata.users.invite(email, role as Role, { roles: role === 'owner' ? [] : roles }));
    setEmail('');
    setRoles([]);
    await reread();
  };
  return (
    <Card
      title="Invitations"
      actions={
        <Button icon="plus" onClick={() => setOpen(true)}>
          Invite somebody
        </Button>
      }
    >
      {made && invitations.data?.items.some(({ id }) => id === made.id) && <MadeLink made={made} />}
      <Answer of={invitations}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">No open invitations.</p>
          ) : (
            <ul className="stack">
              {items.map((one) => (
                <li key={one.id} className="row spread">
                  <span>
                    {one.email}{' '}
                    <span className="soft">as {one.role === 'none' ? 'user of parts' : one.role}, ends</span>{' '}
                    <Ago at={one.expiresAt} />
                  </span>
                  <IconButton
                    icon="cross"
                    label={`Withdraw the invitation of ${one.email}`}
                    onClick={() => void relata.users.withdrawInvitation(one.id).then(reread, tell.bad)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <FormDialog
        title="Invite somebody"
        action="Create the link"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={invite}
        canSubmit={email.includes('@')}
      >
        <TextField
          label="E-mail"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <SelectField
          label="Role"
          choices={ROLES}
          value={role}
          onChange={(event) => setRole(event.target.value)}
        />
        {role !== 'owner' && <PartRoles roles={roles} onChange={setRoles} />}
      </FormDialog>
    </Card>
  );
}

/** The link, this once; a repeated answer has none, because the service keeps no link. */
function MadeLink({ made }: { made: NewInvitation }) {
  if (made.link === undefined)
    return (
      <p>The invitation was created, but its link was lost in transfer. Withdraw it and invite again.</p>
    );
  return (
    <>
      <p className="soft">Send this link to {made.email}. It is shown only now.</p>
      <Code text={made.link} label="The link of the invitation" />
    </>
  );
}

function Password() {
  const relata = useRelata();
  const tell = useTell();
  const [error, setError] = useState<unknown>();
  const change = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    setError(undefined);
    await relata.session.changePassword(String(given.get('current')), String(given.get('new'))).then(() => {
      form.reset();
      tell.good('The password is changed');
    }, setError);
  };
  return (
    <Card title="Password">
      <form className="stack" onSubmit={(event) => void change(event)}>
        <div className="fields">
          <TextField
            label="Current password"
            name="current"
            type="password"
            autoComplete="current-password"
            required
          />
          <TextField
            label="New password"
            name="new"
            type="password"
            autoComplete="new-password"
            required
            minLength={12}
          />
        </div>
        <ErrorNote error={error} />
        <div className="row">
          <Button type="submit">Change the password</Button>
        </div>
      </form>
    </Card>
  );
}
