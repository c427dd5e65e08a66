export interface JsonLimits {
  readonly values: number;
  readonly names: number;
  /** The most bytes of one string, as it is written. */
  readonly text: number;
  /** The list that makes up most of a body, and the code of the refusal if it has too many elements. */
  readonly list?: { readonly most: number; readonly code: 'too_many_identifiers' | 'bad_request' };
}

/** Source: docs/interface §2.3 rule 8. */
export const JSON_DEPTH = 32;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPENS_LIST, OPENS_OBJECT, CLOSES_LIST, CLOSES_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

/**
 * Counts the values of a JSON text and stops at the first limit that is exceeded. Any content takes 1 to 2 ms per MiB.
 */
export function countJson(bytes: Uint8Array, limits: JsonLimits): JsonCounts {
  const counts = new JsonCounts(limits);
  const { length } = bytes;
  const longest = limits.text + 1;
  for (let offset = 0; offset < length; offset += 1) {
    const byte = bytes[offset] as number;
    if (byte === QUOTE) {
      const end = findEndOfString(bytes, offset + 1);
      if (end - offset > longest && !counts.stop('text')) break;
      offset = end;
    } else if (!counts.take(byte, offset)) break;
  }
  return counts;
}

/** This is a loop, because most strings are short and a native search for the quote takes 50 ns to start. */
function findEndOfString(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  for (let offset = from; offset < length; offset += 1) {
    const byte = bytes[offset];
    if (byte === QUOTE) return offset;
    if (byte === BACKSLASH) offset += 1;
  }
  return length;
}

/**
 * Counts the values in a JSON text from its bytes, before a parser allocates them. A parser allocates up to 60 bytes
 * for three bytes of text, and a compressed body may grow a thousandfold. The count does not check whether the text is
 * JSON. The fields are integers and the count allocates nothing, because a large body takes up to 8 million steps.
 */
export class JsonCounts {
  /** The number of commas, lists and objects, which is about the number of values. An empty list counts twice. */
  values = 1;
  /** Members of objects. A new name takes the parser 1 to 2 µs, ten times as long as a value of a list. */
  names = 0;
  /** The limit at which the count stopped. */
  beyond: 'depth' | Exclude<keyof JsonLimits, 'list'> | undefined;
  private depth = 0;
  private widestAt = 0;
  private widestDepth = 0;
  private widestMembers = 1;
  private readonly limits: JsonLimits;
  private readonly openingOffsets = new Int32Array(JSON_DEPTH + 2);
  private readonly members = new Int32Array(JSON_DEPTH + 2);

  constructor(limits: JsonLimits) {
    this.limits = limits;
  }

  /**
   * The list or object with the most members: the offset of its opening bracket, its depth (from 1) and its member
   * count.
   */
  get widest() {
    return { at: this.widestAt, depth: this.widestDepth, members: this.widestMembers };
  }

  /** @returns whether all limits are still respected */
  take(byte: number, offset: number): boolean {
    if (byte === COMMA) return this.addMember();
    if (byte === COLON) return this.addName();
    if (byte === OPENS_LIST || byte === OPENS_OBJECT) return this.open(offset);
    if ((byte === CLOSES_LIST || byte === CLOSES_OBJECT) && this.depth > 0) this.depth -= 1;
    return true;
  }

  private addName(): boolean {
    this.names += 1;
    return this.names <= this.limits.names || this.stop('names');
  }

  private addMember(): boolean {
    const { depth } = this;
    const members = (this.members[depth] as number) + 1;
    this.members[depth] = members;
    if (members > this.widestMembers) {
      this.widestAt = this.openingOffsets[depth] as number;
      this.widestDepth = depth;
      this.widestMembers = members;
    }
    return this.addValue();
  }

  private open(offset: number): boolean {
    this.depth += 1;
    this.openingOffsets[this.depth] = offset;
    this.members[this.depth] = 1;
    return this.depth > JSON_DEPTH ? this.stop('depth') : this.addValue();
  }

  private addValue(): boolean {
    this.values += 1;
    return this.values <= this.limits.values || this.stop('values');
  }

  stop(limit: NonNullable<JsonCounts['beyond']>): false {
    this.beyond = limit;
    return false;
  }
}

/** @returns the limit that a text exceeds, in words for the caller; undefined if it exceeds none */
export function describeExcess({ beyond }: JsonCounts, limits: JsonLimits): string | undefined {
  if (beyond === undefined) return undefined;
  if (beyond === 'depth') return `the body is nested deeper than ${JSON_DEPTH} levels`;
  const most = limits[beyond].toLocaleString('en');
  if (beyond === 'text') return `the body holds a string of more than ${most} bytes`;
  return `the body holds more than ${most} ${beyond === 'names' ? 'fields' : 'values'}`;
}

/** @returns the value of a JSON text; undefined for any other text, because the caller reports its own error */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns whether a parsed value has more than the given number of values; a long string counts as several */
export const holdsMoreThan = (most: number, value: unknown): boolean => weighJson(most, value) > most;

/**
 * Stops counting above the limit.
 * @returns the number of values in a parsed value; a long string counts as several
 */
export function weighJson(most: number, value: unknown): number {
  let weight = 0;
  const open = [value];
  while (open.length > 0 && weight <= most) {
    const part = open.pop();
    weight += typeof part === 'string' ? 1 + part.length / 1_024 : 1;
    const members = membersOf(part);
    if (weight + members.length > most) weight += members.length;
    else open.push(...members);
  }
  return weight;
}

function membersOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}
