import { Type } from 'typebox';
import { closedObject } from '../../http/answers/answers.ts';

/** Web Authentication, Level 3, §5.1: at most 1,023 bytes. */
const CredentialId = Type.String({ minLength: 1, maxLength: 1_364, pattern: '^[\\w-]+$' });
const bytes = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\w-]+$', description: 'base64url' });
const Transports = Type.Array(Type.String({ minLength: 1, maxLength: 32 }), { maxItems: 10 });
/** A new passkey, as the browser sends it. */
export const NewPasskey = closedObject({
  name: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' }),
  id: CredentialId,
  clientDataJSON: bytes(4_096),
  attestationObject: bytes(16_384),
  transports: Type.Optional(Transports),
});

/** The signature of a passkey, as the browser sends it. */
export const PasskeySignature = closedObject({
  id: CredentialId,
  clientDataJSON: bytes(4_096),
  authenticatorData: bytes(4_096),
  signature: bytes(2_048),
});
