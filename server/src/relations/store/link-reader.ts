import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import type { Operation, PayloadFiles, Program } from '../../storage/storage.ts';
import { type LinkLine, LinkPieces, LinkReader, packLines } from '../links/links.ts';
import type { AcceptedLinks, SentLinks } from '../port.ts';
import { countLinks, findKept } from './link-store.ts';

/** Reads lists of links as they come, and stores them in pieces that a task stages one after another. */

export interface LinkReaderParts {
  readonly payloads: PayloadFiles;
  read<Result>(projectId: number, program: Program<Result>): Promise<Result>;
}

export function linkOperations(parts: LinkReaderParts): Record<string, Operation> {
  return {
    acceptLinks: async (sent: SentLinks & { projectId: number }) => ({
      output: await acceptLinks(parts, sent),
    }),
  };
}

/** @throws request_invalid, body_too_large, body_not_unpacked, storage_full; then nothing is kept */
async function acceptLinks(
  { payloads, read }: LinkReaderParts,
  { projectId, relationId, bytes, encoding, maxMib, isCounted }: SentLinks & { projectId: number },
): Promise<AcceptedLinks> {
  const name = `links-${randomUUID()}`;
  const payloadNames: string[] = [];
  const kept = new DistinctNumbers();
  const pieces = new LinkPieces();
  const reader = new LinkReader((line) => pieces.add(line));

  async function store(lines: readonly LinkLine[]): Promise<void> {
    if (lines.length === 0) return;
    const next = `${name}-${payloadNames.length}`;
    // Named before it is there, so that one that was written by half goes too.
    payloadNames.push(next);
    await payloads.write(projectId, next, packLines(lines));
    if (isCounted) kept.add(await read(projectId, findKept(relationId, lines)));
  }

  try {
    for await (const chunk of unpack(bytes, encoding, maxMib)) {
      reader.add(chunk);
      if (pieces.isFull) await store(pieces.take());
    }
    reader.end();
    await store(pieces.take());
    const present = isCounted ? await read(projectId, countLinks(relationId)) : 0;
    return { payloadNames, present, kept: kept.count() };
  } catch (error) {
    for (const one of payloadNames) await payloads.remove(projectId, one).catch(() => {});
    throw error;
  }
}

const MIB = 1024 * 1024;
/** What is read of a body that is not packed before it is stored. */
const CHUNK_BYTES = 256 * 1024;

const UNPACK: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

async function* unpack(bytes: Uint8Array, encoding: string, maxMib: number): AsyncGenerator<Uint8Array> {
  const open = UNPACK[encoding];
  const chunks = open === undefined ? cut(bytes) : Readable.from(cut(bytes)).pipe(open());
  let length = 0;
  try {
    for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > maxMib * MIB) throw new ServiceError('body_too_large', { values: [maxMib] });
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ServiceError || open === undefined) throw error;
    throw new ServiceError('body_not_unpacked', {
      values: [encoding],
      details: [(error as Error).message],
      cause: error,
    });
  }
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  // Shared memory is copied: decoders take none.
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.slice(at, at + CHUNK_BYTES);
}

/** Numbers, some of them several times, at eight bytes each. */
class DistinctNumbers {
  private numbers = new Float64Array(1_024);
  private length = 0;

  add(added: readonly number[]): void {
    if (this.length + added.length > this.numbers.length) {
      const larger = new Float64Array((this.length + added.length) * 2);
      larger.set(this.numbers.subarray(0, this.length));
      this.numbers = larger;
    }
    this.numbers.set(added, this.length);
    this.length += added.length;
  }

  count(): number {
    const sorted = this.numbers.subarray(0, this.length).sort();
    return sorted.reduce((count, number, at) => (at > 0 && number === sorted[at - 1] ? count : count + 1), 0);
  }
}
