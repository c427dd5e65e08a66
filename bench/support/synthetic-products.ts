/**
 * Products of 1.5 KB that are the same in every run. Product `index` of a version is made from its index alone. So any
 * part of a catalog of any size can be made, changed or looked up without the other parts. 16 attributes: some with few
 * distinct values, some numbers with units, some texts unique to each product.
 */

const BRANDS = series('Brandwerk', 40);
const COLOURS = ['black', 'white', 'red', 'green', 'blue', 'silver', 'grey', 'orange', 'yellow', 'brown'];
const MATERIALS = ['steel', 'aluminium', 'beech', 'oak', 'polyamide', 'glass', 'brass', 'cotton', 'carbon'];
const COUNTRIES = ['Germany', 'Austria', 'Italy', 'Poland', 'Sweden', 'Vietnam', 'Taiwan', 'Portugal'];
const CLASSES = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];
const AREAS = ['Workshop', 'Garden', 'Household', 'Electrical', 'Bathroom', 'Outdoor', 'Office'];
const KINDS = ['Drills', 'Saws', 'Pumps', 'Lamps', 'Shelves', 'Taps', 'Tents', 'Chairs', 'Fans', 'Scales'];
const WORDS =
  'robust light quiet precise compact powerful durable handy smooth reliable balanced weatherproof foldable'.split(
    ' ',
  );

const DESCRIPTION_CHARACTERS = 500;
const LONG_TEXT = joinWords(10_000);

/** The version of a product, which is in its price and its name. */
export interface SyntheticVersion {
  readonly version: number;
  /** Only products whose index is a multiple of this have the version. */
  readonly every: number;
  /** The version of the other products; default: 1. */
  readonly others?: number;
}

export const FIRST_VERSION: SyntheticVersion = { version: 1, every: 1 };

export function identifierOf(index: number): string {
  return `syn-${String(index).padStart(8, '0')}`;
}

function versionOf(index: number, { version, every, others = 1 }: SyntheticVersion): number {
  return index % every === 0 ? version : others;
}

/** @returns the JSON text of one product */
export function describeProduct(index: number, version: SyntheticVersion): string {
  const random = startRandom(index);
  const pick = (values: readonly string[]) => values[random(values.length)] ?? '';
  const identifier = identifierOf(index);
  const mark = versionOf(index, version);
  const brand = pick(BRANDS);
  const kind = pick(KINDS);
  const attribute = (key: string, value: string) => `{"key":"${key}","value":"${value}"}`;
  const measure = (key: string, steps: number, unit: string) =>
    attribute(key, `${(random(steps) + 1) / 10} ${unit}`);
  const attributes = [
    attribute('Brand', brand),
    attribute('Colour', pick(COLOURS)),
    attribute('Material', pick(MATERIALS)),
    attribute('Country of origin', pick(COUNTRIES)),
    attribute('Energy class', pick(CLASSES)),
    attribute('Condition', random(10) === 0 ? 'refurbished' : 'new'),
    measure('Length', 2_000, 'mm'),
    measure('Width', 900, 'mm'),
    measure('Height', 700, 'mm'),
    measure('Weight', 400, 'kg'),
    measure('Power', 250, 'W'),
    attribute('Price', `${random(900) + 9}.${10 + mark} EUR`),
    attribute('Delivery time', `${random(14) + 1} d`),
    attribute('EAN', `40${String(index * 97).padStart(11, '0')}`),
    attribute('Part number', `${brand.slice(-2)}-${index.toString(36)}-${random(100_000).toString(36)}`),
    attribute('Description', describeAtLength(random, index)),
  ];
  return (
    `{"identifier":"${identifier}","groupIdentifier":"grp-${index >> 3}",` +
    `"name":"${brand} ${kind} model ${index} revision v${mark}",` +
    `"productUrl":"https://shop.example/products/${identifier}",` +
    `"images":[{"url":"https://images.shop.example/${identifier}/small.jpg","type":"SMALL"},` +
    `{"url":"https://images.shop.example/${identifier}/large.jpg","type":"LARGE"}],` +
    `"categories":[{"path":["All products","${pick(AREAS)}","${kind}"]}],` +
    `"attributes":[${attributes.join(',')}]}`
  );
}

export interface SyntheticRange extends SyntheticVersion {
  readonly from: number;
  readonly count: number;
}

/** @returns a body of a batch upload */
export function describeBatch(range: SyntheticRange): Buffer {
  const products = Array.from({ length: range.count }, (_, at) => describeProduct(range.from + at, range));
  return Buffer.from(`{"products":[${products.join(',')}]}`);
}

/** Each text is unique, and cutting is faster than joining words for each product. */
function describeAtLength(random: (below: number) => number, index: number): string {
  const start = random(LONG_TEXT.length - DESCRIPTION_CHARACTERS);
  return `Number ${index}: ${LONG_TEXT.slice(start, start + DESCRIPTION_CHARACTERS)}`;
}

function joinWords(count: number): string {
  const random = startRandom(0);
  return Array.from({ length: count }, () => WORDS[random(WORDS.length)]).join(' ');
}

function series(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${name} ${String(at + 1).padStart(2, '0')}`);
}

/** @returns a source of numbers from 0 up to the given bound, excluded (mulberry32) */
export function startRandom(seed: number): (below: number) => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
