import type { NewInvitation, PartRole, Role, User } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { type Choice, OwnNameField, SelectField, TextField } from '../parts/forms/field.tsx';
import { Answer, Card, DialogButton, ErrorNote, FormDialog, Page } from '../parts/page.tsx';
import { useScopeName } from '../parts/secrets.tsx';
import { Ago, Code, Removable, Table } from '../parts/show.tsx';
import { describeBrowser } from '../rules/format.ts';
import { nameRole } from '../rules/roles.ts';
import { useAnswer, useGroups, useProjects } from '../state/answers.ts';
import { makePasskey } from '../state/authenticator.ts';
import { useSubmit } from '../state/forms.ts';
import { afterwards, tell } from '../state/notices.ts';
import { reread, rereading } from '../state/queries.ts';
import { useRights } from '../state/rights.ts';
import { useRelata, useSession } from '../state/session.tsx';
import { NEW_PASSWORD, PRESENT_PASSWORD } from './sign-in.tsx';

const listRoles = (): readonly Choice[] => [
  ['none', t('none: only parts of the account')],
  ['viewer', t('viewer: read-only')],
  ['editor', t('editor: changes everything except users and account keys')],
  ['owner', t('owner: everything')],
];

/** The user's password and sessions. An owner also sees who else may sign in. */
export function Account() {
  const { caller: signedIn } = useSession();
  const { canManageUsers } = useRights();
  if (signedIn?.kind !== 'user') return null;
  const { user, account } = signedIn.session;
  return (
    <Page
      title={t('Account')}
      about={t('{name} ({email}), {role} of {account}', {
        name: user.name,
        email: user.email,
        role: user.role === 'none' ? t('in parts') : nameRole(user.role),
        account: account.name,
      })}
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
  const users = useAnswer(['users'], ({ signal }) => relata.users.list({ signal }));
  const [removed, setRemoved] = useState<User>();
  const [changed, setChanged] = useState<User>();
  return (
    <Card title={t('Users')} isBare>
      <Answer of={users}>
        {({ items }) => <UserTable users={items} self={self} onRemove={setRemoved} onRoles={setChanged} />}
      </Answer>
      <FormDialog
        title={t('Remove {name}', { name: removed?.name ?? '' })}
        action={t('Remove the user')}
        isDanger
        isOpen={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        onSubmit={async () => removed && rereading(relata.users.delete(removed.id), 'users')}
      >
        <p>{t('The user is signed out everywhere immediately. Everything that the user created stays.')}</p>
      </FormDialog>
      <RolesDialog user={changed} onChange={setChanged} />
    </Card>
  );
}

interface UserTableShape {
  users: readonly User[];
  self: number;
  onRemove(user: User): void;
  onRoles(user: User): void;
}

function UserTable({ users, self, onRemove, onRoles }: UserTableShape) {
  const relata = useRelata();
  // A user without any role cannot be saved, so the user first chooses parts of the account.
  const setRole = (user: User, role: string) =>
    role === 'none' && user.roles.length === 0
      ? onRoles({ ...user, role })
      : afterwards(relata.users.change(user.id, { role: role as Role }), 'users');
  return (
    <Table
      rows={users}
      keyOf={(user) => user.id}
      columns={[
        [t('User'), (user) => <UserCell user={user} />],
        [
          t('Role'),
          (user) => (
            <SelectField
              label={t('Role of {name}', { name: user.name })}
              isQuiet
              choices={listRoles()}
              value={user.role}
              disabled={user.id === self || user.signsInWith === 'company-account'}
              onChange={(value) => setRole(user, value)}
            />
          ),
        ],
        [
          <span className="hidden">{t('Remove')}</span>,
          (user) => (
            <UserActions
              user={user}
              isSelf={user.id === self}
              onRoles={() => onRoles(user)}
              onPasskeys={() => afterwards(relata.users.removePasskeys(user.id), 'users')}
              onRemove={() => onRemove(user)}
            />
          ),
          'actions',
        ],
      ]}
    />
  );
}

function UserCell({ user: { name, email, signsInWith, roles } }: { user: User }) {
  const nameOf = useScopeName();
  return (
    <>
      {name}
      <div className="soft small">
        {email}
        {signsInWith === 'company-account' && t(', company account')}
      </div>
      {roles.map(({ scope, role }) => (
        <div key={`${scope.type} ${scope.id}`} className="soft small">
          {t('{role} in {scope}', { role: nameRole(role), scope: nameOf(scope) })}
        </div>
      ))}
    </>
  );
}

interface RolesDialogShape {
  /** The user with the roles chosen so far. Undefined while the dialog is closed. */
  user: User | undefined;
  onChange(user: User | undefined): void;
}

function RolesDialog({ user, onChange }: RolesDialogShape) {
  const relata = useRelata();
  const setRoles = ({ id, role, roles }: User) => relata.users.change(id, { role, roles });
  return (
    <FormDialog
      title={t('Roles of {name} in parts of the account', { name: user?.name ?? '' })}
      action={t('Save the roles')}
      isOpen={user !== undefined}
      onClose={() => onChange(undefined)}
      onSubmit={async () => user && rereading(setRoles(user), 'users')}
    >
      {user && <PartRoles roles={user.roles} onChange={(roles) => onChange({ ...user, roles })} />}
    </FormDialog>
  );
}

function Invitations() {
  const relata = useRelata();
  const [created, setMade] = useState<NewInvitation>();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<string>('editor');
  const [roles, setRoles] = useState<PartRole[]>([]);
  const invitations = useAnswer(['invitations'], ({ signal }) => relata.users.listInvitations({ signal }));
  const invite = async () => {
    setMade(await relata.users.invite(email, role as Role, { roles: role === 'owner' ? [] : roles }));
    setEmail('');
    setRoles([]);
    await reread('invitations');
  };
  return (
    <Card
      title={t('Invitations')}
      actions={
        <DialogButton
          icon="plus"
          words={t('Invite a user')}
          title={t('Invite a user')}
          action={t('Create the link')}
          onSubmit={invite}
          canSubmit={email.includes('@')}
        >
          <TextField label={t('E-mail')} type="email" value={email} onChange={setEmail} />
          <SelectField label={t('Role')} choices={listRoles()} value={role} onChange={setRole} />
          {role !== 'owner' && <PartRoles roles={roles} onChange={setRoles} />}
        </DialogButton>
      }
    >
      {created && invitations.data?.items.some(({ id }) => id === created.id) && (
        <MadeLink invitation={created} />
      )}
      <Answer of={invitations}>
        {({ items }) => (
          <Removable
            list={items}
            none={t('No open invitations.')}
            label={({ email: of }) => t('Withdraw the invitation of {email}', { email: of })}
            onRemove={({ id }) => afterwards(relata.users.withdrawInvitation(id), 'invitations')}
          >
            {(invitation) =>
              rich('{email} <quiet>as {role}, ends</quiet> {when}', {
                email: invitation.email,
                role: nameRole(invitation.role),
                when: <Ago instant={invitation.expiresAt} />,
                quiet: (words) => <span className="soft">{words}</span>,
              })
            }
          </Removable>
        )}
      </Answer>
    </Card>
  );
}

/** The link is shown once. A repeated answer has no link, because the service does not keep it. */
function MadeLink({ invitation }: { invitation: NewInvitation }) {
  if (invitation.link === undefined)
    return (
      <p>
        {t('The invitation was created, but its link was lost in transfer. Withdraw it and invite again.')}
      </p>
    );
  return (
    <>
      <p className="soft">
        {t('Send this link to {email}. It is shown only now.', { email: invitation.email })}
      </p>
      <Code text={invitation.link} label={t('The link of the invitation')} />
    </>
  );
}

function Password() {
  const relata = useRelata();
  const { onSubmit, error } = useSubmit(async (typed, form) => {
    await relata.session.changePassword(typed.current ?? '', typed.new ?? '');
    form.reset();
    tell.good(t('The password is changed'));
  });
  return (
    <Card title={t('Password')}>
      <form className="stack" onSubmit={onSubmit}>
        <div className="fields">
          <TextField label={t('Current password')} {...PRESENT_PASSWORD} name="current" />
          <TextField label={t('New password')} {...NEW_PASSWORD} name="new" />
        </div>
        <ErrorNote error={error} />
        <div className="row">
          <Button type="submit">{t('Change the password')}</Button>
        </div>
      </form>
    </Card>
  );
}

interface ActionsShape extends Readonly<Record<'onRoles' | 'onPasskeys' | 'onRemove', () => void>> {
  user: User;
  isSelf: boolean;
}

function UserActions({ user, isSelf, onRoles, onPasskeys, onRemove }: ActionsShape) {
  const { name, role, signsInWith, passkeys } = user;
  return (
    <>
      {role !== 'owner' && signsInWith === 'password' && (
        <IconButton icon="projects" label={t('Roles of {name} in parts', { name })} onClick={onRoles} />
      )}
      {!isSelf && passkeys > 0 && (
        <IconButton icon="key" label={t('Remove the passkeys of {name}', { name })} onClick={onPasskeys} />
      )}
      {!isSelf && <IconButton icon="cross" label={t('Remove {name}', { name })} onClick={onRemove} />}
    </>
  );
}

const nameScope = ({ type, id }: PartRole['scope']) => `${type} ${id}`;

function PartRoles({ roles, onChange }: { roles: readonly PartRole[]; onChange(roles: PartRole[]): void }) {
  const groups = useGroups();
  const projects = useProjects();
  const nameOf = useScopeName();
  const taken = new Set(roles.map(({ scope }) => nameScope(scope)));
  const open = [
    ...(groups.data ?? []).map(({ id }) => ({ type: 'project-group', id }) as const),
    ...(projects.data ?? []).map(({ id }) => ({ type: 'project', id }) as const),
  ].filter((scope) => !taken.has(nameScope(scope)));
  const add = (name: string) => {
    const scope = open.find((scope) => nameScope(scope) === name);
    if (scope) onChange([...roles, { scope, role: 'editor' }]);
  };
  return (
    <div className="stack">
      {roles.map((grant, index) => (
        <div key={nameScope(grant.scope)} className="row spread">
          <span>{nameOf(grant.scope)}</span>
          <span className="row">
            <SelectField
              label={t('Role in {scope}', { scope: nameOf(grant.scope) })}
              isQuiet
              choices={[
                ['viewer', t('viewer')],
                ['editor', t('editor')],
              ]}
              value={grant.role}
              onChange={(role) => onChange(roles.with(index, { ...grant, role }))}
            />
            <IconButton
              icon="cross"
              label={t('Remove the role in {scope}', { scope: nameOf(grant.scope) })}
              onClick={() => onChange(roles.toSpliced(index, 1))}
            />
          </span>
        </div>
      ))}
      <SelectField
        label={t('Add a project group or project')}
        hint={t('A role there applies if it is higher than the role for the whole account.')}
        choices={[['', t('Choose …')], ...open.map((scope): Choice => [nameScope(scope), nameOf(scope)])]}
        value=""
        onChange={add}
      />
    </div>
  );
}

/** The sessions of the user, and how to end them. */
export function Sessions() {
  const { signOut } = useSession();
  const relata = useRelata();
  const sessions = useAnswer(['sessions'], ({ signal }) => relata.session.list({ signal }));
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
            keyOf={(session) => session.id}
            columns={[
              [
                t('Browser'),
                (session) => (
                  <>
                    <span title={session.userAgent ?? undefined}>{describeBrowser(session.userAgent)}</span>
                    <div className="soft small">{session.address ?? t('unknown address')}</div>
                  </>
                ),
              ],
              [t('Signed in'), (session) => <Ago instant={session.createdAt} />],
              [
                t('Last used'),
                (session) => (session.isCurrent ? t('this session') : <Ago instant={session.usedAt} />),
              ],
              [
                <span className="hidden">{t('End')}</span>,
                (session) =>
                  !session.isCurrent && (
                    <Button
                      look="quiet"
                      aria-label={t('End the session of {browser}', {
                        browser: describeBrowser(session.userAgent),
                      })}
                      onClick={() => end(relata.session.end(session.id))}
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

/** The second factor of the user's sign-in. */
export function Passkeys() {
  const relata = useRelata();
  const [name, setName] = useState('');
  const passkeys = useAnswer(['passkeys'], ({ signal }) => relata.session.listPasskeys({ signal }));
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
          action={t('Create the passkey')}
          onSubmit={add}
          canSubmit={name.trim() !== ''}
        >
          <OwnNameField
            label={t('Name of the passkey')}
            value={name}
            placeholder={t('Laptop')}
            hint={t(
              'You need it after your password. Add a second one on another device, in case you lose it.',
            )}
            onChange={setName}
          />
        </DialogButton>
      }
    >
      <Answer of={passkeys}>
        {({ items }) => (
          <Removable
            list={items}
            none={t('None. With a passkey, a password alone is not enough to sign in as you.')}
            label={(passkey) => t('Remove the passkey {name}', { name: passkey.name })}
            onRemove={({ id }) => afterwards(relata.session.removePasskey(id), 'passkeys')}
          >
            {(passkey) => (
              <>
                {passkey.name}{' '}
                <span className="soft">
                  {rich('for {host}, {used}', {
                    host: passkey.host,
                    used: passkey.usedAt === null ? t('never used') : <Ago instant={passkey.usedAt} />,
                  })}
                </span>
              </>
            )}
          </Removable>
        )}
      </Answer>
    </Card>
  );
}
