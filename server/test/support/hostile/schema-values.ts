import type { ApiSchema, OpenApiDocument } from '../../../openapi/document.ts';
import {
  below,
  HOSTILE_NUMBERS,
  type JsonNode,
  Members,
  makeText,
  pick,
  type Random,
} from './hostile-values.ts';

const list = (prefix: string) => Array.from({ length: 12 }, (_, index) => `${prefix}${index}`);
const ATTRIBUTES = ['Brand', 'Length', 'Colour', 'Weight', 'Width', 'Fits'];

/** Values by member name, which is more specific than the type. */
const KNOWN: Readonly<Record<string, readonly (string | number)[]>> = {
  identifier: list('A-'),
  identifiers: list('A-'),
  projectId: [1],
  articleNumber: list('A-'),
  source: list('A-'),
  sources: list('A-'),
  groupIdentifier: list('G-'),
  attribute: ATTRIBUTES,
  key: ATTRIBUTES,
  tag: ['fits', 'same', 'linked', 'other'],
  locale: ['de-DE', 'en-GB', 'fr-FR'],
  cron: ['0 3 * * *', '*/5 * * * *', '0 0 29 2 *'],
  timeZone: ['Europe/Berlin', 'UTC'],
  unitName: ['mm', 'in', 'kg', 'V'],
  email: ['ada@shop.example', 'eve@shop.example'],
  identifierPrefix: ['A', 'A-1'],
  url: ['https://shop.invalid/a.csv', 'https://shop.invalid/a'],
  wait: [0, 1],
  column: ['sku', 'title', 'price'],
  columns: ['sku', 'title', 'price'],
  expression: ['sku', '$uppercase(title)', 'price * 2'],
  pattern: ['*.csv', '^A'],
  value: ['red', '12 mm', '5', 'yes', 'Acme'],
  q: ['saw', 'drill red'],
  sort: ['name', 'Length desc'],
  timeoutSeconds: [1],
};

/** Values that match the patterns of the document. */
const SAMPLES: Readonly<Record<string, string>> = {
  '^\\*$': '*',
  '^[^\\r\\n"\\u0000\\uFEFF]$': ';',
  '^[a-z0-9-]{1,50}$': 'eu-central-1',
  '^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$': 'a-bucket',
  '^[a-z]{2,3}-[A-Z]{2}$': 'de-DE',
  '^[a-z-]+(\\.[a-z-]+)?$': 'key.create',
  '^(key|user|command)(:\\d{1,15})?$': 'key:1',
  '^[^\\s\\u0000-\\u001f@]+@[^\\s\\u0000-\\u001f@]+$': 'ada@shop.example',
};

const OPERATORS = ['equals', 'notEquals', 'less', 'greaterOrEqual', 'in', 'contains', 'exists', 'between'];

const MOST_DEPTH = 8;

/** Makes values that a schema of the document allows, mostly at its limits. Ids are of things that may exist. */
export class SchemaValues {
  readonly #document: OpenApiDocument;
  readonly #random: Random;

  constructor(document: OpenApiDocument, random: Random) {
    this.#document = document;
    this.#random = random;
  }

  make(sent: ApiSchema, name = '', depth = 0): JsonNode {
    const schema = this.#resolve(sent);
    if (schema.title === 'Filter' && schema.properties === undefined) return makeFilter(this.#random, 0);
    if (schema.const !== undefined) return schema.const as JsonNode;
    if (schema.enum !== undefined) return pick(this.#random, schema.enum) as JsonNode;
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return this.make(pick(this.#random, choices), name, depth);
    return this.#makeTyped(schema, name, depth);
  }

  #resolve(schema: ApiSchema): ApiSchema {
    if (schema.$ref === undefined) return schema;
    return this.#document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''] ?? {};
  }

  #makeTyped(schema: ApiSchema, name: string, depth: number): JsonNode {
    const random = this.#random;
    switch (typeof schema.type === 'string' ? schema.type : pick(random, schema.type ?? ['string'])) {
      case 'object':
        return this.#makeObject(schema, depth);
      case 'array':
        return this.#makeList(schema, name, depth);
      case 'integer':
      case 'number':
        return makeNumber(random, schema, name);
      case 'boolean':
        return random() < 0.5;
      case 'null':
        return null;
      default:
        return makeString(random, schema, name);
    }
  }

  #makeObject({ properties = {}, required = [], additionalProperties }: ApiSchema, depth: number): Members {
    const random = this.#random;
    const share = depth > MOST_DEPTH ? 0 : random();
    const members = Object.entries(properties)
      .filter(([name]) => required.includes(name) || random() < share * 0.7)
      .map(([name, schema]): [string, JsonNode] => [name, this.make(schema, name, depth + 1)]);
    if (typeof additionalProperties === 'object') {
      const names = Array.from({ length: below(random, 4) }, () =>
        pick(random, [...ATTRIBUTES, 'id', 'title']),
      );
      members.push(
        ...names.map((name): [string, JsonNode] => [name, this.make(additionalProperties, name, depth + 1)]),
      );
    }
    return new Members(members);
  }

  #makeList({ items = {}, minItems = 0, maxItems = 3 }: ApiSchema, name: string, depth: number): JsonNode[] {
    const random = this.#random;
    const most = depth > MOST_DEPTH ? minItems : Math.max(minItems, below(random, Math.min(maxItems, 4) + 1));
    return Array.from({ length: most }, () => this.make(items, name, depth + 1));
  }
}

function makeNumber(
  random: Random,
  { minimum: least = 0, maximum: most = least + 10, type }: ApiSchema,
  name: string,
): JsonNode {
  const sample = pickSample(random, name, 'number');
  if (sample !== undefined) return sample;
  if (random() < 0.2) return pick(random, [least, most]);
  if (type === 'number' && random() < 0.1) return pick(random, HOSTILE_NUMBERS);
  const value = least + random() * Math.min(10, most - least);
  return type === 'integer' ? Math.floor(value) : value;
}

function makeString(
  random: Random,
  { minLength = 0, maxLength = 60, pattern = '' }: ApiSchema,
  name: string,
): string {
  const sample = SAMPLES[pattern] ?? pickSample(random, name, 'string');
  if (sample !== undefined && random() < 0.85) return String(sample);
  const made = pick(random, [
    () => 'x'.repeat(Math.min(maxLength, 70_000)),
    () => 'y'.repeat(minLength),
    () => makeText(random),
    ...Array.from({ length: 5 }, () => () => `${pick(random, ['red', 'Saw', 'a'])}-${below(random, 50)}`),
  ]);
  return made().padEnd(minLength, 'z').slice(0, maxLength);
}

const pickSample = (random: Random, name: string, type: string): string | number | undefined =>
  pick(random, KNOWN[name]?.filter((sample) => typeof sample === type) ?? []);

/** docs/interface §12.2 describes filters; the schema says only that they are objects. */
function makeFilter(random: Random, depth: number): JsonNode {
  const inner = () => makeFilter(random, depth + 1);
  const condition = () => makeCondition(random);
  const kinds: (() => [string, JsonNode][])[] = [
    () => [['category', ['Tools', 'Saws'].slice(0, 1 + below(random, 2))]],
    () => [['identifiers', Array.from({ length: below(random, 4) }, () => pick(random, list('A-')))]],
    ...[condition, condition, condition],
  ];
  const joined: (() => [string, JsonNode][])[] = [
    () => [[pick(random, ['all', 'any']), Array.from({ length: below(random, 3) }, inner)]],
    () => [['not', inner()]],
  ];
  return new Members(pick(random, depth < 3 ? [...kinds, ...joined] : kinds)());
}

function makeCondition(random: Random): [string, JsonNode][] {
  const operator = pick(random, OPERATORS);
  const makeOperand = () =>
    pick<JsonNode>(random, ['red', 'Acme', '12 mm', '12,5 cm', 5, 0.5, true, '2020-01-01']);
  const about: [string, JsonNode][] = [
    ['attribute', pick(random, ATTRIBUTES)],
    ['operator', operator],
  ];
  if (operator === 'exists') return about;
  const isList = operator === 'in' || operator === 'between';
  return [...about, ['value', isList ? [makeOperand(), makeOperand()] : makeOperand()]];
}
