/** Values of malicious or broken callers: JSON values, and texts that are almost JSON. */

export type Random = () => number;

/** A piece of JSON that JavaScript never writes for a value. */
export class Literal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An object with ordered members. Two members may have the same name. */
export class Members {
  readonly list: [string, JsonNode][];
  constructor(list: [string, JsonNode][]) {
    this.list = list;
  }
}

export type JsonNode = null | boolean | number | string | Literal | Members | JsonNode[];

export function writeJson(node: JsonNode): string {
  if (node instanceof Literal) return node.text;
  if (Array.isArray(node)) return `[${node.map(writeJson).join()}]`;
  if (!(node instanceof Members)) return JSON.stringify(node);
  return `{${node.list.map(([name, value]) => `${JSON.stringify(name)}:${writeJson(value)}`).join()}}`;
}

export const pick = <One>(random: Random, list: readonly One[]): One =>
  list[Math.floor(random() * list.length)] as One;

export const below = (random: Random, limit: number): number => Math.floor(random() * limit);

const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];

/** No host names that resolve, so the service cannot send anything to another machine. */
const ADDRESSES = [
  'http://127.0.0.1:9/',
  'https://shop.invalid/a.csv',
  'http://169.254.169.254/',
  'file:///etc',
];

export const HOSTILE_TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '\t\r\n',
    '\0',
    'a\0b',
    '\ud800',
    'a\udfff',
    '\udfff\ud800',
    '\ufeff',
    '\u202eabc',
    '\u2028',
    '\x7f',
  ],
  ...['é', 'e\u0301', 'İ', 'ß', '👩‍👩‍👧', '𝔸', '٣', '½', '\uffff', '\u{10ffff}'],
  ...PROTOTYPE_NAMES,
  ...[
    'null',
    'undefined',
    'NaN',
    'Infinity',
    '-0',
    '0x10',
    '1e309',
    '1e-400',
    '00',
    '1,5',
    '9007199254740993',
  ],
  ...[
    'true',
    '[]',
    '{}',
    '[1',
    '{"a":',
    '"',
    "'",
    '\\',
    '%00',
    '%',
    '%zz',
    '..',
    '../../etc/passwd',
    '/',
    '//',
  ],
  ...[
    "'; drop table product; --",
    '$1',
    '?',
    ':a',
    '{{7*7}}',
    `\${7}`,
    '<script>',
    '$string($)',
    '*',
    '**/*',
  ],
  ...[
    '(a+)+$',
    '[',
    '(?<a>',
    '* * * * *',
    '60 25 32 13 8',
    '99999999999999999999',
    '-1',
    '1970-01-01',
    '+275760-09-13',
  ],
  ...['2020-02-30T25:61:61Z', '5 mm', '-5 °C', '1e400 m', 'Europe/Berlin', 'Etc/../Berlin', 'de-DE', 'xx'],
  ...ADDRESSES,
];

/** Lengths around the limits of docs/interface §8. */
const LENGTHS = [63, 64, 65, 128, 254, 255, 256, 257, 1_000, 1_001, 4_096, 4_097];
const RARE_LENGTHS = [65_536, 65_537, 200_000];

export const HOSTILE_NUMBERS: readonly (number | Literal)[] = [
  ...[0, -0, 1, -1, 2, 0.5, -0.5, 100, 101, 1_000, 1_001, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32],
  ...[
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    1e15,
    1e21,
    1e308,
    -1e308,
    5e-324,
    253402300800000,
    8.64e15,
    8.64e15 + 1,
  ],
  ...['1e999', '-1e999', '9007199254740993', '0.1e1', '1E+2', '-0.0', '9'.repeat(400)].map(
    (text) => new Literal(text),
  ),
];

/** Texts that are not JSON. */
const NO_JSON = [
  'NaN',
  'Infinity',
  'undefined',
  "'a'",
  '01',
  '.5',
  '1.',
  '0x1',
  '"\t"',
  '"\\x"',
  '"\\ud8"',
  'tru',
  '[1,]',
];

export function makeText(random: Random): string {
  const dice = random();
  if (dice < 0.7) return pick(random, HOSTILE_TEXTS);
  if (dice < 0.9) return pick(random, ['x', 'ß', '€', '👍', 'a ']).repeat(pick(random, LENGTHS));
  if (dice < 0.91) return 'x'.repeat(pick(random, RARE_LENGTHS));
  return pick(random, HOSTILE_TEXTS) + pick(random, HOSTILE_TEXTS);
}

/** @returns a value of any type */
export function makeHostile(random: Random, depth = 0): JsonNode {
  const dice = random();
  if (dice < 0.35) return makeText(random);
  if (dice < 0.65) return pick(random, HOSTILE_NUMBERS);
  if (dice < 0.75) return pick(random, [null, true, false]);
  if (dice < 0.77) return new Literal(pick(random, NO_JSON));
  if (dice < 0.79) return nest(random);
  if (depth > 2) return null;
  const length = random() < 0.05 ? below(random, 1_200) : below(random, 4);
  if (dice < 0.9) return Array.from({ length }, () => makeHostile(random, depth + 1));
  return new Members(
    Array.from({ length }, () => [makeText(random).slice(0, 300), makeHostile(random, depth + 1)]),
  );
}

/** Nests around the allowed depth of JSON, and far beyond. */
function nest(random: Random): JsonNode {
  const levels = pick(random, [8, 11, 30, 31, 32, 33, 500]);
  const [open, close] = pick(random, [
    ['[', ']'],
    ['{"all":[', ']}'],
    ['{"not":', '}'],
    ['{"a":', '}'],
  ] as const);
  return new Literal(`${open.repeat(levels)}${open.endsWith(':') ? '1' : ''}${close.repeat(levels)}`);
}

/** Changes one place of a value, at any depth. @returns the changed value */
export function mutate(random: Random, node: JsonNode): JsonNode {
  const inside = node instanceof Members ? node.list.length : Array.isArray(node) ? node.length : 0;
  if (inside === 0 || random() < 0.15) return replace(random, node);
  const changedIndex = below(random, inside);
  if (Array.isArray(node))
    return node.map((element, index) => (index === changedIndex ? mutate(random, element) : element));
  const { list } = node as Members;
  if (random() < 0.6) {
    return new Members(
      list.map(([name, value], index) =>
        index === changedIndex ? [name, mutate(random, value)] : [name, value],
      ),
    );
  }
  return changeMembers(random, list, changedIndex);
}

function replace(random: Random, node: JsonNode): JsonNode {
  const dice = random();
  if (dice < 0.1) return [node];
  if (dice < 0.2 && Array.isArray(node) && node.length > 0)
    return Array.from({ length: pick(random, [2, 31, 101, 1_001, 3_000]) }, () => node[0] as JsonNode);
  if (dice < 0.3 && !(node instanceof Members)) return new Members([['value', node]]);
  return makeHostile(random);
}

function changeMembers(random: Random, list: [string, JsonNode][], position: number): Members {
  const [name, value] = list[position] as [string, JsonNode];
  const others = list.filter((_, index) => index !== position);
  const dice = random();
  if (dice < 0.35) return new Members(others);
  if (dice < 0.55) return new Members([...list, [name, makeHostile(random)]]);
  if (dice < 0.75) return new Members([...list, [makeText(random).slice(0, 300), makeHostile(random)]]);
  if (dice < 0.9) return new Members([...list, [pick(random, PROTOTYPE_NAMES), makeHostile(random)]]);
  return new Members([...others, [name.toUpperCase(), value]]);
}

/** Corrupts the text of a body. */
export function corrupt(random: Random, text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const offset = below(random, bytes.length + 1);
  const insert = (...codes: number[]) =>
    Buffer.concat([bytes.subarray(0, offset), Buffer.from(codes), bytes.subarray(offset)]);
  const dice = random();
  if (dice < 0.3) return bytes.subarray(0, offset);
  if (dice < 0.5) return insert(0xff, 0xfe);
  if (dice < 0.6) return insert(0);
  if (dice < 0.7) return insert(0xed, 0xa0, 0x80);
  if (dice < 0.8) return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
  if (dice < 0.9) return Buffer.concat([bytes, bytes]);
  return Buffer.from(pick(random, ['', ' ', 'null', '[]', '{}', '""', '0', ...NO_JSON]));
}
