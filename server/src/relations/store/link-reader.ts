import { randomUUID } from 'node:crypto';
import { type Operation, type PayloadFiles, type Program, unpackParts } from '../../storage/storage.ts';
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
    for await (const chunk of unpackParts(cut(bytes), encoding, maxMib)) {
      reader.add(chunk);
      if (pieces.isFull) await store(pieces.take());
    }
    reader.end();
    await store(pieces.take());
    const present = isCounted ? await read(projectId, countLinks(relationId)) : 0;
    return { payloadNames, present, kept: kept.count() };
  } catch (error) {
    // The refusal is what counts; payloads that stay are removed at a later start.
    for (const one of payloadNames) await payloads.remove(projectId, one).catch(() => {});
    throw error;
  }
}

/** What is read of a body at a time. */
const CHUNK_BYTES = 256 * 1024;

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
