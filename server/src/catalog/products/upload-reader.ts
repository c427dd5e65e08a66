/** Reads stored uploads without making anything of what nobody asks for. */
import type { AttributeValue, Image, ProductSettings, UploadedCategory, UploadedProduct } from './product.ts';

/** @returns a product of its stored form, in whose attributes others may be missing than the wanted ones */
export type UploadReader = (raw: string) => UploadedProduct;

const IDENTIFIER = '{"identifier":"';
const GROUP = ',"groupIdentifier":"';
const NAME = ',"name":"';
const URL = ',"productUrl":"';
const IMAGES = ',"images":[';
/** No string of JSON holds what ends a name: its quotes have a backslash before them. */
const CATEGORIES = ',"categories":[';
const ATTRIBUTES = ',"attributes":[';
const KEY = '{"key":"';
const VALUE = '","value":"';
const GROUPS = ',"userGroups":';
const SETTINGS = ',"settings":';
const [QUOTE, COMMA, BACKSLASH, CLOSES_LIST, CLOSES_OBJECT] = [0x22, 0x2c, 0x5c, 0x5d, 0x7d] as const;

/** The text is not of the form that `normaliseProduct` and JSON.stringify make. */
class Unsure extends Error {}

/** What stands before the value of an attribute. */
interface Lead {
  readonly text: string;
  readonly key: string;
  readonly isWanted: boolean;
}

/** Products of a catalog have their attributes in few orders; keys are what people send. */
const KNOWN_LEADS = 10_000;

/** @param keys of the attributes that are wanted */
export function createUploadReader(keys: ReadonlySet<string>): UploadReader {
  const leads = new Leads(keys);
  return (raw) => {
    try {
      return new ScannedUpload(raw, leads);
    } catch (error) {
      // The parser decides where the quick scan does not know.
      if (!(error instanceof Unsure)) throw error;
      return JSON.parse(raw) as UploadedProduct;
    }
  };
}

/** The text is searched by the engine, string by string: JSON.parse takes four times as long. */
class ScannedUpload implements UploadedProduct {
  readonly identifier: string;
  readonly groupIdentifier: string;
  readonly name: string;
  readonly productUrl: string;
  readonly attributes: readonly AttributeValue[];
  readonly settings?: ProductSettings;
  readonly #imagesJson: string;
  readonly #categoriesJson: string;

  /** @throws Unsure */
  constructor(raw: string, leads: Leads) {
    const scan = new TextScan(raw);
    this.identifier = scan.readText(IDENTIFIER);
    this.groupIdentifier = scan.readText(GROUP);
    this.name = scan.readText(NAME);
    this.productUrl = scan.readText(URL);
    this.#imagesJson = scan.readUntil(IMAGES, CATEGORIES);
    this.#categoriesJson = scan.readUntil(CATEGORIES, ATTRIBUTES);
    this.attributes = scan.readAttributes(leads);
    const settings = scan.readSettings();
    if (settings !== undefined) this.settings = settings;
  }

  get images(): readonly Image[] {
    return this.#imagesJson === '[]' ? [] : JSON.parse(this.#imagesJson);
  }

  get categories(): readonly UploadedCategory[] {
    return this.#categoriesJson === '[]' ? [] : JSON.parse(this.#categoriesJson);
  }
}

/** What was found at each place of the products before is looked for first. */
class Leads {
  readonly #keys: ReadonlySet<string>;
  readonly #known = new Map<string, Lead>();
  readonly #last: Lead[] = [];

  constructor(keys: ReadonlySet<string>) {
    this.#keys = keys;
  }

  last(place: number): Lead | undefined {
    return this.#last[place];
  }

  find(key: string, place: number): Lead {
    const known = this.#known.get(key);
    const lead = known ?? {
      text: `${KEY}${JSON.stringify(key).slice(1, -1)}${VALUE}`,
      key,
      isWanted: this.#keys.has(key),
    };
    if (known === undefined) {
      if (this.#known.size >= KNOWN_LEADS) this.#known.clear();
      this.#known.set(key, lead);
    }
    this.#last[place] = lead;
    return lead;
  }
}

class TextScan {
  readonly #raw: string;
  /** Up to here no string has an escape. */
  readonly #plain: number;
  #at = 0;

  constructor(raw: string) {
    this.#raw = raw;
    const first = raw.indexOf('\\');
    this.#plain = first < 0 ? raw.length : first;
  }

  readText(lead: string): string {
    this.#expect(lead);
    const start = this.#at;
    const end = this.#endOfText(start);
    this.#at = end + 1;
    return this.#text(start, end);
  }

  /** @returns the list that begins at the end of `lead`; what follows it is not passed */
  readUntil(lead: string, next: string): string {
    this.#expect(lead);
    const start = this.#at - 1;
    this.#at = this.#raw.indexOf(next, start);
    if (this.#at < 0) throw new Unsure();
    return this.#raw.slice(start, this.#at);
  }

  readAttributes(leads: Leads): AttributeValue[] {
    this.#expect(ATTRIBUTES);
    const raw = this.#raw;
    const values: AttributeValue[] = [];
    if (raw.charCodeAt(this.#at) === CLOSES_LIST) {
      this.#at += 1;
      return values;
    }
    for (let place = 0; ; place += 1) {
      const value = this.#readValue(this.#readLead(leads, place));
      if (value !== undefined) values.push(value);
      const next = raw.charCodeAt(this.#at);
      this.#at += 1;
      if (next === CLOSES_LIST) return values;
      if (next !== COMMA) throw new Unsure();
    }
  }

  /** @returns undefined for one that is not wanted; it ends after the value */
  #readValue({ key, isWanted }: Lead): AttributeValue | undefined {
    const start = this.#at;
    const end = this.#endOfText(start);
    this.#at = end + 1;
    const hasGroups = this.#raw.charCodeAt(this.#at) !== CLOSES_OBJECT;
    const userGroups = hasGroups ? this.#readGroups() : undefined;
    this.#at += 1;
    if (!isWanted) return undefined;
    const value = this.#text(start, end);
    return userGroups === undefined ? { key, value } : { key, value, userGroups };
  }

  readSettings(): ProductSettings | undefined {
    const raw = this.#raw;
    if (raw.charCodeAt(this.#at) === CLOSES_OBJECT && this.#at === raw.length - 1) return undefined;
    this.#expect(SETTINGS);
    return JSON.parse(raw.slice(this.#at, -1)) as ProductSettings;
  }

  #readLead(leads: Leads, place: number): Lead {
    const last = leads.last(place);
    if (last !== undefined && this.#raw.startsWith(last.text, this.#at)) {
      this.#at += last.text.length;
      return last;
    }
    const from = this.#at;
    const lead = leads.find(this.readText(KEY), place);
    this.#at = from;
    this.#expect(lead.text);
    return lead;
  }

  /** @returns the groups of a value; it ends after them */
  #readGroups(): string[] {
    this.#expect(GROUPS);
    const start = this.#at;
    if (this.#raw.charCodeAt(start + 1) !== QUOTE) throw new Unsure();
    do this.#at = this.#endOfText(this.#at + 2) + 1;
    while (this.#raw.charCodeAt(this.#at) === COMMA);
    this.#at += 1;
    if (this.#raw.charCodeAt(this.#at) !== CLOSES_OBJECT) throw new Unsure();
    return JSON.parse(this.#raw.slice(start, this.#at)) as string[];
  }

  #expect(lead: string): void {
    if (!this.#raw.startsWith(lead, this.#at)) throw new Unsure();
    this.#at += lead.length;
  }

  #endOfText(start: number): number {
    let end = this.#raw.indexOf('"', start);
    while (end > this.#plain && this.#isEscaped(end)) end = this.#raw.indexOf('"', end + 1);
    if (end < 0) throw new Unsure();
    return end;
  }

  #isEscaped(at: number): boolean {
    let first = at;
    while (this.#raw.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    return (at - first) % 2 === 1;
  }

  #text(start: number, end: number): string {
    const text = this.#raw.slice(start, end);
    return end > this.#plain && text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}
