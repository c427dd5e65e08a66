/**
 * The door of secrets: what others trust the service with (passwords of servers, keys that sign webhooks) is sealed before
 * it is stored, with a key that is in no backup. Source: docs/operating.md, "Secrets".
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ServiceError } from '../../kernel/errors.ts';

export { countUnreadable, resealColumn, type SealedColumn } from './reseal-store.ts';
export { readSecretKeyFile, secretKeyFileAt } from './secret-keys.ts';

/** Where a sealed text is stored. In any other place it cannot be unsealed, so copying it there gains nothing. */
export interface SealedPlace {
  readonly table: string;
  readonly column: string;
  /** The key of the row. */
  readonly row: readonly (string | number)[];
}

export interface Secrets {
  /** @throws secret_key_missing */
  seal(text: string, place: SealedPlace): string;
  /** @throws secret_unreadable */
  unseal(sealed: string, place: SealedPlace): string;
  readonly canSeal: boolean;
  /** What texts begin with that were sealed with the present key; undefined while there is no key. */
  readonly mark: string | undefined;
}

/** A key with the name that sealed texts carry. */
type NamedKey = ReturnType<typeof nameKey>;

/** The name tells nobody the key: 32 bits of a digest of 256 random ones. */
const nameKey = (bytes: Uint8Array) => ({
  id: createHash('sha256').update('relata secret key').update(bytes).digest('hex').slice(0, 8),
  bytes,
});

const CIPHER = 'aes-256-gcm';
/** What GCM is made for (NIST SP 800-38D): random ones are safe for 2^32 texts of one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG = { authTagLength: TAG_BYTES } as const;

/**
 * @param keys the first one seals, all of them unseal
 * @param makeKey makes the first one when something is to be sealed; without it nothing can be
 */
export function createSecrets({
  keys: given,
  makeKey,
}: {
  readonly keys: readonly Uint8Array[];
  readonly makeKey?: () => Uint8Array;
}): Secrets {
  const keys = given.map(nameKey);

  function keyToSeal(): NamedKey {
    if (keys.length === 0 && makeKey !== undefined) keys.push(nameKey(makeKey()));
    const [key] = keys;
    if (key === undefined) throw new ServiceError('secret_key_missing');
    return key;
  }

  return {
    seal(text, place) {
      const { id, bytes } = keyToSeal();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, bytes, nonce, TAG).setAAD(describePlace(id, place));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${markOf(id)}${Buffer.concat(sealed).toString('base64url')}`;
    },
    unseal(sealed, place) {
      const [version, id = '', text = ''] = sealed.split('.');
      const key = version === VERSION ? keys.find((one) => one.id === id) : undefined;
      if (key === undefined) throw refuse(`it was encrypted with the key ${id.slice(0, 8)}`);
      const bytes = Buffer.from(text, 'base64url');
      const end = bytes.length - TAG_BYTES;
      try {
        const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), TAG)
          .setAAD(describePlace(id, place))
          .setAuthTag(bytes.subarray(end));
        return decipher.update(bytes.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw refuse('it was changed, or belongs to another place', cause);
      }
    },
    get canSeal() {
      return keys.length > 0 || makeKey !== undefined;
    },
    get mark() {
      return keys[0] && markOf(keys[0].id);
    },
  };
}

const VERSION = 'v1';
const markOf = (keyId: string) => `${VERSION}.${keyId}.`;

const describePlace = (keyId: string, { table, column, row }: SealedPlace) =>
  Buffer.from(JSON.stringify([VERSION, keyId, table, column, ...row.map(String)]));

const refuse = (why: string, cause?: unknown) =>
  new ServiceError('secret_unreadable', { details: [why], cause });
