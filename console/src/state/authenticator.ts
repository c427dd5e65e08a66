import type { BodyOf, PasskeyOptions, PasskeyWanted } from '@relata/client';
import { t } from '../languages/text.ts';

/** The authenticators of this machine, by Web Authentication. */

type Wanted = PasskeyWanted['passkey'];
type Signature = BodyOf<'postManagementSessionPasskey'>;
type Made = Omit<BodyOf<'postManagementSessionPasskeys'>, 'name'>;

/** @throws Error in words for people */
export async function makePasskey(options: PasskeyOptions): Promise<Made> {
  const { challenge, user, excludeCredentials, ...rest } = options;
  const publicKey = {
    ...rest,
    challenge: toBytes(challenge),
    user: { ...user, id: toBytes(user.id) },
    excludeCredentials: excludeCredentials.map(toDescriptor),
  };
  const made = await ask(() => navigator.credentials.create({ publicKey }));
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    id: made.id,
    clientDataJSON: toText(response.clientDataJSON),
    attestationObject: toText(response.attestationObject),
    transports: response.getTransports(),
  };
}

/** @throws Error in words for people */
export async function usePasskey({ challenge, allowCredentials, ...rest }: Wanted): Promise<Signature> {
  const publicKey = {
    ...rest,
    challenge: toBytes(challenge),
    allowCredentials: allowCredentials.map(toDescriptor),
  };
  const used = await ask(() => navigator.credentials.get({ publicKey }));
  const response = used.response as AuthenticatorAssertionResponse;
  return {
    id: used.id,
    clientDataJSON: toText(response.clientDataJSON),
    authenticatorData: toText(response.authenticatorData),
    signature: toText(response.signature),
  };
}

async function ask(work: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  // Browsers hide it from pages that came without https, except from this machine.
  if (!('PublicKeyCredential' in globalThis)) throw new Error(t('Passkeys need https, or localhost.'));
  const credential = await work().catch((error: unknown) => {
    const isThere = error instanceof Error && error.name === 'InvalidStateError';
    throw new Error(
      isThere
        ? t('This device has a passkey here already.')
        : t('No passkey was used. Try again, or ask an owner.'),
      { cause: error },
    );
  });
  return credential as PublicKeyCredential;
}

const toDescriptor = ({ id, type, transports }: Wanted['allowCredentials'][number]) => ({
  ...{ id: toBytes(id), type, transports: transports as AuthenticatorTransport[] },
});

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const plain = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return plain.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
