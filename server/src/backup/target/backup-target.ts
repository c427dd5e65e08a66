import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { S3Place } from '../../outbound/s3/s3.ts';
import { openBucket } from './bucket-storage.ts';
import { FolderStorage } from './folder-storage.ts';
import { type ObjectStorage, VanishedTarget } from './object-storage.ts';
import {
  DamagedObject,
  type Entry,
  packObject,
  packText,
  type Reading,
  refuseUnauthenticated,
  type Seal,
  unpackObject,
  unpackText,
} from './objects.ts';

export interface TargetSettings {
  /** `file:///…` or `s3://bucket/prefix`. */
  readonly url: string;
  readonly s3: Omit<S3Place, 'bucket'> | undefined;
  /** undefined: nothing is encrypted, and nothing is authenticated. */
  readonly key?: Uint8Array | undefined;
  /** Whether objects that the key does not authenticate are also read. */
  readonly isUnauthenticated?: boolean;
}

/** The object that states which backup a target holds. */
export const IDENTITY = 'identity';
const ID = /^[0-9a-f]{32}$/;
/** The maximum size of a text. */
const TEXT_BYTES = 64 * 1024;

export const makeBackupId = () => randomBytes(16).toString('hex');

/** Creates and requests nothing before the first call. @throws Error that names the setting */
export const openTarget = (settings: TargetSettings): BackupTarget =>
  new BackupTarget(openStorage(settings), settings);

/**
 * Where a backup is stored. All code reads and writes the objects of a backup through this class. So with a key,
 * everything that is read is authenticated as written under this name and for this backup.
 */
export class BackupTarget {
  readonly url: string;
  private readonly storage: ObjectStorage;
  private readonly key: Uint8Array | undefined;
  private readonly isUnauthenticated: boolean;
  /** The id of the backup that is read and written. */
  private backup: string | undefined;

  constructor(storage: ObjectStorage, { url, key, isUnauthenticated = false }: TargetSettings) {
    this.storage = storage;
    this.url = url;
    this.key = key;
    this.isUnauthenticated = isUnauthenticated;
  }

  isThere(): Promise<boolean> {
    return this.storage.isThere();
  }

  make(): Promise<void> {
    return this.storage.make();
  }

  list(folder: string, after?: string): Promise<string[]> {
    return this.storage.list(folder, after);
  }

  remove(name: string): Promise<void> {
    return this.storage.remove(name);
  }

  /** @returns the id of the backup that is read and written */
  own(): string | undefined {
    return this.backup;
  }

  /** Sets the backup that is read and written from now on, before the target has an identity. */
  adopt(id: string): void {
    this.backup = id;
    this.storage.expectMark(IDENTITY, undefined);
  }

  /** @returns the id of the backup that the target holds; undefined: it holds none, or one of an earlier version */
  async findIdentity(): Promise<string | undefined> {
    const bytes = await this.readBytes(IDENTITY);
    if (bytes === undefined) return undefined;
    const reading = { seal: this.sealFor(''), isUnauthenticated: this.isUnauthenticated };
    const id = readId(await unpackText(IDENTITY, reading, bytes));
    this.backup ??= id;
    if (id === this.backup) this.storage.expectMark(IDENTITY, bytes);
    return id;
  }

  /** Writes to the target which backup it holds. From then on, a directory without this identity counts as vanished. */
  async writeIdentity(id: string): Promise<void> {
    const bytes = packText(IDENTITY, this.sealFor(''), JSON.stringify({ backup: id }));
    await this.storage.write(IDENTITY, Readable.from([bytes]));
    this.backup = id;
    this.storage.expectMark(IDENTITY, bytes);
  }

  /** @returns undefined if the object does not exist or is empty */
  async readText(name: string): Promise<string | undefined> {
    const bytes = await this.readBytes(name);
    if (bytes === undefined || bytes.length === 0) return undefined;
    return unpackText(name, await this.readingOf(name), bytes);
  }

  /** @param isNew whether the object must not exist yet. @returns whether it was written */
  async writeText(name: string, text: string, isNew = false): Promise<boolean> {
    const bytes = packText(name, this.sealOfOwn(), text);
    return (await this.storage.write(name, Readable.from([bytes]), isNew)) !== undefined;
  }

  /** @throws DamagedObject if the object is missing, differs from what was written, or is not authenticated */
  async *readEntries(name: string): AsyncGenerator<Entry> {
    const reading = await this.readingOf(name);
    const bytes = await this.storage.read(name);
    if (bytes === undefined) throw new DamagedObject(`${name} is missing`);
    yield* unpackObject(name, reading, bytes);
  }

  /** @returns the number of bytes that were written */
  async writeEntries(name: string, entries: AsyncIterable<Entry>): Promise<number> {
    return (await this.storage.write(name, packObject(name, this.sealOfOwn(), entries))) ?? 0;
  }

  private async readBytes(name: string): Promise<Buffer | undefined> {
    const pieces = await this.storage.read(name);
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

  /** @throws UnauthenticatedObject if no object states to which backup it belongs */
  private async readingOf(name: string): Promise<Reading> {
    const { key, isUnauthenticated } = this;
    if (key === undefined) return { seal: undefined };
    const id = this.backup ?? (await this.findIdentity());
    if (id === undefined && !isUnauthenticated) throw refuseUnauthenticated(name);
    return { seal: this.sealFor(id ?? ''), isUnauthenticated };
  }

  private sealFor(id: string): Seal | undefined {
    return this.key && { key: this.key, backup: id };
  }

  private sealOfOwn(): Seal | undefined {
    if (this.key !== undefined && this.backup === undefined)
      throw new Error('the id of the backup is not known yet');
    return this.sealFor(this.backup ?? '');
  }
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

function openStorage({ url, s3 }: TargetSettings): ObjectStorage {
  const { protocol, host, pathname } = new URL(url);
  if (protocol === 'file:') return new FolderStorage(fileURLToPath(url));
  if (protocol !== 's3:')
    throw new Error(`${url} is not a valid backup target: name file:///… or s3://bucket/prefix`);
  if (s3 === undefined)
    throw new Error(
      'A backup in S3 needs RELATA_BACKUP_S3_ENDPOINT, RELATA_BACKUP_S3_ACCESS_KEY_ID and RELATA_BACKUP_S3_SECRET_ACCESS_KEY',
    );
  return openBucket({ ...s3, bucket: host }, decodeURIComponent(pathname).replace(/^\/|\/$/g, ''));
}

/** For commands that read a backup. @throws VanishedTarget if the directory does not exist */
export async function openExisting(settings: TargetSettings): Promise<BackupTarget> {
  const target = openTarget(settings);
  if (!(await target.isThere()))
    throw new VanishedTarget(`${settings.url} does not exist: mount the disk, or name another target`);
  return target;
}
