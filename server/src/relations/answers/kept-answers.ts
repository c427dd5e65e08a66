import type { ByteCache, CacheSpace } from '../../storage/storage.ts';
import type { Frame } from '../port.ts';
import type { RelateInput, RelateOutput } from './related-answers.ts';

/** Requests that ask the same of other products share their number: the kept answers are of a request and a product. */
const KEPT_SIGNATURES = 10_000;

/** Answers in memory, by catalog version, request and product. */
export interface KeptAnswers {
  /** @returns the answers of one version, out of memory where they are there; `read` finds the others */
  relate(
    request: RelateInput,
    from: { version: number; frame: Frame; read(input: RelateInput): Promise<RelateOutput> },
  ): Promise<Buffer>;
}

export function createKeptAnswers(cache: ByteCache): KeptAnswers {
  const signatures = new Map<string, number>();
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
      if (!places.includes(-1)) return joinKept(space, places, { labels, frame });
      // Taken out now: what is read and kept meanwhile may push it out.
      const kept = Array.from(places, (place) => (place < 0 ? undefined : copyOut(space, place)));
      const missing = request.identifiers.filter((_, at) => kept[at] === undefined);
      const found = await read({ ...request, identifiers: missing });
      if (found.version !== version) {
        // The catalog has changed, or the reader is behind: one answer is of one version.
        const all = missing.length < kept.length ? await read(request) : found;
        return joinParts(labels, splitAnswers(all), frame);
      }
      const answers = splitAnswers(found);
      let next = 0;
      const parts = kept.map((bytes, at) => {
        if (bytes !== undefined) return bytes;
        const answer = answers[next++] as Uint8Array;
        space.keep(keys[at] as string, answer);
        return answer;
      });
      return joinParts(labels, parts, frame);
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

function joinParts(labels: readonly Buffer[], parts: readonly Uint8Array[], { head, tail }: Frame): Buffer {
  const joined = labels.flatMap((label, at) => [label, parts[at] as Uint8Array]);
  return Buffer.concat([Buffer.from(head), ...joined, Buffer.from(tail)]);
}

function joinKept(
  space: CacheSpace,
  places: Int32Array,
  { labels, frame: { head, tail } }: { labels: readonly Buffer[]; frame: Frame },
): Buffer {
  let length = head.length + tail.length;
  for (const [at, label] of labels.entries()) length += label.length + space.lengthAt(places[at] as number);
  const joined = Buffer.allocUnsafe(length);
  let end = joined.write(head, 'latin1');
  for (const [at, label] of labels.entries()) {
    end += label.copy(joined, end);
    space.mark(places[at] as number, 1);
    end += space.copy(places[at] as number, joined, end);
  }
  joined.write(tail, end, 'latin1');
  return joined;
}

function splitAnswers({ bytes, ends }: RelateOutput): Uint8Array[] {
  return Array.from(ends, (end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
}
