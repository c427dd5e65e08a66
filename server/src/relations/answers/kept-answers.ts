import { type AnswerBuffers, createAnswerBuffers } from '../../catalog/catalog.ts';
import { type ByteCache, type CacheSpace, countPassedAtOnce } from '../../storage/storage.ts';
import type { Frame, RelatedBytes } from '../port.ts';
import type { RelateInput, RelateOutput } from './related-answers.ts';

/** Requests that ask the same of other products share their number: the kept answers are of a request and a product. */
const KEPT_SIGNATURES = 10_000;

/** Answers in memory, by catalog version, request and product. */
export interface KeptAnswers {
  /** @returns the answers of one version, out of memory where they are there; `read` finds the others */
  relate(
    request: RelateInput,
    from: { version: number; frame: Frame; read(input: RelateInput): Promise<RelateOutput> },
  ): Promise<RelatedBytes>;
}

export function createKeptAnswers(cache: ByteCache): KeptAnswers {
  const signatures = new Map<string, number>();
  const buffers = createAnswerBuffers();
  let lastNumber = 0;

  function numberOf({ tags, form, explain, brandAttribute }: RelateInput): number {
    const signature = JSON.stringify([tags, form, explain, brandAttribute]);
    const known = signatures.get(signature);
    if (known !== undefined) return known;
    if (signatures.size >= KEPT_SIGNATURES) signatures.clear();
    lastNumber += 1;
    signatures.set(signature, lastNumber);
    return lastNumber;
  }

  return {
    async relate(request, { version, frame, read }) {
      const space = cache.of(`relations of ${request.projectId}`, version);
      const number = numberOf(request);
      const keys = request.identifiers.map((identifier) => `${number} ${identifier}`);
      const labels = describeLabels(request);
      const places = space.findAll(keys);
      if (!places.includes(-1)) return joinKept(space, places, { labels, frame, buffers });
      // Taken out now: what is read and kept meanwhile may push it out.
      const kept = Array.from(places, (place) => (place < 0 ? undefined : copyOut(space, place)));
      const missing = request.identifiers.filter((_, at) => kept[at] === undefined);
      const found = await read({ ...request, identifiers: missing });
      countPassedAtOnce(found.bytes.length);
      if (found.version !== version) {
        // The catalog has changed, or the reader is behind: one answer is of one version.
        const all = missing.length < kept.length ? await read(request) : found;
        return joinParts(splitAnswers(all), { labels, frame, buffers });
      }
      const answers = splitAnswers(found);
      let next = 0;
      const parts = kept.map((bytes, at) => {
        if (bytes !== undefined) return bytes;
        const answer = answers[next++] as Uint8Array;
        space.keep(keys[at] as string, answer);
        return answer;
      });
      return joinParts(parts, { labels, frame, buffers });
    },
  };
}

function copyOut(space: CacheSpace, place: number): Uint8Array {
  space.mark(place, 1);
  const bytes = new Uint8Array(space.lengthAt(place));
  space.copy(place, bytes, 0);
  return bytes;
}

/** What stands before the answer of each product: in the bulk form its identifier, and a comma from the second on. */
function describeLabels({ identifiers, form }: RelateInput): Buffer[] {
  return identifiers.map((identifier, at) =>
    Buffer.from(form === 'bulk' ? `${at > 0 ? ',' : ''}${JSON.stringify(identifier)}:` : ''),
  );
}

/** What stands around answers, and where they are joined. */
interface Joining {
  readonly labels: readonly Buffer[];
  readonly frame: Frame;
  readonly buffers: AnswerBuffers;
}

function joinParts(parts: readonly Uint8Array[], joining: Joining): RelatedBytes {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return join(joining, bytes, (at, joined, end) => {
    const part = parts[at] as Uint8Array;
    joined.set(part, end);
    return part.length;
  });
}

function joinKept(space: CacheSpace, places: Int32Array, joining: Joining): RelatedBytes {
  const bytes = places.reduce((sum, place) => sum + space.lengthAt(place), 0);
  return join(joining, bytes, (at, joined, end) => {
    space.mark(places[at] as number, 1);
    return space.copy(places[at] as number, joined, end);
  });
}

/** `write`: puts an answer at the place, and says how long it is; all of them are `bytes` long. */
function join(
  { labels, frame: { head, tail }, buffers }: Joining,
  bytes: number,
  write: (at: number, joined: Buffer, end: number) => number,
): RelatedBytes {
  const length = labels.reduce((sum, label) => sum + label.length, head.length + bytes + tail.length);
  const { buffer, release } = buffers.take(length);
  let end = buffer.write(head, 'latin1');
  for (const [at, label] of labels.entries()) {
    end += label.copy(buffer, end);
    end += write(at, buffer, end);
  }
  buffer.write(tail, end, 'latin1');
  return { bytes: buffer.subarray(0, length), release };
}

function splitAnswers({ bytes, ends }: RelateOutput): Uint8Array[] {
  return Array.from(ends, (end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
}
