import type { ProductSource } from '../../src/catalog/ingest/checked-body.ts';
import { ProductPacker, rawOf } from '../../src/catalog/products/documents/packed-products.ts';
import { CLIENT_FORMS } from './client-json.ts';
import { createSeededRandom, type SeededRandom } from './demo-shop/seeded-random.ts';
import { readCatalog } from './real-products.ts';

/** @returns the products as they are stored */
export function readStored(source: ProductSource): string[] {
  const packer = new ProductPacker();
  const rows = source.listIdentifiers();
  for (const [row, identifier] of rows.entries()) {
    packer.begin(identifier);
    source.write(row, packer);
    packer.endFresh({ product: 0, hash: packer.hashRaw(), document: 0 });
  }
  const packed = packer.pack();
  return rows.map((_, row) => Buffer.from(rawOf(packed, row)).toString());
}

/** Bodies of whole products, real and generated, as clients write them. Many of them are damaged afterwards. */
export interface BodySource {
  /** Most of them are valid. */
  createBody(): Buffer;
  /** The same bodies with some bytes changed. Most become invalid. */
  damage(body: Buffer): Buffer;
}

export function createBodies(seed: number): BodySource {
  const random = createSeededRandom(String(seed));
  const { products } = readCatalog(2_000);
  const createProduct = (): object => (random.chance(0.5) ? random.pick(products) : makeProduct(random));
  return {
    createBody() {
      const list = Array.from({ length: random.between(1, 4) }, createProduct);
      return Buffer.from(writeBody(random, list));
    },
    damage(body) {
      let damaged = body;
      for (let left = random.chance(0.8) ? 1 : 3; left > 0; left -= 1) damaged = damageOnce(random, damaged);
      return damaged;
    },
  };
}

const FORMS = Object.values(CLIENT_FORMS);

function writeBody(random: SeededRandom, list: readonly object[]): string {
  const sent = random.chance(0.2) ? list.map((product) => shuffleMembers(random, product)) : list;
  const body = random.chance(0.2) ? sent : { products: sent };
  if (random.chance(0.2)) return ` ${JSON.stringify(body, undefined, random.pick(['\t', 2]))}\r\n`;
  const text = random.pick(FORMS)(body);
  return random.chance(0.1) ? escapeSome(random, text) : text;
}

/** Letters may also be written as escapes, in names and in values. */
const escapeSome = (random: SeededRandom, text: string) =>
  text.replace(/(?<=")[a-z]/gi, (char) =>
    random.chance(0.05) ? `\\u00${char.charCodeAt(0).toString(16)}` : char,
  );

function shuffleMembers(random: SeededRandom, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => shuffleMembers(random, element));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(
    ([name, member]) => [name, shuffleMembers(random, member)] as const,
  );
  return Object.fromEntries(random.chance(0.5) ? members.reverse() : members.sort());
}

const WORDS = [
  ...['', 'a', 'A1', 'ä', '漢', '😀', 'a/b', 'a"b', 'a\\b', 'a\tb', '__proto__', 'constructor', 'toString'],
  ...['\u007f', '\u2028', '\ufeff', '\ufffd', 'null', 'true', 'FALSE', 'False', '5', '-5', '+0', '-0'],
  ...['5 mm', '5.5 mm', '05 mm', '5. mm', '.5 mm', '1e3', '1e400', '5  mm', '5 m m', '5 °C', '5 "', '5 %'],
  ...['123456789012345', '1234567890123456', '0.12345678901234', '0.123456789012345', '-1.0', '5 1m', ' 5'],
];
const KEYS = [
  'Length',
  'Width',
  'a',
  'ä',
  '__proto__',
  'constructor',
  'a"b',
  'Colour',
  '漢字',
  'k'.repeat(255),
];
const NUMBERS = [0, 1, -1, 999_999_999, 2_147_483_647, 2 ** 53 - 1, 0.5];

function makeProduct(random: SeededRandom): object {
  const word = () => random.pick(WORDS);
  const many = <Item>(make: () => Item) => Array.from({ length: random.between(0, 3) }, make);
  const some = (name: string, make: () => unknown) =>
    random.chance(0.6) ? { [name]: random.chance(0.1) ? null : make() } : {};
  const value = () => ({
    key: random.pick(KEYS),
    value: random.chance(0.05) ? null : random.chance(0.6) ? `${random.between(0, 99)} mm` : word(),
    ...(random.chance(0.1) && some('userGroups', () => many(() => `g${word()}`))),
  });
  const category = () => ({
    path: [`p${word()}`, ...many(() => `p${word()}`)],
    ...(random.chance(0.2) && some('priority', () => random.pick(NUMBERS))),
    ...(random.chance(0.2) && some('categoryId', () => random.pick(NUMBERS))),
  });
  return {
    identifier: `${random.between(0, 200)}${word()}`,
    name: word(),
    ...some('groupIdentifier', () => `g${word()}`),
    ...some('productUrl', word),
    ...some('image', () => `i${word()}`),
    ...some('images', () => many(() => ({ url: `i${word()}`, type: random.pick(['SMALL', 'LARGE']) }))),
    ...some('categories', () => many(category)),
    ...some('attributes', () => [...many(value), ...many(value)]),
    ...(random.chance(0.1) && some('settings', () => some('includeUserGroups', () => many(() => 'g')))),
  };
}

const BITS = [
  ...['"', '\\', '\\"', '\\u0041', '\\u0000', '\\ud83d\\ude00', '\\ud800', '\\udc00', '\\x', '\\/', '\\n'],
  ...['{', '}', '[', ']', ',', ':', ' ', '\n', '\t', '\0', '\u001f', '\u00a0', '\ufeff', 'é', '😀', 'null'],
  ...[
    '0',
    '-',
    '-0',
    '.5',
    '1e400',
    '9'.repeat(400),
    'true',
    '""',
    '"x":1,',
    '"name":"b",',
    '"__proto__":{},',
  ],
  ...['{"key":"a","value":"1 mm"},', '{"key":"a","value":null},', ',"userGroups":["a"]', '"identifier":"A",'],
  ...[',"categoryId":1', ',"priority":-0', '['.repeat(40), '[[]],', '{"path":["a"]},', '"products":[],'],
].map((bit) => Buffer.from(bit));

function damageOnce(random: SeededRandom, body: Buffer): Buffer {
  const offset = random.between(0, body.length - 1);
  const [before, behind] = [body.subarray(0, offset), body.subarray(offset)];
  switch (random.between(0, 4)) {
    case 0:
      return Buffer.concat([before, random.pick(BITS), behind]);
    case 1:
      return Buffer.concat([before, behind.subarray(random.between(1, 6))]);
    case 2: {
      const from = random.between(0, body.length - 1);
      return Buffer.concat([before, body.subarray(from, from + random.between(1, 60)), behind]);
    }
    case 3:
      return Buffer.concat([before, Buffer.from([random.between(0, 255)]), behind.subarray(1)]);
    default: {
      // Some repeat the same member or product.
      const from = Math.max(0, body.lastIndexOf(random.pick(['{', '"', ',']), offset));
      return Buffer.concat([before, body.subarray(from, offset), behind]);
    }
  }
}
