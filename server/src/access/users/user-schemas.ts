import { Type } from 'typebox';
import { Id, Instant, Name, orNull, pageOf } from '../../http/answers/answers.ts';
import { type Account, WirePartScope } from '../../projects/projects.ts';
import { ALGORITHMS, type PasskeyChallenge } from './passkeys.ts';
import type { ConsoleSession, Passkey } from './sign-in-store.ts';
import type { User } from './user.ts';
import type { Invitation } from './user-store.ts';

/** Mail servers take 254 characters; only a mail shows whether an address is good. */
const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s\\u0000-\\u001f@]+@[^\\s\\u0000-\\u001f@]+$',
  description: 'upper and lower case are alike',
});
const Token = Type.String({ minLength: 1, maxLength: 255, description: 'the last part of the link' });
const RoleWord = Type.Union(
  [Type.Literal('owner'), Type.Literal('editor'), Type.Literal('viewer'), Type.Literal('none')],
  {
    description:
      'owner: everything; editor: everything but users and keys of the account; viewer: looks at everything; none: nothing outside of `roles`',
  },
);
/** More would be a group of their own; each request of the user reads them. */
const PART_ROLES = 100;
const WirePartRole = Type.Object(
  { scope: WirePartScope, role: Type.Union([Type.Literal('editor'), Type.Literal('viewer')]) },
  { additionalProperties: false },
);
const description = 'what the user may do in project groups and projects, whatever `role` is';
const PartRoles = Type.Array(WirePartRole, { description });
const NewPartRoles = Type.Array(WirePartRole, { maxItems: PART_ROLES, description });
/** An upper limit, so that no caller can make the service hash megabytes. */
const KnownPassword = Type.String({ minLength: 1, maxLength: 256 });
/** Source: docs/interface.md §5.6 rule 4. */
const NewPassword = Type.String({ minLength: 12, maxLength: 256 });
const closed = { additionalProperties: false } as const;

export const Credentials = Type.Object(
  { email: Type.String({ maxLength: 1000, pattern: '^[^\\u0000]*$' }), password: KnownPassword },
  closed,
);
export const PasswordChange = Type.Object({ current: KnownPassword, new: NewPassword }, closed);
export const NewOwner = Type.Object(
  { token: Token, email: Email, name: Name, password: NewPassword },
  closed,
);
export const InvitationAcceptance = Type.Object({ token: Token, name: Name, password: NewPassword }, closed);
export const LinkToken = Type.Object({ token: Token }, closed);
export const FoundLink = Type.Object({
  type: Type.Union([Type.Literal('owner'), Type.Literal('invitation')]),
  role: RoleWord,
  expiresAt: Instant,
  email: Type.Optional(Type.String({ description: 'of an invitation' })),
});
export const NewInvitation = Type.Object(
  { email: Email, role: RoleWord, roles: Type.Optional(NewPartRoles) },
  closed,
);
export const UserChange = Type.Partial(
  Type.Object({ name: Name, role: RoleWord, roles: NewPartRoles }),
  closed,
);
export const UserParams = Type.Object({ id: Id });
export const SignOutQuery = Type.Object({
  others: Type.Optional(Type.Boolean({ description: 'true: this session goes on' })),
});

const SignsInWith = Type.Union([Type.Literal('password'), Type.Literal('company-account')]);

/** Long enough for what any provider sends back. */
export const CompanyReturn = Type.Object(
  {
    query: Type.String({
      maxLength: 8_192,
      description: 'with which the browser came back to /console/, without the question mark',
    }),
  },
  closed,
);

export const SignInWays = Type.Object(
  {
    companyAccount: orNull(
      Type.Object({ name: Type.String() }),
      'the provider of the company; null: people sign in with passwords alone',
    ),
  },
  { title: 'SignInWays' },
);

export const CompanySignInStart = Type.Object({
  url: Type.String({ description: 'where the browser goes' }),
});

export const SignedOut = Type.Object({
  status: Type.Literal('success'),
  providerSignOutUrl: Type.Optional(
    Type.String({ description: 'where a user with a company account signs out there too' }),
  ),
});

/** Source: docs/interface.md §5.6 rule 3. */
export const SignedIn = Type.Object(
  {
    user: Type.Object({
      id: Type.Integer(),
      email: Type.String(),
      name: Type.String(),
      role: RoleWord,
      roles: PartRoles,
      signsInWith: SignsInWith,
    }),
    account: Type.Object({ id: Type.Integer(), name: Type.String() }),
    csrfToken: Type.String({ description: 'for the header `X-CSRF-Token`' }),
  },
  { title: 'SignedIn' },
);

const WireSession = Type.Object(
  {
    id: Type.Integer(),
    isCurrent: Type.Boolean({ description: 'the session of this request' }),
    createdAt: Instant,
    usedAt: Type.Integer({ description: 'epoch milliseconds, to the minute' }),
    expiresAt: Instant,
    address: orNull(Type.String(), 'the network address that signed in; null: not known'),
    userAgent: orNull(Type.String(), 'how the browser names itself, at most 255 characters; null: not known'),
  },
  { title: 'ConsoleSession' },
);

export const SessionPage = pageOf(WireSession);

export const WireUser = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String(),
    role: RoleWord,
    roles: PartRoles,
    createdAt: Instant,
    signedInAt: orNull(Instant, 'the last time'),
    signsInWith: SignsInWith,
    passkeys: Type.Integer({ description: 'how many' }),
  },
  { title: 'User' },
);

const wireInvitationFields = {
  id: Type.Integer(),
  email: Type.String(),
  role: RoleWord,
  roles: PartRoles,
  createdAt: Instant,
  createdBy: Type.Object({
    type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
    id: orNull(Type.Integer()),
    name: Type.String(),
  }),
  expiresAt: Instant,
};

export const WireInvitation = Type.Object(wireInvitationFields, { title: 'Invitation' });

export const WireMadeInvitation = Type.Object(
  {
    ...wireInvitationFields,
    link: Type.Optional(
      Type.String({
        description: 'to be passed on: shown once, so a repetition by Idempotency-Key has none',
      }),
    ),
  },
  { title: 'NewInvitation' },
);

export function toSignedIn({ user, account }: { user: User; account: Account }, csrfToken: string) {
  const { id, email, name, role, roles, signsInWith } = user;
  return {
    user: { id, email, name, role, roles: [...roles], signsInWith },
    account: { id: account.id, name: account.name },
    csrfToken,
  };
}

export function toWireSession(session: ConsoleSession, currentId: number) {
  const { id, createdAt, usedAt, expiresAt, address, userAgent } = session;
  return { id, isCurrent: id === currentId, createdAt, usedAt, expiresAt, address, userAgent };
}

export function toWireUser({ id, email, name, role, roles, ...user }: User) {
  const { createdAt, signedInAt, signsInWith, passkeys } = user;
  return { id, email, name, role, roles: [...roles], createdAt, signedInAt, signsInWith, passkeys };
}

export function toWireInvitation({ id, email, role, roles, createdAt, createdBy, expiresAt }: Invitation) {
  return { id, email, role, roles: [...roles], createdAt, createdBy, expiresAt };
}

/** Web Authentication, Level 3, §5.1: at most 1,023 bytes. */
const CredentialId = Type.String({ minLength: 1, maxLength: 1_364, pattern: '^[\\w-]+$' });
const bytes = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\w-]+$', description: 'base64url' });
const Transports = Type.Array(Type.String({ minLength: 1, maxLength: 32 }), { maxItems: 10 });
const Descriptors = Type.Array(
  Type.Object({ id: Type.String(), type: Type.Literal('public-key'), transports: Type.Array(Type.String()) }),
);
const Challenge = Type.String({ description: 'good once, for 5 minutes' });
const Timeout = Type.Integer({ description: 'milliseconds' });
const TIMEOUT_MS = 120_000;

/** As `PublicKeyCredentialRequestOptionsJSON` of Web Authentication. */
export const PasskeyRequired = Type.Object(
  {
    passkey: Type.Object({
      challenge: Challenge,
      rpId: Type.String(),
      timeout: Timeout,
      userVerification: Type.Literal('discouraged'),
      allowCredentials: Descriptors,
    }),
  },
  { title: 'PasskeyWanted', description: 'the password was right, and a passkey is asked for as well' },
);

/** As `PublicKeyCredentialCreationOptionsJSON` of Web Authentication. */
export const PasskeyOptions = Type.Object(
  {
    challenge: Challenge,
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    timeout: Timeout,
    attestation: Type.Literal('none'),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('discouraged'),
      userVerification: Type.Literal('discouraged'),
    }),
    excludeCredentials: Descriptors,
  },
  { title: 'PasskeyOptions' },
);

export const NewPasskey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' }),
    id: CredentialId,
    clientDataJSON: bytes(4_096),
    attestationObject: bytes(16_384),
    transports: Type.Optional(Transports),
  },
  closed,
);

export const PasskeySignature = Type.Object(
  {
    id: CredentialId,
    clientDataJSON: bytes(4_096),
    authenticatorData: bytes(4_096),
    signature: bytes(2_048),
  },
  closed,
);

export const WirePasskey = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    host: Type.String({ description: 'where it was added; browsers use it nowhere else' }),
    createdAt: Instant,
    usedAt: orNull(Instant, 'the last sign-in with it'),
  },
  { title: 'Passkey' },
);
export const PasskeyList = Type.Object({ items: Type.Array(WirePasskey) });

export const toWirePasskey = ({ id, name, host, createdAt, usedAt }: Passkey) => ({
  ...{ id, name, host, createdAt, usedAt },
});

const describe = ({ passkeys }: PasskeyChallenge) =>
  passkeys.map(({ credentialId: id, transports }) => ({
    ...{ id, type: 'public-key' as const, transports: [...transports] },
  }));

export const toPasskeyRequired = (begun: PasskeyChallenge) => ({
  passkey: {
    ...{ challenge: begun.challenge, rpId: begun.host, timeout: TIMEOUT_MS },
    ...{ userVerification: 'discouraged' as const, allowCredentials: describe(begun) },
  },
});

export const toOptions = (begun: PasskeyChallenge, { id, name }: { id: number; name: string }) => ({
  challenge: begun.challenge,
  rp: { id: begun.host, name: 'Relata' },
  user: { id: Buffer.from(`user ${id}`).toString('base64url'), name, displayName: name },
  pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
  timeout: TIMEOUT_MS,
  attestation: 'none' as const,
  authenticatorSelection: { residentKey: 'discouraged' as const, userVerification: 'discouraged' as const },
  excludeCredentials: describe(begun),
});
