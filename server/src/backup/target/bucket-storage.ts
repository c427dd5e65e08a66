import { allowAddresses, createTimeouts, OutboundProblem } from '../../outbound/outbound.ts';
import { S3, type S3Place } from '../../outbound/s3/s3.ts';
import type { ObjectStorage } from './object-storage.ts';

/**
 * The operator names the address, so any address is allowed. A segment of a second is small, but a base copy may take a
 * day.
 */
const LIMITS = { connectMs: 10_000, idleMs: 30_000, wholeMs: 24 * 3_600_000 };

/** A bucket that holds the objects of a backup. */
export function openBucket(bucketPlace: S3Place, prefix: string): ObjectStorage {
  const open = () =>
    new S3(bucketPlace, {
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
    isThere: async () => true,
    async make() {},
    // Does nothing, because a request for each write would cost as much as the write. The check every minute reads the
    // mark.
    expectMark() {},
    async list(folder, after) {
      const names: string[] = [];
      const objects = open().list(`${before}${folder}/`, after && before + after);
      for await (const { key } of objects) names.push(key.slice(before.length));
      return names;
    },
    read: async (name) => (await unless('no_file', () => open().read(before + name)))?.bytes,
    write: (name, bytes, isNew = false) =>
      unless('changed', () => open().write(before + name, bytes, { isNew })),
    remove: (name) => open().remove(before + name),
  };
}
