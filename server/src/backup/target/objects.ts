import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { countPassedAtOnce } from '../../storage/threads/threads.ts';

/**
 * An object of a backup. It consists of parts and an empty last part. Each part has a checksum that is bound to the
 * name of the object and to the position of the part, so that a truncated, changed or renamed object is detected. With
 * a key, the checksum is a tag of AES-GCM, which is also bound to the id of the backup. So an object of another backup
 * with the same key is refused.
 */

const MAGIC = Buffer.from('relata backup 1\n');
/** How an object is protected, stored after the magic. Earlier versions bound a sealed object only to its name. */
const MODE = { plain: 0, earlier: 1, sealed: 2 } as const;
const SALT = 16;
const START_BYTES = MAGIC.length + 1 + SALT;
const CHECK = 16;
/** The largest entry. A larger entry was not written by this service. */
const MOST_BYTES = 16 * 1024 * 1024;
/** How many bytes of a file an entry contains. */
export const ENTRY_BYTES = 1024 * 1024;

/** A change to a file of the data directory. Entries apply in order. */
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

/** What seals the objects of a backup. */
export interface Seal {
  readonly key: Uint8Array;
  /** The id of the backup; empty for the identity object, which states the id. */
  readonly backup: string;
}

/** How the objects of a backup are read. */
export interface Reading {
  /** undefined: nothing is encrypted. */
  readonly seal: Seal | undefined;
  /** Whether unauthenticated objects, such as those of an earlier version, are also read. */
  readonly isUnauthenticated?: boolean;
}

/** @param seal undefined: nothing is encrypted. @returns pieces, each valid until the next one is taken */
export async function* packObject(name: string, seal: Seal | undefined, entries: AsyncIterable<Entry>) {
  const { start, add } = beginObject(name, seal);
  yield start;
  for await (const { head, bytes } of entries) {
    const text = Buffer.from(JSON.stringify(head));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    yield add([length, text, bytes]);
  }
  yield add([]);
}

/** Packs a small object that does not consist of entries. Without a key it is the text itself. */
export function packText(name: string, seal: Seal | undefined, text: string): Uint8Array {
  if (seal === undefined) return Buffer.from(text);
  const { start, add } = beginObject(name, seal);
  const parts = [start, Buffer.from(add([Buffer.from(text)])), add([])];
  return Buffer.concat(parts);
}

/** @returns `add`, which packs the next part; its result is valid until the next call */
function beginObject(name: string, seal: Seal | undefined) {
  const salt = randomBytes(SALT);
  const mode = seal === undefined ? MODE.plain : MODE.sealed;
  const pack = sealWith(name, seal && lockOf(name, { seal, mode, salt }));
  let count = 0;
  return {
    start: Buffer.concat([MAGIC, Buffer.of(mode), salt]),
    add(parts: readonly Uint8Array[]): Buffer {
      const packed = pack(count, parts);
      count += 1;
      return packed;
    },
  };
}

/** The key of one object, and the data to which its tags are bound besides the position. */
interface Lock {
  readonly key: Uint8Array;
  readonly bound: Uint8Array;
}

interface Start {
  readonly seal: Seal;
  readonly mode: number;
  readonly salt: Uint8Array;
}

const lockOf = (name: string, { seal: { key, backup }, mode, salt }: Start): Lock =>
  mode === MODE.earlier
    ? { key: deriveKey(key, salt, 'relata backup'), bound: Buffer.from(name) }
    : { key: deriveKey(key, salt, 'relata backup 2'), bound: Buffer.from(`${backup}\n${name}`) };

const deriveKey = (key: Uint8Array, salt: Uint8Array, use: string) =>
  Buffer.from(hkdfSync('sha256', key, salt, use, 32));

/** No two parts of an object have the same nonce, and no two objects have the same key. */
function placeOf(count: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntLE(count, 0, 6);
  return nonce;
}

const sumOf = (name: string, count: number, bytes: Uint8Array) =>
  crc32(bytes, crc32(placeOf(count), crc32(name)));

/**
 * @returns a function that packs a part and copies it only once, because most of a backup's processor time goes into
 * its bytes
 */
function sealWith(name: string, lock: Lock | undefined) {
  /** Each part reuses this memory, because allocating it anew kept the garbage collector busy. */
  let memory = Buffer.alloc(0);
  return (count: number, parts: readonly Uint8Array[]): Buffer => {
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const length = 4 + size + CHECK;
    // Pages that are never written to take no memory.
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
    const sealed = memory.subarray(0, length);
    const cipher = lock && createCipheriv('aes-256-gcm', lock.key, placeOf(count)).setAAD(lock.bound);
    let offset = sealed.writeUInt32LE(size);
    for (const part of parts) {
      sealed.set(cipher?.update(part) ?? part, offset);
      offset += part.length;
    }
    if (cipher === undefined)
      sealed.fill(0, offset).writeUInt32LE(sumOf(name, count, sealed.subarray(4, offset)), offset);
    else {
      cipher.final();
      sealed.set(cipher.getAuthTag(), offset);
      countPassedAtOnce(size);
    }
    return sealed;
  };
}

/**
 * @throws DamagedObject if the object differs from what was written; UnauthenticatedObject if there is a key but it
 * does not protect the object
 */
export async function* unpackObject(
  name: string,
  reading: Reading,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Entry> {
  for await (const part of unpackParts(name, reading, bytes)) {
    const end = 4 + part.readUInt32LE();
    yield { head: JSON.parse(part.toString('utf8', 4, end)) as EntryHead, bytes: part.subarray(end) };
  }
}

/** @throws DamagedObject, UnauthenticatedObject */
export async function unpackText(name: string, reading: Reading, bytes: Buffer): Promise<string> {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    if (reading.seal !== undefined && !reading.isUnauthenticated) throw refuseUnauthenticated(name);
    return bytes.toString();
  }
  async function* once() {
    yield bytes;
  }
  const parts = await Array.fromAsync(unpackParts(name, reading, once()));
  return Buffer.concat(parts).toString();
}

async function* unpackParts(name: string, reading: Reading, bytes: AsyncIterable<Uint8Array>) {
  const pieces = bytes[Symbol.asyncIterator]();
  const read = readFrom(pieces);
  const take = async (length: number) => {
    const taken = length > MOST_BYTES ? undefined : await read(length);
    if (taken === undefined) throw refuseDamaged(name);
    return taken;
  };
  try {
    const lock = readStart(await take(START_BYTES), name, reading);
    for (let count = 0; ; count += 1) {
      const packed = await take((await take(4)).readUInt32LE() + CHECK);
      const part = open(packed.subarray(0, -CHECK), packed.subarray(-CHECK), { name, count, lock });
      if (part === undefined) throw refuseDamaged(name);
      if (part.length === 0) return;
      yield part;
    }
  } finally {
    await pieces.return?.();
  }
}

/** @returns the lock of the object; undefined: it has none */
function readStart(start: Buffer, name: string, { seal, isUnauthenticated = false }: Reading) {
  const mode = start[MAGIC.length] ?? -1;
  const isKnown = mode === MODE.plain || mode === MODE.earlier || mode === MODE.sealed;
  if (!start.subarray(0, MAGIC.length).equals(MAGIC) || !isKnown) throw refuseDamaged(name);
  if (seal === undefined) {
    if (mode === MODE.plain) return undefined;
    throw new DamagedObject(`${name} is encrypted: set RELATA_BACKUP_KEY`);
  }
  if (mode !== MODE.sealed && !isUnauthenticated) throw refuseUnauthenticated(name);
  return mode === MODE.plain ? undefined : lockOf(name, { seal, mode, salt: start.subarray(-SALT) });
}

/** An object of a target is missing, or differs from what was written. */
export class DamagedObject extends Error {}

/**
 * An object that RELATA_BACKUP_KEY does not authenticate. An earlier version, another program or an attacker wrote it.
 */
export class UnauthenticatedObject extends DamagedObject {}

const refuseDamaged = (name: string) =>
  new DamagedObject(
    `${name} is damaged, or was encrypted with another RELATA_BACKUP_KEY, under another name or for another backup`,
  );

export const refuseUnauthenticated = (name: string) =>
  new UnauthenticatedObject(
    `${name} is not authenticated by RELATA_BACKUP_KEY, so it is not read: remove it if this service did not write it. ` +
      'Use relata restore --unauthenticated for a backup of an earlier version, or without a key',
  );

/** @returns undefined if the bytes differ from those that were written */
function open(
  bytes: Buffer,
  check: Buffer,
  { name, count, lock }: { name: string; count: number; lock: Lock | undefined },
): Buffer | undefined {
  if (lock === undefined) {
    const isRest = check.subarray(4).every((byte) => byte === 0);
    return isRest && check.readUInt32LE() === sumOf(name, count, bytes) ? bytes : undefined;
  }
  const decipher = createDecipheriv('aes-256-gcm', lock.key, placeOf(count)).setAAD(lock.bound);
  try {
    return Buffer.concat([decipher.setAuthTag(check).update(bytes), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** @returns a reader of a given number of bytes, which returns undefined if fewer bytes are left */
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
