import type { BodyOf, PasskeyOptions, PasskeyWanted } from '@relata/client';
import { t } from '../languages/text.ts';

/** Access to this machine's authenticators, through Web Authentication. */

type AssertionOptions = PasskeyWanted['passkey'];
type Signature = BodyOf<'postManagementSessionPasskey'>;
type Made = Omit<BodyOf<'postManagementSessionPasskeys'>, 'name'>;

/** @throws Error in words for users */
export async function makePasskey(options: PasskeyOptions): Promise<Made> {
  const credential = await ask(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as PublicKeyCredentialCreationOptionsJSON,
      ),
    }),
  );
  const { id, response } = credential.toJSON() as RegistrationResponseJSON;
  const { clientDataJSON, attestationObject, transports } = response;
  return { id, clientDataJSON, attestationObject, transports };
}

/** @throws Error in words for users */
export async function usePasskey(options: AssertionOptions): Promise<Signature> {
  const used = await ask(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
        options as PublicKeyCredentialRequestOptionsJSON,
      ),
    }),
  );
  const { id, response } = used.toJSON() as AuthenticationResponseJSON;
  const { clientDataJSON, authenticatorData, signature } = response;
  return { id, clientDataJSON, authenticatorData, signature };
}

async function ask(work: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  // Browsers hide this API from pages loaded without https, except on localhost.
  if (!('PublicKeyCredential' in globalThis)) throw new Error(t('Passkeys need https, or localhost.'));
  const credential = await work().catch((error: unknown) => {
    const isThere = error instanceof Error && error.name === 'InvalidStateError';
    throw new Error(
      isThere
        ? t('This device already has a passkey for this service.')
        : t('No passkey was used. Try again, or ask an owner.'),
      { cause: error },
    );
  });
  return credential as PublicKeyCredential;
}
