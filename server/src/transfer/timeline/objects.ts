import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { countPassedAtOnce } from '../../storage/threads/threads.ts';

/**
 * An object of a backup: entries, each with a checksum bound to the name of the object and the entry's
 * position, and an empty last entry, so that a truncated, changed or renamed object is detected.
 */

const MAGIC = Buffer.from('relata backup 1\n');
const SALT = 16;
const CHECK = 16;
/** The largest entry; anything larger is not ours. */
const MOST_BYTES = 16 * 1024 * 1024;
/** How much of a file an entry holds. */
export const ENTRY_BYTES = 1024 * 1024;

/** A change to a file of the data directory; entries apply in order. */
export type EntryHead = { readonly file: string } & (
  | { readonly kind: 'begin' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'pages'; readonly pageSize: number; readonly pages: readonly number[] }
  | { readonly kind: 'end'; readonly pageSize: number; readonly pageCount: number }
  /** Bytes of a file that is not a database. */
  | { readonly kind: 'bytes'; readonly at: number }
);

export interface Entry {
  readonly head: EntryHead;
  /** Valid until the next entry is taken. */
  readonly bytes: Uint8Array;
}

/** @param key undefined: nothing is encrypted. @returns pieces, each valid until the next one is taken */
export async function* packObject(name: string, key: Uint8Array | undefined, entries: AsyncIterable<Entry>) {
  const salt = randomBytes(SALT);
  yield Buffer.concat([MAGIC, Buffer.of(key === undefined ? 0 : 1), salt]);
  const seal = sealWith(name, key && deriveKey(key, salt));
  let count = 0;
  for await (const { head, bytes } of entries) {
    const text = Buffer.from(JSON.stringify(head));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    yield seal(count, [length, text, bytes]);
    count += 1;
  }
  yield seal(count, []);
}

const deriveKey = (key: Uint8Array, salt: Uint8Array) =>
  Buffer.from(hkdfSync('sha256', key, salt, 'relata backup', 32));

/** No two entries of an object have the same nonce, and no two objects the same key. */
function placeOf(count: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntLE(count, 0, 6);
  return nonce;
}

const sumOf = (name: string, count: number, bytes: Uint8Array) =>
  crc32(bytes, crc32(placeOf(count), crc32(name)));

/** @returns a function that seals an entry's parts, copied once: most of a backup's processor time goes into its bytes */
function sealWith(name: string, key: Uint8Array | undefined) {
  /** Reused by each entry: allocating it anew kept the garbage collector busy. */
  let memory = Buffer.alloc(0);
  return (count: number, parts: readonly Uint8Array[]): Buffer => {
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const length = 4 + size + CHECK;
    // Pages that are never written to take no memory.
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
    const sealed = memory.subarray(0, length);
    const cipher = key && createCipheriv('aes-256-gcm', key, placeOf(count)).setAAD(Buffer.from(name));
    let at = sealed.writeUInt32LE(size);
    for (const part of parts) {
      sealed.set(cipher?.update(part) ?? part, at);
      at += part.length;
    }
    if (cipher === undefined)
      sealed.fill(0, at).writeUInt32LE(sumOf(name, count, sealed.subarray(4, at)), at);
    else {
      cipher.final();
      sealed.set(cipher.getAuthTag(), at);
      countPassedAtOnce(size);
    }
    return sealed;
  };
}

/** @throws Error that names the object when it is not as it was written, or the key is missing */
export async function* unpackObject(
  name: string,
  key: Uint8Array | undefined,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Entry> {
  const pieces = bytes[Symbol.asyncIterator]();
  const read = readFrom(pieces);
  const take = async (length: number) => {
    const taken = length > MOST_BYTES ? undefined : await read(length);
    if (taken === undefined) throw refuseDamaged(name);
    return taken;
  };
  try {
    const own = readStart(await take(MAGIC.length + 1 + SALT), name, key);
    for (let count = 0; ; count += 1) {
      const packed = await take((await take(4)).readUInt32LE() + CHECK);
      const entry = open(packed.subarray(0, -CHECK), packed.subarray(-CHECK), { name, count, key: own });
      if (entry === undefined) throw refuseDamaged(name);
      if (entry.length === 0) return;
      const end = 4 + entry.readUInt32LE();
      yield { head: JSON.parse(entry.toString('utf8', 4, end)) as EntryHead, bytes: entry.subarray(end) };
    }
  } finally {
    await pieces.return?.();
  }
}

/** @returns the key of the object */
function readStart(start: Buffer, name: string, key: Uint8Array | undefined): Uint8Array | undefined {
  const [magic, isSealed] = [start.subarray(0, MAGIC.length), start[MAGIC.length] === 1];
  if (!magic.equals(MAGIC)) throw refuseDamaged(name);
  if (!isSealed) return undefined;
  if (key === undefined) throw new DamagedObject(`${name} is encrypted: set RELATA_BACKUP_KEY`);
  return deriveKey(key, start.subarray(-SALT));
}

/** What a target holds is missing, or differs from what was written. */
export class DamagedObject extends Error {}

const refuseDamaged = (name: string) =>
  new DamagedObject(`${name} is damaged, or was encrypted with another RELATA_BACKUP_KEY`);

/** @returns undefined when the bytes are not those that were written */
function open(
  bytes: Buffer,
  check: Buffer,
  { name, count, key }: { name: string; count: number; key: Uint8Array | undefined },
): Buffer | undefined {
  if (key === undefined) {
    const isRest = check.subarray(4).every((byte) => byte === 0);
    return isRest && check.readUInt32LE() === sumOf(name, count, bytes) ? bytes : undefined;
  }
  const decipher = createDecipheriv('aes-256-gcm', key, placeOf(count)).setAAD(Buffer.from(name));
  try {
    return Buffer.concat([decipher.setAuthTag(check).update(bytes), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** @returns a reader of a given number of bytes, which gives undefined if fewer are left */
function readFrom(pieces: AsyncIterator<Uint8Array>) {
  let rest: Uint8Array = new Uint8Array();
  return async (length: number): Promise<Buffer | undefined> => {
    const parts: Uint8Array[] = [];
    for (let missing = length; missing > 0; ) {
      if (rest.length === 0) rest = (await pieces.next()).value ?? new Uint8Array();
      if (rest.length === 0) return undefined;
      parts.push(rest.subarray(0, missing));
      rest = rest.subarray(missing);
      missing = length - parts.reduce((sum, part) => sum + part.length, 0);
    }
    return Buffer.concat(parts);
  };
}
