import type { UploadedProduct } from './product.ts';

/**
 * What stands before the parts of an upload as it is stored. A quote in a string is escaped, so each is found where it is
 * meant.
 */
const IDENTIFIER = '{"identifier":';
const GROUP = ',"groupIdentifier":';
const NAME = ',"name":';
const LINK = ',"productUrl":';
const IMAGES = ',"images":';
const CATEGORIES = ',"categories":';
const KEY = '{"key":"';
const VALUE = '","value":"';

/** Where the front of an upload ends: its attributes. */
export const FRONT_END = ',"attributes":[';

const QUOTE = '"';
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSING_LIST = 0x5d;
const CLOSING_OBJECT = 0x7d;

/** An upload as it is stored, of which what is looked at is parsed: all of it takes three times as long as to read it. */
export class StoredUpload implements UploadedProduct {
  readonly raw: string;
  /** Where the first attribute begins; 0: it is not as uploads are stored, and was parsed. */
  readonly attributesStart: number;
  readonly #group: number;
  readonly #name: number;
  readonly #link: number;
  readonly #images: number;
  readonly #categories: number;
  readonly #attributes: number;
  #parsed: UploadedProduct | undefined;

  constructor(raw: string) {
    this.raw = raw;
    this.#group = raw.indexOf(GROUP);
    this.#name = raw.indexOf(NAME, this.#group);
    this.#link = raw.indexOf(LINK, this.#name);
    this.#images = raw.indexOf(IMAGES, this.#link);
    this.#categories = raw.indexOf(CATEGORIES, this.#images);
    this.#attributes = raw.indexOf(FRONT_END, this.#categories);
    const parts = [this.#group, this.#name, this.#link, this.#images, this.#categories, this.#attributes];
    this.attributesStart = parts.includes(-1) ? 0 : this.#attributes + FRONT_END.length;
    if (this.attributesStart === 0) this.parse();
  }

  parse(): UploadedProduct {
    this.#parsed ??= JSON.parse(this.raw) as UploadedProduct;
    return this.#parsed;
  }

  get identifier(): string {
    return this.#parsed?.identifier ?? this.#read(IDENTIFIER.length, this.#group);
  }

  get groupIdentifier(): string {
    return this.#parsed?.groupIdentifier ?? this.#read(this.#group + GROUP.length, this.#name);
  }

  get name(): string {
    return this.#parsed?.name ?? this.#read(this.#name + NAME.length, this.#link);
  }

  get productUrl(): string {
    return this.#parsed?.productUrl ?? this.#read(this.#link + LINK.length, this.#images);
  }

  get images(): UploadedProduct['images'] {
    return this.#parsed?.images ?? this.#parse(this.#images + IMAGES.length, this.#categories);
  }

  get categories(): UploadedProduct['categories'] {
    return this.#parsed?.categories ?? this.#parse(this.#categories + CATEGORIES.length, this.#attributes);
  }

  get attributes(): UploadedProduct['attributes'] {
    return this.parse().attributes;
  }

  /** They stand behind the attributes: an upload that ends with those has none. */
  get settings(): UploadedProduct['settings'] {
    return this.raw.endsWith(']}') ? undefined : this.parse().settings;
  }

  #read(start: number, end: number): string {
    return readText(this.raw, start + 1, end - 1);
  }

  #parse<Part>(start: number, end: number): Part {
    return JSON.parse(this.raw.slice(start, end)) as Part;
  }
}

/** @returns what the inside of a string of JSON stands for */
function readText(raw: string, start: number, end: number): string {
  const text = raw.slice(start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** A key of uploads as it is stored. */
interface StoredKey {
  /** From the beginning of an attribute to its value. */
  readonly prefix: string;
  /** undefined: its values are not read. */
  readonly place: number | undefined;
  /** The key that followed last time, which mostly follows again. */
  next: StoredKey | undefined;
}

/** Keys without a place are without number. */
const CACHED_KEYS = 20_000;

/** Finds values in uploads as they are stored, by places that keys have. */
export class StoredValues {
  readonly #placeOf: (key: string) => number | undefined;
  readonly #keys = new Map<string, StoredKey>();
  #first: StoredKey | undefined;

  constructor(placeOf: (key: string) => number | undefined) {
    this.#placeOf = placeOf;
  }

  /** @returns values by place, in their order; undefined for an upload to be parsed: one has more beside its key */
  read({ raw, attributesStart }: StoredUpload): string[][] | undefined {
    if (attributesStart === 0) return undefined;
    const values: string[][] = [];
    let before: StoredKey | undefined;
    for (let at = attributesStart; raw.charCodeAt(at) !== CLOSING_LIST; ) {
      before = this.#follow(raw, before, at);
      const start = at + before.prefix.length;
      const end = endOfText(raw, start);
      if (raw.charCodeAt(end + 1) !== CLOSING_OBJECT) return undefined;
      if (before.place !== undefined) addValue(values, before.place, readText(raw, start, end));
      at = raw.charCodeAt(end + 2) === COMMA ? end + 3 : end + 2;
    }
    return values;
  }

  /** @returns the key that stands at `at` */
  #follow(raw: string, before: StoredKey | undefined, at: number): StoredKey {
    const guess = before === undefined ? this.#first : before.next;
    if (guess !== undefined && raw.startsWith(guess.prefix, at)) return guess;
    const key = this.#find(raw, at);
    if (before === undefined) this.#first = key;
    else before.next = key;
    return key;
  }

  #find(raw: string, at: number): StoredKey {
    const start = at + KEY.length;
    const end = raw.indexOf(VALUE, start);
    if (end < 0 || !raw.startsWith(KEY, at)) throw new Error('an upload is not as it is stored');
    const stored = raw.slice(start, end);
    const known = this.#keys.get(stored);
    if (known !== undefined) return known;
    const key = {
      prefix: raw.slice(at, end + VALUE.length),
      place: this.#placeOf(readText(raw, start, end)),
    };
    const made: StoredKey = { ...key, next: undefined };
    if (this.#keys.size >= CACHED_KEYS) this.#keys.clear();
    this.#keys.set(stored, made);
    return made;
  }
}

function addValue(values: string[][], place: number, value: string): void {
  const known = values[place];
  if (known === undefined) values[place] = [value];
  else known.push(value);
}

/** @returns where the quote stands that ends a string of JSON */
function endOfText(raw: string, start: number): number {
  for (let at = raw.indexOf(QUOTE, start); ; at = raw.indexOf(QUOTE, at + 1)) {
    if (at < 0) throw new Error('an upload is not as it is stored');
    let escapes = 0;
    while (at - escapes > start && raw.charCodeAt(at - escapes - 1) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}
