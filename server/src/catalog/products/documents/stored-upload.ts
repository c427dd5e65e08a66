import type { UploadedProduct } from '../product.ts';

/**
 * Separators before the parts of a stored upload. Quotes in strings are escaped, so a string never contains a
 * separator.
 */
const IDENTIFIER = '{"identifier":';
const GROUP = ',"groupIdentifier":';
const NAME = ',"name":';
const LINK = ',"productUrl":';
const IMAGES = ',"images":';
const CATEGORIES = ',"categories":';
const KEY = '{"key":"';
const VALUE = '","value":"';

/** Begins the attributes of an upload, after its front. */
export const FRONT_END = ',"attributes":[';

const QUOTE = '"';
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSING_LIST = 0x5d;
const CLOSING_OBJECT = 0x7d;

/**
 * A stored upload. It parses only the parts that are used, because parsing all takes three times as long as reading
 * them.
 */
export class StoredUpload implements UploadedProduct {
  readonly raw: string;
  /** The position of the first attribute; 0 if the upload is not in stored form and was parsed. */
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

  /** Settings follow the attributes, so an upload that ends with attributes has no settings. */
  get settings(): UploadedProduct['settings'] {
    return this.raw.endsWith(']}') ? undefined : this.parse().settings;
  }

  #read(start: number, end: number): string {
    return unescapeText(this.raw.slice(start + 1, end - 1));
  }

  #parse<Part>(start: number, end: number): Part {
    return JSON.parse(this.raw.slice(start, end)) as Part;
  }
}

/** @param text of JSON, without its quotes */
export const unescapeText = (text: string): string =>
  text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;

/** A key of uploads in stored form. */
export interface StoredKey<Known> {
  /** The text from the beginning of an attribute to its value. */
  readonly prefix: string;
  /** undefined if its values are not read. */
  readonly resolved: Known | undefined;
  /** The key that followed last time. The same key usually follows again. */
  next: StoredKey<Known> | undefined;
}

/** The limit for keys whose values are not read, because a catalog may have any number of them. */
const CACHED_KEYS = 20_000;

/** Predicts the keys of an upload from their order in the previous one. */
export class StoredKeys<Known> {
  readonly #know: (stored: string) => Known | undefined;
  readonly #keys = new Map<string, StoredKey<Known>>();
  #first: StoredKey<Known> | undefined;

  /** @param know returns what the caller knows about a key in stored form */
  constructor(know: (stored: string) => Known | undefined) {
    this.#know = know;
  }

  /** @returns the key at `offset`, after `before` */
  follow(text: string, before: StoredKey<Known> | undefined, offset: number): StoredKey<Known> {
    const guess = before === undefined ? this.#first : before.next;
    if (guess !== undefined && text.startsWith(guess.prefix, offset)) return guess;
    const key = this.#find(text, offset);
    if (before === undefined) this.#first = key;
    else before.next = key;
    return key;
  }

  #find(text: string, offset: number): StoredKey<Known> {
    const start = offset + KEY.length;
    const end = text.indexOf(VALUE, start);
    if (end < 0) throw new Error('an upload does not have the stored form');
    const stored = text.slice(start, end);
    const cached = this.#keys.get(stored);
    if (cached !== undefined) return cached;
    const resolved = this.#know(stored);
    const key = { prefix: flatten(`${KEY}${stored}${VALUE}`), resolved, next: undefined };
    if (resolved !== undefined || this.#keys.size < CACHED_KEYS) this.#keys.set(flatten(stored), key);
    return key;
  }
}

/** Copies the text, because a substring would keep the whole string in memory. */
const flatten = (text: string): string => JSON.parse(JSON.stringify(text)) as string;

/** Reads values of stored uploads, by the slots of their keys. */
export class StoredValues {
  readonly #keys: StoredKeys<number>;

  constructor(slotOf: (key: string) => number | undefined) {
    this.#keys = new StoredKeys((stored) => slotOf(unescapeText(stored)));
  }

  /**
   * @returns values by slot, in order; undefined for an upload that must be parsed because an attribute has more
   * members than key and value
   */
  read({ raw, attributesStart }: StoredUpload): string[][] | undefined {
    if (attributesStart === 0) return undefined;
    const values: string[][] = [];
    let before: StoredKey<number> | undefined;
    for (let offset = attributesStart; raw.charCodeAt(offset) !== CLOSING_LIST; ) {
      before = this.#keys.follow(raw, before, offset);
      const start = offset + before.prefix.length;
      const end = endOfText(raw, start);
      if (raw.charCodeAt(end + 1) !== CLOSING_OBJECT) return undefined;
      const slot = before.resolved;
      if (slot !== undefined) {
        values[slot] ??= [];
        values[slot].push(unescapeText(raw.slice(start, end)));
      }
      offset = raw.charCodeAt(end + 2) === COMMA ? end + 3 : end + 2;
    }
    return values;
  }
}

/** @returns the position of the quote that ends a JSON string */
export function endOfText(raw: string, start: number): number {
  for (let offset = raw.indexOf(QUOTE, start); ; offset = raw.indexOf(QUOTE, offset + 1)) {
    if (offset < 0) throw new Error('an upload does not have the stored form');
    let escapes = 0;
    while (offset - escapes > start && raw.charCodeAt(offset - escapes - 1) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return offset;
  }
}
