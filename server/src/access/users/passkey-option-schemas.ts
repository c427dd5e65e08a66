/** The options that the service makes for Web Authentication in the browser. Source: docs/interface §5.8. */
import { Type } from 'typebox';
import { titled } from '../../http/answers/answers.ts';
import { ALGORITHMS, type PasskeyChallenge } from './passkeys.ts';

const Descriptors = Type.Array(
  Type.Object({ id: Type.String(), type: Type.Literal('public-key'), transports: Type.Array(Type.String()) }),
);
const Challenge = Type.String({ description: 'works once, within 5 minutes' });
const Timeout = Type.Integer({ description: 'milliseconds' });
const TIMEOUT_MS = 120_000;

/** The `PublicKeyCredentialRequestOptionsJSON` of Web Authentication. */
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
  {
    title: 'PasskeyWanted',
    description: 'the password was correct, and the sign-in continues with a passkey',
  },
);

/** The `PublicKeyCredentialCreationOptionsJSON` of Web Authentication. */
export const PasskeyOptions = titled('PasskeyOptions', {
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
});

const toDescriptors = ({ passkeys }: PasskeyChallenge) =>
  passkeys.map(({ credentialId: id, transports }) => ({ id, type: 'public-key' as const, transports }));

export const toPasskeyRequired = (begun: PasskeyChallenge) => ({
  passkey: {
    challenge: begun.challenge,
    rpId: begun.host,
    timeout: TIMEOUT_MS,
    userVerification: 'discouraged' as const,
    allowCredentials: toDescriptors(begun),
  },
});

export const toPasskeyOptions = (begun: PasskeyChallenge, { id, name }: { id: number; name: string }) => ({
  challenge: begun.challenge,
  rp: { id: begun.host, name: 'Relata' },
  user: { id: Buffer.from(`user ${id}`).toString('base64url'), name, displayName: name },
  pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
  timeout: TIMEOUT_MS,
  attestation: 'none' as const,
  authenticatorSelection: { residentKey: 'discouraged' as const, userVerification: 'discouraged' as const },
  excludeCredentials: toDescriptors(begun),
});
