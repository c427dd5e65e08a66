import { Type } from 'typebox';
import { ALGORITHMS } from './passkey-check.ts';
import type { Passkey } from './passkey-store.ts';
import type { PasskeyWish } from './passkey-wish.ts';

const closed = { additionalProperties: false } as const;
const Instant = Type.Integer({ description: 'epoch milliseconds' });
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
export const PasskeyWanted = Type.Object(
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
    usedAt: Type.Union([Instant, Type.Null()], { description: 'the last sign-in with it' }),
  },
  { title: 'Passkey' },
);
export const PasskeyList = Type.Object({ items: Type.Array(WirePasskey) });

export const toWirePasskey = ({ id, name, host, createdAt, usedAt }: Passkey) => ({
  ...{ id, name, host, createdAt, usedAt },
});

const describe = ({ passkeys }: PasskeyWish) =>
  passkeys.map(({ credentialId: id, transports }) => ({
    ...{ id, type: 'public-key' as const, transports: [...transports] },
  }));

export const toWanted = (wish: PasskeyWish) => ({
  passkey: {
    ...{ challenge: wish.challenge, rpId: wish.host, timeout: TIMEOUT_MS },
    ...{ userVerification: 'discouraged' as const, allowCredentials: describe(wish) },
  },
});

export const toOptions = (wish: PasskeyWish, { id, name }: { id: number; name: string }) => ({
  challenge: wish.challenge,
  rp: { id: wish.host, name: 'Relata' },
  user: { id: Buffer.from(`user ${id}`).toString('base64url'), name, displayName: name },
  pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
  timeout: TIMEOUT_MS,
  attestation: 'none' as const,
  authenticatorSelection: { residentKey: 'discouraged' as const, userVerification: 'discouraged' as const },
  excludeCredentials: describe(wish),
});
