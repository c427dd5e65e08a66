import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';
import { ipv6WordsOf } from '../../outbound/outbound.ts';
import type { Database } from '../../storage/storage.ts';
import { hashSecret } from '../keys/keys.ts';
import { invalid } from './user.ts';
import { countAttempt, findWindows, forgiveAttempt, type PasswordWindow } from './user-store.ts';

/** Source: OWASP Password Storage Cheat Sheet, Argon2id; reasons in docs/decisions/0014-passwords-and-sessions.md. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** Hashes run in the threads that also read and write files, so two of the four stay free for files. */
const AT_ONCE = 2;
/** About 3 s of work, because users of a browser do not wait longer. */
const MAX_WAITING = 128;
const FEWEST_DIFFERENT = 5;
/** Attackers guess these words first, together with parts of the address and the name (ASVS 5.0, 6.1.2). */
const GUESSED_WORDS = [
  'relata',
  'password',
  'passwort',
  'welcome',
  'willkommen',
  'admin',
  'qwertyuiop',
  'qwertzuiop',
];
const SHORTEST_WORD = 4;
/** How many letters must remain of a password without these words, digits and symbols. */
const FEWEST_OWN_LETTERS = 4;

const derive = promisify(argon2);

interface Derivation {
  readonly salt: Buffer;
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/**
 * The hash that the password of an unknown user is compared with, so that the refusal takes as long as for a known
 * user. It is random, so no password has this hash except by chance.
 */
const UNKNOWN_USER = format({ ...PARAMETERS, salt: randomBytes(SALT_BYTES) }, randomBytes(TAG_BYTES));

/** @returns the stored form. It includes algorithm, parameters and salt, so that later versions can change them. */
export async function hashPassword(password: string): Promise<string> {
  const derivation = { ...PARAMETERS, salt: randomBytes(SALT_BYTES) };
  return format(derivation, await run(password, derivation));
}

/** @param stored undefined for an unknown user */
export async function isPassword(given: string, stored: string | undefined): Promise<boolean> {
  const { derivation, tag } = parse(stored ?? UNKNOWN_USER);
  const givenTag = await run(given, derivation);
  return stored !== undefined && givenTag.length === tag.length && timingSafeEqual(givenTag, tag);
}

/**
 * The length of a password matters most (NIST SP 800-63B), and the schema requires it. This function refuses long
 * passwords that an attacker would guess first.
 * @throws request_invalid that names the field and never shows the password
 */
export function refuseWeakPassword(
  field: string,
  password: string,
  owner: { readonly email: string; readonly name: string },
): void {
  const plain = password.normalize('NFKC').toLowerCase();
  const own = [owner.email, owner.name].map((text) => text.normalize('NFKC').toLowerCase());
  if (own.includes(plain)) throw weak(field, 'must not be the e-mail address or the name');
  if (new Set(plain).size < FEWEST_DIFFERENT) {
    throw weak(field, `must have at least ${FEWEST_DIFFERENT} different characters`);
  }
  const words = [...own.flatMap((text) => text.split(/[^\p{L}\p{N}]+/u)), ...GUESSED_WORDS];
  const longWords = words.filter(({ length }) => length >= SHORTEST_WORD).sort((a, b) => b.length - a.length);
  const without = longWords.reduce((rest, word) => rest.replaceAll(word, ' '), plain);
  if (without === plain || without.replace(/[^\p{L}]/gu, '').length >= FEWEST_OWN_LETTERS) return;
  throw weak(field, 'must not consist only of your name, your e-mail address and words such as password');
}

const weak = (field: string, problem: string) => invalid(`/${field} ${problem}`);

const hashing = new Turns(AT_ONCE);

/** @throws not_ready if too many hashes are waiting */
async function run(password: string, { salt, ...parameters }: Derivation): Promise<Buffer> {
  if (hashing.waiting >= MAX_WAITING) throw new ServiceError('not_ready', { retryAfterSeconds: 5 });
  // The same letters can be entered as different code points.
  const message = password.normalize('NFKC');
  return hashing.take(() =>
    derive('argon2id', { message, nonce: salt, tagLength: TAG_BYTES, ...parameters }),
  );
}

/** Writes the PHC string format, which other programs also read. */
function format({ salt, memory, passes, parallelism }: Derivation, tag: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(tag)}`;
}

function parse(stored: string): { derivation: Derivation; tag: Buffer } {
  const pattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/;
  const [, memory, passes, parallelism, salt = '', tag = ''] = pattern.exec(stored) ?? [];
  if (tag === '') throw new Error('a stored password hash has no known form');
  const numbers = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { derivation: { ...numbers, salt: Buffer.from(salt, 'base64') }, tag: Buffer.from(tag, 'base64') };
}

const MINUTE_MS = 60_000;

/** The user whose password is tried, and the network address of the attempt. */
interface Attempt {
  readonly email: string;
  readonly address: string;
}

/**
 * The limits of password attempts. One address can make few attempts. Many addresses together can make more attempts
 * for one user, but far too few to guess a password; so an attacker needs many addresses to lock a user out. The keys
 * are hashed, because e-mail addresses in attempts are private, above all those of unknown users.
 * Source: docs/interface §5.6 rule 9.
 */
function limitsOf({ email, address }: Attempt) {
  const network = networkOf(address);
  return {
    pair: { key: hashSecret(`pair ${email} ${network}`), most: 10, windowMs: 15 * MINUTE_MS },
    address: { key: hashSecret(`address ${network}`), most: 100, windowMs: 15 * MINUTE_MS },
    email: { key: hashSecret(`email ${email}`), most: 100, windowMs: 60 * MINUTE_MS },
  };
}

export type PasswordLimit = ReturnType<typeof createPasswordLimit>;

/** Counts in the database, so that limits apply to all processes together and after a restart. */
export function createPasswordLimit(database: Database, clock: Clock) {
  return {
    /** Counts an attempt, even for an unknown user. @throws sign_in_limited, before the password is checked */
    async count(attempt: Attempt): Promise<void> {
      const limits = Object.values(limitsOf(attempt));
      const now = clock.now();
      const refuseAtLimit = (windows: readonly PasswordWindow[], counted: number) => {
        const reached = windows.filter(({ key, attempts }) =>
          limits.some((limit) => limit.key === key && attempts - counted >= limit.most),
        );
        if (reached.length === 0) return;
        const until = Math.max(...reached.map(({ endsAt }) => endsAt));
        throw new ServiceError('sign_in_limited', { retryAfterSeconds: (until - now) / 1000 });
      };
      // An attempt beyond the limit costs a read but no write.
      const keys = limits.map(({ key }) => key);
      refuseAtLimit(await findWindows(database.read, keys, now), 0);
      const begun = limits.map(({ key, windowMs }) => ({ key, endsAt: now + windowMs }));
      // Compares without this attempt, which is now counted.
      refuseAtLimit(await countAttempt(database, begun, now), 1);
    },
    /** Call it after a correct password. */
    async forgive(attempt: Attempt): Promise<void> {
      const { pair, address, email } = limitsOf(attempt);
      // The sign-in stays valid. On a full or failing disk the attempt counts until its window ends.
      const forgiven = { forgotten: pair.key, lowered: [address.key, email.key] };
      await forgiveAttempt(database, forgiven).catch(ignoreDisk);
    },
  };
}

function ignoreDisk(error: unknown): void {
  if (!(error instanceof ServiceError) || !['storage_full', 'storage_failed'].includes(error.code))
    throw error;
}

/** An address with a port, as some proxies forward it. The port differs for each connection. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d+)?$/;

/** @returns the address, or the /64 of an IPv6 address, because its owner usually has all addresses of the /64 */
function networkOf(given: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(given) ?? [];
  const address = ipv4 ?? ipv6 ?? given;
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [ofAll = ''] = address.split('%', 1);
  return ipv6WordsOf(ofAll)
    .slice(0, 4)
    .map((word) => word.toString(16))
    .join(':');
}
