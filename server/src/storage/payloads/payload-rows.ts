import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Postgres } from '../postgres/postgres.ts';
import type { PayloadFiles } from './payload-files.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** One value of PostgreSQL; a part is read and written as one message. */
const PART_BYTES = 4 * 1024 * 1024;

/**
 * Bodies as rows, so that any process can run the task that they belong to. They are compressed: JSON becomes a tenth,
 * which the network, the write-ahead log and the replicas carry instead.
 */
export function createPayloadRows(postgres: Postgres): PayloadFiles {
  return {
    async write(projectId, name, bytes) {
      const packed = await compress(bytes);
      await postgres.transaction(async (tx) => {
        for (let part = 0; part * PART_BYTES < packed.length; part += 1) {
          await tx.run(
            `insert into payload (project_id, name, part, bytes, created_at)
             values ($1, $2, $3, $4, extract(epoch from clock_timestamp()) * 1000)`,
            [projectId, name, part, packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)],
          );
        }
      });
    },
    read: (projectId, name) => readPayloadRows(postgres, projectId, name),
    async remove(projectId, name) {
      await postgres.run('delete from payload where project_id = $1 and name = $2', [projectId, name]);
    },
    async listOlderThan(ms) {
      return postgres.rows(
        `select distinct project_id as "projectId", name from payload
         where created_at < extract(epoch from clock_timestamp()) * 1000 - $1::bigint`,
        [ms],
      );
    },
  };
}

/** @throws Error when it is not there */
async function readPayloadRows(
  postgres: Postgres,
  projectId: number,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = await postgres.rows<{ bytes: Buffer }>(
    'select bytes from payload where project_id = $1 and name = $2 order by part',
    [projectId, name],
  );
  if (parts.length === 0) throw new Error(`the payload ${name} of project ${projectId} is gone`);
  const bytes = await decompress(Buffer.concat(parts.map((part) => part.bytes)));
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}
