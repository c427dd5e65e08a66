import { isIP } from 'node:net';
import { ServiceError } from '../../kernel/errors.ts';
import type { Passkey } from './passkey-store.ts';

/** What a browser sends of a passkey that it made. */
export interface SentPasskey {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
  readonly transports?: readonly string[];
}

/** What a browser sends of a passkey that it used. */
export interface SentSignature {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

/** ES256, EdDSA and RS256, by which every authenticator signs one. Source: IANA COSE Algorithms. */
export const ALGORITHMS = [-7, -8, -257];

/** @returns the host that browsers bind passkeys to. @throws request_invalid for an IP address, which they refuse */
export function hostOf(origin: string): string {
  const { hostname } = new URL(origin);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) return hostname;
  throw new ServiceError('request_invalid', {
    details: ['browsers take passkeys from a host name alone: use the console at a name, such as localhost'],
  });
}

/** @returns what names the attempt, not checked yet. @throws passkey_refused */
export function readChallenge(clientDataJSON: string): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    if (typeof challenge === 'string') return challenge;
  } catch {
    // As below.
  }
  throw new ServiceError('passkey_refused');
}

interface Expected {
  readonly challenge: string;
  readonly origin: string;
}

const common = ({ challenge, origin }: Expected) => ({
  ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: hostOf(origin) },
  // The password has shown who it is; the passkey shows that its owner is there.
  requireUserVerification: false,
});

/** @throws passkey_refused */
export async function checkNewPasskey(
  { id, clientDataJSON, attestationObject, transports = [] }: SentPasskey,
  expected: Expected,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports'>> {
  return refuseUnfit(async () => {
    // Loaded by the first passkey: 24 packages that hardly anybody's start needs.
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
    const statement = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get('attStmt');
    // Nobody asked for certificates, and to check theirs the package would fetch what they name.
    if (statement.get('x5c') !== undefined || statement.get('ver') !== undefined)
      throw new Error('certified');
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      ...common(expected),
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, attestationObject },
      },
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw new Error('not verified');
    const { credential } = registrationInfo;
    const publicKey = Buffer.from(credential.publicKey).toString('base64url');
    return { credentialId: credential.id, publicKey, counter: credential.counter, transports };
  });
}

/** @returns the new count of signatures. @throws passkey_refused, also for one that is not higher */
export async function checkSignature(
  { id, clientDataJSON, authenticatorData, signature }: SentSignature,
  expected: Expected,
  { publicKey, counter }: Passkey,
): Promise<number> {
  return refuseUnfit(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...common(expected),
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, authenticatorData, signature },
      },
      credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter },
    });
    if (!verified) throw new Error('the signature is wrong');
    return authenticationInfo.newCounter;
  });
}

/** Whatever was sent, the package throws at it: all of it is a refusal. */
async function refuseUnfit<Result>(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('passkey_refused', { cause: error });
  }
}
