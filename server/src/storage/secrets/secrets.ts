/**
 * The door of secrets. Credentials for other systems (passwords of servers, keys that sign webhooks) are sealed before
 * they are stored. The key is in no backup. Source: docs/operating/settings.md, "Secrets".
 */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { ServiceError } from '../../kernel/errors.ts';
import { readSecretKey } from '../../kernel/secret-key.ts';
import type { Database } from '../database.ts';
import { writeOwnFile } from '../folder/folder.ts';

/** Where a sealed text is stored. It can be unsealed only there, so copying it to another row gains nothing. */
export interface SealedPlace {
  readonly table: string;
  readonly column: string;
  /** The key of the row. */
  readonly row: readonly (string | number)[];
}

export type Secrets = ReturnType<typeof createSecrets>;

/** The key's name in sealed texts. It does not reveal the key, because it is 32 bits of a digest of 256 random bits. */
const nameKey = (bytes: Uint8Array) => ({
  id: createHash('sha256').update('relata secret key').update(bytes).digest('hex').slice(0, 8),
  bytes,
});

const CIPHER = 'aes-256-gcm';
/** The nonce size of GCM (NIST SP 800-38D). Random nonces are safe for 2^32 texts of one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG = { authTagLength: TAG_BYTES } as const;

/**
 * @param keys the first one seals, and all of them unseal
 * @param makeKey creates the first key when a text is to be sealed; without it, sealing is refused if there is no key
 */
export function createSecrets(options: { keys: readonly Uint8Array[]; makeKey?: () => Uint8Array }) {
  const { makeKey } = options;
  const keys = options.keys.map(nameKey);

  return {
    /** @throws secret_key_missing */
    seal(text: string, place: SealedPlace): string {
      if (keys.length === 0 && makeKey !== undefined) keys.push(nameKey(makeKey()));
      const [key] = keys;
      if (key === undefined) throw new ServiceError('secret_key_missing');
      const { id, bytes } = key;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, bytes, nonce, TAG).setAAD(describePlace(id, place));
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${markOf(id)}${Buffer.concat(sealed).toString('base64url')}`;
    },
    /** @throws secret_unreadable */
    unseal(sealed: string, place: SealedPlace): string {
      const [version, id = '', text = ''] = sealed.split('.');
      const key = version === VERSION ? keys.find((candidate) => candidate.id === id) : undefined;
      if (key === undefined) throw refuse(`it was encrypted with the key ${id.slice(0, 8)}`);
      const bytes = Buffer.from(text, 'base64url');
      const end = bytes.length - TAG_BYTES;
      try {
        const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), TAG)
          .setAAD(describePlace(id, place))
          .setAuthTag(bytes.subarray(end));
        return decipher.update(bytes.subarray(NONCE_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw refuse('it was changed, or belongs to another row or column', cause);
      }
    },
    get canSeal(): boolean {
      return keys.length > 0 || makeKey !== undefined;
    },
    /** The prefix of texts that were sealed with the present key; undefined while there is no key. */
    get mark(): string | undefined {
      return keys[0] && markOf(keys[0].id);
    },
  };
}

const VERSION = 'v1';
const markOf = (keyId: string) => `${VERSION}.${keyId}.`;

const describePlace = (keyId: string, { table, column, row }: SealedPlace) =>
  Buffer.from(JSON.stringify([VERSION, keyId, table, column, ...row.map(String)]));

const refuse = (why: string, cause?: unknown) => new ServiceError('secret_unreadable', why, { cause });

const MAKE_ONE = 'write one made by openssl rand -base64 32';

/**
 * @returns the keys of a file, one on each line; lines that begin with # are comments
 * @throws Error that names the file and the line
 */
export function readSecretKeyFile(path: string): Uint8Array[] {
  const lines = readFileSync(path, 'utf8').split(/\r?\n/);
  const keys = lines.flatMap((line, index) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) return [];
    const key = readSecretKey(text);
    if (key !== undefined) return [key];
    throw new Error(
      `Line ${index + 1} of the key file ${path} is not a key of 32 bytes in base64: ${MAKE_ONE}.`,
    );
  });
  if (keys.length === 0) throw new Error(`The key file ${path} holds no key: ${MAKE_ONE}.`);
  return keys;
}

/** The key file of a data directory, created when the first secret is sealed. */
export function secretKeyFileAt(path: string) {
  return {
    keys: existsSync(path) ? readSecretKeyFile(path) : [],
    /** The file is durable before its key seals any text. */
    makeKey(): Uint8Array {
      const key = randomBytes(32);
      writeOwnFile(path, `${key.toString('base64')}\n`, 'wx');
      return key;
    },
  };
}

/** A column of sealed texts, which may be null. */
export interface SealedColumn extends Omit<SealedPlace, 'row'> {
  /** The columns of the table's key. */
  readonly key: readonly string[];
}

type KeyedRow = Readonly<Record<string, string | number>> & { readonly sealed: string };

/**
 * Seals texts of earlier keys with the present key, row by row. A row that changes meanwhile remains as it is.
 * @returns how many texts were resealed, and how many no key can unseal
 */
export async function resealColumn(
  database: Pick<Database, 'read' | 'write'>,
  secrets: Secrets,
  sealedColumn: SealedColumn,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  if (secrets.mark === undefined) return counts;
  const { table, column, key } = sealedColumn;
  for await (const row of listOld(database, secrets.mark, sealedColumn)) {
    const text = unsealRow(secrets, sealedColumn, row);
    if (text === undefined) {
      counts.unreadable += 1;
      continue;
    }
    const sealed = secrets.seal(text, placeOf(sealedColumn, row));
    const isThat = key.map((name) => sql`${sql.ref(name)} = ${row[name]}`);
    const set = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sealed}
      where ${sql.join(isThat, sql` and `)} and ${sql.ref(column)} = ${row.sealed}`;
    await database.write('rows', (tx) => set.execute(tx));
    counts.resealed += 1;
  }
  return counts;
}

/**
 * Writes nothing.
 * @returns how many texts of a column no key can unseal
 */
export async function countUnreadable(
  database: Pick<Database, 'read'>,
  secrets: Secrets,
  column: SealedColumn,
): Promise<number> {
  let count = 0;
  for await (const row of listOld(database, secrets.mark, column))
    if (unsealRow(secrets, column, row) === undefined) count += 1;
  return count;
}

/** Lists the texts that the present key did not seal, page by page. */
async function* listOld(
  { read }: Pick<Database, 'read'>,
  mark: string | undefined,
  { table, column, key }: SealedColumn,
): AsyncGenerator<KeyedRow> {
  const keys = sql.join(key.map((name) => sql.ref(name)));
  const isOld = mark === undefined ? sql`` : sql`and ${sql.ref(column)} not like ${`${mark}%`}`;
  for (let afterRow = sql``; ; ) {
    const { rows } = await sql<KeyedRow>`select ${keys}, ${sql.ref(column)} as sealed from ${sql.table(table)}
      where ${sql.ref(column)} is not null ${isOld} ${afterRow}
      order by ${keys} limit 500`.execute(read);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    afterRow = sql`and (${keys}) > (${sql.join(key.map((name) => last[name]))})`;
  }
}

const placeOf = ({ table, column, key }: SealedColumn, row: KeyedRow): SealedPlace => ({
  table,
  column,
  row: key.map((name) => row[name] as string | number),
});

/** @returns undefined when no key can unseal the text */
function unsealRow(secrets: Secrets, column: SealedColumn, row: KeyedRow): string | undefined {
  try {
    return secrets.unseal(row.sealed, placeOf(column, row));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}
