import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { S3Place } from '../../outbound/s3/s3.ts';
import { openBucket } from './bucket-storage.ts';
import { openFolder } from './folder-storage.ts';
import { type ObjectPlace, VanishedTarget } from './object-storage.ts';
import {
  DamagedObject,
  type Entry,
  packObject,
  packText,
  type Reading,
  refuseUnauthenticated,
  unpackObject,
  unpackText,
} from './objects.ts';

/**
 * Where a backup is stored. Nothing reads or writes an object of a backup except through here, so with a key
 * everything that is read is authenticated: what was written under this name, for this backup.
 */
export type BackupTarget = ReturnType<typeof openTarget>;

export interface TargetSettings {
  /** `file:///…` or `s3://bucket/prefix`. */
  readonly url: string;
  readonly s3: Omit<S3Place, 'bucket'> | undefined;
  /** undefined: nothing is encrypted, and nothing is authenticated. */
  readonly key?: Uint8Array | undefined;
  /** Whether objects are read, too, that the key does not authenticate. */
  readonly isUnauthenticated?: boolean;
}

/** The object that says which backup a target holds. */
export const IDENTITY = 'identity';
const ID = /^[0-9a-f]{32}$/;
/** Texts are smaller than this. */
const TEXT_BYTES = 64 * 1024;

export const makeBackupId = () => randomBytes(16).toString('hex');

/** Nothing is created or requested before the first call. @throws Error that names the setting */
export function openTarget(settings: TargetSettings) {
  const { url, key, isUnauthenticated = false } = settings;
  const place = openPlace(settings);
  let backup: string | undefined;

  const sealFor = (id: string) => key && { key, backup: id };

  /** @throws UnauthenticatedObject when nothing says which backup it is of */
  async function readingOf(name: string): Promise<Reading> {
    if (key === undefined) return { seal: undefined };
    const id = backup ?? (await findIdentity());
    if (id === undefined && !isUnauthenticated) throw refuseUnauthenticated(name);
    return { seal: sealFor(id ?? ''), isUnauthenticated };
  }

  async function readBytes(name: string): Promise<Buffer | undefined> {
    const pieces = await place.read(name);
    if (pieces === undefined) return undefined;
    const read: Uint8Array[] = [];
    let length = 0;
    for await (const piece of pieces) {
      length += piece.length;
      if (length > TEXT_BYTES) throw new DamagedObject(`${name} is damaged: it is too large`);
      read.push(Buffer.from(piece));
    }
    return Buffer.concat(read);
  }

  /** @returns the id of the backup that the target holds; undefined: none is there, or one by an earlier version */
  async function findIdentity(): Promise<string | undefined> {
    const bytes = await readBytes(IDENTITY);
    if (bytes === undefined) return undefined;
    const reading = { seal: sealFor(''), isUnauthenticated };
    const id = readId(await unpackText(IDENTITY, reading, bytes));
    backup ??= id;
    if (id === backup) place.expectMark(IDENTITY, bytes);
    return id;
  }

  const sealOfOwn = () => {
    if (key !== undefined && backup === undefined) throw new Error('the id of the backup is not known yet');
    return sealFor(backup ?? '');
  };

  return {
    url,
    isThere: () => place.isThere(),
    make: () => place.make(),
    list: place.list,
    remove: place.remove,
    findIdentity,
    /** @returns the id of the backup that is read and written */
    own: () => backup,
    /** Names the backup that is read and written from now on, before the target says it. */
    adopt(id: string): void {
      backup = id;
      place.expectMark(IDENTITY, undefined);
    },
    /** Makes the target say which backup it holds. From then on a directory that does not say so counts as vanished. */
    async writeIdentity(id: string): Promise<void> {
      const bytes = packText(IDENTITY, sealFor(''), JSON.stringify({ backup: id }));
      await place.write(IDENTITY, Readable.from([bytes]));
      backup = id;
      place.expectMark(IDENTITY, bytes);
    },
    /** @returns undefined if there is no such object, or it is empty */
    async readText(name: string): Promise<string | undefined> {
      const bytes = await readBytes(name);
      if (bytes === undefined || bytes.length === 0) return undefined;
      return unpackText(name, await readingOf(name), bytes);
    },
    /** @param isNew it must not exist. @returns whether it was written */
    async writeText(name: string, text: string, isNew = false): Promise<boolean> {
      const bytes = packText(name, sealOfOwn(), text);
      return (await place.write(name, Readable.from([bytes]), isNew)) !== undefined;
    },
    /** @throws DamagedObject when it is missing, not as it was written, or not authenticated */
    async *readEntries(name: string): AsyncGenerator<Entry> {
      const reading = await readingOf(name);
      const bytes = await place.read(name);
      if (bytes === undefined) throw new DamagedObject(`${name} is missing`);
      yield* unpackObject(name, reading, bytes);
    },
    /** @returns how many bytes were written */
    async writeEntries(name: string, entries: AsyncIterable<Entry>): Promise<number> {
      return (await place.write(name, packObject(name, sealOfOwn(), entries))) ?? 0;
    },
  };
}

function readId(text: string): string {
  let id: unknown;
  try {
    id = (JSON.parse(text) as { backup?: unknown }).backup;
  } catch {
    id = undefined;
  }
  if (typeof id === 'string' && ID.test(id)) return id;
  throw new DamagedObject(`${IDENTITY} is damaged: it names no backup`);
}

function openPlace({ url, s3 }: TargetSettings): ObjectPlace {
  const { protocol, host, pathname } = new URL(url);
  if (protocol === 'file:') return openFolder(fileURLToPath(url));
  if (protocol !== 's3:')
    throw new Error(`${url} is not a place of a backup: name file:///… or s3://bucket/prefix`);
  if (s3 === undefined)
    throw new Error(
      'A backup in S3 needs RELATA_BACKUP_S3_ENDPOINT, RELATA_BACKUP_S3_ACCESS_KEY_ID and RELATA_BACKUP_S3_SECRET_ACCESS_KEY',
    );
  return openBucket({ ...s3, bucket: host }, decodeURIComponent(pathname).replace(/^\/|\/$/g, ''));
}

/** For commands that read a backup. @throws VanishedTarget when there is no such directory */
export async function openExisting(settings: TargetSettings): Promise<BackupTarget> {
  const target = openTarget(settings);
  if (!(await target.isThere()))
    throw new VanishedTarget(`${settings.url} is not there: mount the disk, or name another place`);
  return target;
}
