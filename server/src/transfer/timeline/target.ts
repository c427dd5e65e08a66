import { writeSync } from 'node:fs';
import { link, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { allowAddresses, createTimeouts, OutboundProblem } from '../../outbound/outbound.ts';
import { S3, type S3Place } from '../../outbound/s3/s3.ts';
import { makeFolders, syncFolder } from '../../storage/storage.ts';

/** Where a backup is stored: objects by names with slashes, each written completely or not at all. */
export interface BackupTarget {
  /** @returns the names that begin with the folder, in order. @param after only names behind this one */
  list(folder: string, after?: string): Promise<string[]>;
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** @param bytes pieces, each valid until the next is taken. @param isNew it must not exist. @returns its durable size; undefined: it existed */
  write(name: string, bytes: AsyncIterable<Uint8Array>, isNew?: boolean): Promise<number | undefined>;
  remove(name: string): Promise<void>;
}

export interface TargetSettings {
  /** `file:///…` or `s3://bucket/prefix`. */
  readonly url: string;
  readonly s3: Omit<S3Place, 'bucket'> | undefined;
}

/** Nothing is created or requested before the first call. @throws Error that names the setting */
export function openTarget({ url, s3 }: TargetSettings): BackupTarget {
  const { protocol, host, pathname } = new URL(url);
  if (protocol === 'file:') return openFolder(fileURLToPath(url));
  if (protocol !== 's3:')
    throw new Error(`${url} is no place of a backup: name file:///… or s3://bucket/prefix`);
  if (s3 === undefined)
    throw new Error(
      'A backup in S3 needs RELATA_BACKUP_S3_ENDPOINT, RELATA_BACKUP_S3_ACCESS_KEY_ID and RELATA_BACKUP_S3_SECRET_ACCESS_KEY',
    );
  return openBucket({ ...s3, bucket: host }, decodeURIComponent(pathname).replace(/^\/|\/$/g, ''));
}

function openFolder(root: string): BackupTarget {
  const parts = join(root, 'parts');
  const unlessMissing = (error: { code?: string }) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  };
  return {
    async list(folder, after = '') {
      const all = readdir(join(root, folder), { recursive: true, withFileTypes: true });
      const found = (await all.catch(unlessMissing)) ?? [];
      const paths = found
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
      const names = paths.map((path) => path.slice(root.length + 1).replaceAll('\\', '/'));
      return names.filter((name) => name > after).sort();
    },
    async read(name) {
      const file = await open(join(root, name)).catch(unlessMissing);
      return file?.createReadStream({ highWaterMark: 1024 * 1024 });
    },
    async write(name, bytes, isNew = false) {
      const [path, part] = [join(root, name), join(parts, name.replaceAll('/', '-'))];
      makeFolders(parts);
      makeFolders(dirname(path));
      const file = await open(part, 'w', 0o600);
      let length = 0;
      try {
        for await (const piece of bytes) length += writeNow(file.fd, piece);
        await file.sync();
      } finally {
        await file.close();
      }
      if (isNew && !(await linkNew(part, path))) return undefined;
      if (!isNew) await rename(part, path);
      await syncFolder(dirname(path));
      return length;
    },
    remove: (name) => rm(join(root, name), { force: true }),
  };
}

/** Passing a piece to another thread takes longer than writing it; only the sync waits for the disk. @returns its length */
function writeNow(file: number, piece: Uint8Array): number {
  for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
  return piece.length;
}

/** @returns whether the name was free */
async function linkNew(part: string, path: string): Promise<boolean> {
  try {
    await link(part, path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

/** The operator names the address, so any is allowed; a segment of a second is small, a base copy may take a day. */
const LIMITS = { connectMs: 10_000, idleMs: 30_000, wholeMs: 24 * 3_600_000 };

function openBucket(place: S3Place, prefix: string): BackupTarget {
  const open = () =>
    new S3(place, {
      allows: allowAddresses(['0.0.0.0/0', '::/0']),
      resolve: undefined,
      timeouts: createTimeouts(LIMITS, 'The server'),
      signal: undefined,
    });
  const before = prefix === '' ? '' : `${prefix}/`;
  const unless = async <Result>(reason: OutboundProblem['reason'], work: () => Promise<Result>) => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OutboundProblem && error.reason === reason) return undefined;
      throw error;
    }
  };
  return {
    async list(folder, after) {
      const names: string[] = [];
      const found = open().list(`${before}${folder}/`, after && before + after);
      for await (const { key } of found) names.push(key.slice(before.length));
      return names;
    },
    read: async (name) => (await unless('no_file', () => open().read(before + name)))?.bytes,
    write: (name, bytes, isNew = false) =>
      unless('changed', () => open().write(before + name, bytes, { isNew })),
    remove: (name) => open().remove(before + name),
  };
}

/** @returns all bytes of a small object */
export async function readSmall(target: BackupTarget, name: string): Promise<Buffer | undefined> {
  const bytes = await target.read(name);
  return bytes && buffer(bytes);
}

export const writeSmall = (
  target: BackupTarget,
  name: string,
  { text, isNew = false }: { text: string; isNew?: boolean },
): Promise<number | undefined> => target.write(name, Readable.from([Buffer.from(text)]), isNew);
