import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createZstdCompress, zstdDecompress } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import type { Postgres } from '../postgres/postgres.ts';
import { createPayloadWriter, type PayloadFiles, type PieceTarget } from './payload-files.ts';

const decompress = promisify(zstdDecompress);

/** One value of PostgreSQL; a part is read and written as one message. */
const PART_BYTES = 4 * 1024 * 1024;
/** What the packer hands over at a time. */
const PACKED_BYTES = 256 * 1024;

/**
 * Bodies as rows, so that any process can run the task that they belong to. They are compressed: JSON becomes a tenth,
 * which the network, the write-ahead log and the replicas carry instead.
 */
export function createPayloadRows(postgres: Postgres): PayloadFiles {
  const begin = (projectId: number, name: string) =>
    createPayloadWriter(name, async () =>
      packRows((packed) => insertParts(postgres, { projectId, name }, packed)),
    );
  return {
    open: begin,
    write: (projectId, name, bytes) => begin(projectId, name).finish(bytes),
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

/** Packs while the rest is received; the rows are written when all of it is there: no connection waits for a sender. */
function packRows(insert: (packed: Buffer) => Promise<void>): PieceTarget {
  const packer = createZstdCompress({
    chunkSize: PACKED_BYTES,
    params: { [constants.ZSTD_c_checksumFlag]: 1 },
  });
  const packed: Buffer[] = [];
  packer.on('data', (chunk: Buffer) => packed.push(chunk));
  // The writer is told of it.
  packer.on('error', () => {});
  return {
    write: (piece) =>
      new Promise((resolve, reject) =>
        packer.write(piece, (error) => (error == null ? resolve() : reject(error))),
      ),
    async close() {
      packer.end();
      await finished(packer);
      await insert(Buffer.concat(packed));
    },
    drop: async () => void packer.destroy(),
  };
}

async function insertParts(postgres: Postgres, of: PayloadKey, packed: Buffer): Promise<void> {
  await postgres.transaction(async (tx) => {
    for (let part = 0; part * PART_BYTES < packed.length; part += 1) {
      await tx.run(
        `insert into payload (project_id, name, part, bytes, created_at)
         values ($1, $2, $3, $4, extract(epoch from clock_timestamp()) * 1000)`,
        [of.projectId, of.name, part, packed.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)],
      );
    }
  });
}

interface PayloadKey {
  readonly projectId: number;
  readonly name: string;
}

/** @throws payload_damaged when its rows are not those that were written, or not there */
async function readPayloadRows(
  postgres: Postgres,
  projectId: number,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts = await postgres.rows<{ bytes: Buffer }>(
    'select bytes from payload where project_id = $1 and name = $2 order by part',
    [projectId, name],
  );
  const bytes = await decompress(Buffer.concat(parts.map((part) => part.bytes))).catch((cause: unknown) => {
    throw new ServiceError('payload_damaged', { values: [name], cause });
  });
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}
