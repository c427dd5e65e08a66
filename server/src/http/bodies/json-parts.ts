import { setImmediate as nextTurn } from 'node:timers/promises';
import { deserialize, serialize } from 'node:v8';
import { weighJson } from '../../kernel/json-scan.ts';

/** A value as it goes from one thread to another, in parts of which each is read in about a millisecond. */
export interface PackedValue {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each part ends. */
  readonly ends: readonly number[];
}

interface Part {
  /** Where its members belong in the whole. */
  readonly path: readonly (string | number)[];
  readonly members: unknown;
}

type Container = Record<string | number, unknown>;

/** Values of a part. Read at once, 400,000 take 200 ms. */
const PART_VALUES = 2_000;

/** Packs a value that JSON can hold, or undefined. */
export function packValue(value: unknown): PackedValue {
  const parts = Array.from(cutValue(value), (part) => serialize(part));
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  const ends: number[] = [];
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
    ends.push(end);
  }
  return { bytes, ends };
}

/** Lets others have their turn between two parts. @returns what was packed */
export async function unpackValue({ bytes, ends }: PackedValue): Promise<unknown> {
  let whole: unknown;
  let from = 0;
  for (const end of ends) {
    const { path, members } = deserialize(bytes.subarray(from, end)) as Part;
    if (from === 0) whole = members;
    else {
      await nextTurn();
      const place = path.reduce<unknown>((within, name) => (within as Container)[name], whole);
      if (Array.isArray(place)) place.push(...(members as unknown[]));
      else Object.assign(place as Container, members);
    }
    from = end;
  }
  return whole;
}

/** Lists and objects that are too large for a part come empty at first, and their members in parts that follow. */
function* cutValue(value: unknown): Generator<Part> {
  const large: LargeContainer[] = [];
  yield { path: [], members: leaveOut({ path: [], member: value }, large).member };
  for (const { path, whole } of large) {
    let members = emptyOf(whole);
    let weight = 0;
    for (const [name, sent] of membersOf(whole)) {
      const { member, own } = leaveOut({ path: [...path, name], member: sent }, large);
      if (Array.isArray(members)) members.push(member);
      else members[name] = member;
      weight += own;
      if (weight < PART_VALUES) continue;
      yield { path, members };
      members = emptyOf(whole);
      weight = 0;
    }
    yield { path, members };
  }
}

interface LargeContainer {
  readonly path: Part['path'];
  readonly whole: Container;
}

/** @returns what goes into the part, and how many values it counts for; adds a container that is too large to the list of those */
function leaveOut({ path, member }: { path: Part['path']; member: unknown }, large: LargeContainer[]) {
  const own = weighJson(PART_VALUES, member);
  if (own <= PART_VALUES || typeof member !== 'object' || member === null) return { member, own };
  const whole = member as Container;
  large.push({ path, whole });
  return { member: emptyOf(whole), own: 1 };
}

const emptyOf = (whole: Container): Container => (Array.isArray(whole) ? ([] as unknown as Container) : {});
const membersOf = (whole: Container) => (Array.isArray(whole) ? whole.entries() : Object.entries(whole));
