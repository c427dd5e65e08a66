import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';

/** Source: OWASP Password Storage Cheat Sheet, Argon2id; reasons in docs/decisions/0014-passwords-and-sessions.md. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** Hashes run in the threads that also read and write files; two of the four are left to those. */
const AT_ONCE = 2;
/** About 3 s of work: longer queues would exceed what users of a browser wait for. */
const MAX_WAITING = 128;
const FEWEST_DIFFERENT = 5;

const derive = promisify(argon2);

interface Derivation {
  readonly salt: Buffer;
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/**
 * What an unknown user's password is compared with, so that it takes as long as a known one's. Nothing hashes to it but by
 * chance.
 */
const NOBODY = format({ ...PARAMETERS, salt: randomBytes(SALT_BYTES) }, randomBytes(TAG_BYTES));

/** @returns what is stored: algorithm, parameters and salt stand in it, so that later ones can differ */
export async function hashPassword(password: string): Promise<string> {
  const derivation = { ...PARAMETERS, salt: randomBytes(SALT_BYTES) };
  return format(derivation, await run(password, derivation));
}

/** @param stored  undefined: there is no such user */
export async function isPassword(given: string, stored: string | undefined): Promise<boolean> {
  const { derivation, tag } = parse(stored ?? NOBODY);
  const made = await run(given, derivation);
  return stored !== undefined && made.length === tag.length && timingSafeEqual(made, tag);
}

/**
 * Length is what counts (NIST SP 800-63B), and the schema asks for it; this refuses what has the length and is guessed
 * first all the same.
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
}

function weak(field: string, problem: string): ServiceError {
  return new ServiceError('request_invalid', { details: [`/${field} ${problem}`] });
}

const hashing = new Turns(AT_ONCE);

/** @throws not_ready when too many wait already */
async function run(password: string, { salt, ...parameters }: Derivation): Promise<Buffer> {
  if (hashing.waiting >= MAX_WAITING) throw new ServiceError('not_ready', { retryAfterSeconds: 5 });
  // The same letters can be typed in different ways.
  const message = password.normalize('NFKC');
  return hashing.take(() =>
    derive('argon2id', { message, nonce: salt, tagLength: TAG_BYTES, ...parameters }),
  );
}

/** The PHC string format, which other programs read too. */
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
