// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AttributeValue, normaliseProduct, type UploadedProduct } from '../products/product.ts';
import { computeValueId } from '../products/value-id.ts';
import { AnswerWriter } from './answer-writer.ts';
import { type Attribute, indexByKey, readValue } from './attribute.ts';
import {
  createExtractor,
  describeCategories,
  describeFacts,
  describeUnextracted,
  type Extractor,
  listFacts,
  type Unextracted,
} from './extraction.ts';

const ATTRIBUTES: readonly Attribute[] = [
  { id: 1, name: 'Colour', type: 'TEXT_ATTRIBUTE', synonyms: ['Farbe'] },
  { id: 2, name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
  { id: 3, name: '"Quoted" \\ €', type: 'UNTYPED_ATTRIBUTE' },
  { id: 4, name: 'Sold', type: 'BOOLEAN_ATTRIBUTE' },
];

const product = (...attributes: AttributeValue[]): UploadedProduct =>
  normaliseProduct({ identifier: 'A', name: 'A', attributes });

const store = (upload: UploadedProduct) => Buffer.from(JSON.stringify(upload));

function answerOf(writer: AnswerWriter, upload: UploadedProduct) {
  writer.begin();
  return JSON.parse(`{${writer.write(store(upload))}}`);
}

function inspect(extractor: Extractor, upload: UploadedProduct) {
  const reported = { unextracted: [] as string[], empty: [] as string[], unknown: [] as string[] };
  extractor.inspect(upload, {
    onUnextracted: (_, { attribute, value, why }) =>
      reported.unextracted.push(`${attribute.name} ${value} ${why}`),
    onEmpty: (key) => reported.empty.push(key),
    onUnknown: (key) => reported.unknown.push(key),
  });
  return reported;
}

/** Writes an answer by its definition: it parses everything and caches nothing. */
function describe(product: UploadedProduct, attributes: readonly Attribute[]): string {
  const { identifier, groupIdentifier: groupId, name, productUrl: link, images } = product;
  const categories = describeCategories(product.categories, idOf);
  const facts = describeFacts(listFacts(product.attributes, indexByKey(attributes)));
  const fields = JSON.stringify({ identifier, groupId, name, link, images });
  return `${fields.slice(1, -1)},"categories":[${categories}],"facts":[${facts}]`;
}

/** @returns a number that distinguishes the paths of these tests */
const idOf = (path: string) => 1_000_000_001 + path.length;

interface Fact {
  attribute: string;
  value: string;
  userGroups?: string[];
}

/**
 * Lists facts by their definition, without the shortcuts of the extractor. Source: docs/interface §11.3 and §11.4.
 */
function expectFacts(values: readonly AttributeValue[]): Fact[] {
  const read = values.flatMap(({ key, value, userGroups }) => {
    const attribute = ATTRIBUTES.find(({ name, synonyms = [] }) => [name, ...synonyms].includes(key));
    const isFact = attribute !== undefined && readValue(value, attribute).kind !== 'none';
    return isFact ? [{ attribute: attribute.name, value, userGroups }] : [];
  });
  const byFact = Map.groupBy(read, ({ attribute, value }) => JSON.stringify([attribute, value]));
  return [...byFact.values()].map((same) => {
    const [{ attribute, value } = assert.fail()] = same;
    const isForAll = same.some(({ userGroups }) => userGroups === undefined);
    const userGroups = [...new Set(same.flatMap(({ userGroups: groups = [] }) => groups))];
    return { attribute, value, ...(!isForAll && { userGroups }) };
  });
}

const text = fc.string({ unit: 'binary' }).filter((candidate) => candidate.isWellFormed());
const anyValue: fc.Arbitrary<AttributeValue> = fc.record(
  {
    key: fc.constantFrom('Colour', 'Farbe', 'Length', '"Quoted" \\ €', 'Sold', 'unknown', '__proto__'),
    value: fc.oneof(
      fc.constantFrom('red', '5 in', '5', '5 cm', 'true', ''),
      text,
      fc.string({ minLength: 70 }),
    ),
    userGroups: fc
      .array(fc.constantFrom('trade', 'staff', '"'), { maxLength: 3 })
      .map((all) => [...new Set(all)]),
  },
  { requiredKeys: ['key', 'value'] },
);

test('an answer has the facts of the definition for any values, keys and groups (§11.4)', () => {
  const writer = new AnswerWriter(ATTRIBUTES, () => 1_000_000_001);
  fc.assert(
    fc.property(fc.array(anyValue, { maxLength: 8 }), (values) => {
      const answer = answerOf(writer, product(...values));
      assert.deepEqual(
        answer.facts.map(({ attribute, value, userGroups }: Fact) => ({
          attribute,
          value,
          ...(userGroups && { userGroups }),
        })),
        expectFacts(values),
      );
      for (const { attributeId, attribute, valueId, value, type } of answer.facts) {
        const defined = ATTRIBUTES.find(({ name }) => name === attribute);
        assert.deepEqual([attributeId, type], [defined?.id, defined?.type]);
        assert.equal(valueId, computeValueId(attributeId, value));
      }
    }),
    { numRuns: 300 },
  );
});

test('an answer has the other fields as they were uploaded (§2.2)', () => {
  const writer = new AnswerWriter([], (path) => (path === '["Tools","Ä"]' ? 1_000_000_007 : 0));
  fc.assert(
    fc.property(
      fc.record({ identifier: text, name: text, groupIdentifier: text, productUrl: text }),
      (fields) => {
        const images = [{ url: fields.productUrl, type: 'LARGE' as const }];
        const categories = [
          { path: ['Tools', 'Ä'], priority: 1 },
          { path: ['Own'], categoryId: 5 },
        ];
        const answer = answerOf(writer, normaliseProduct({ ...fields, images, categories }));
        assert.deepEqual(answer, {
          identifier: fields.identifier,
          groupId: fields.groupIdentifier,
          name: fields.name,
          link: fields.productUrl,
          images,
          categories: [
            { path: ['Tools', 'Ä'], categoryId: 1_000_000_007 },
            { path: ['Own'], categoryId: 5 },
          ],
          facts: [],
        });
      },
    ),
  );
});

/** Products like most of a catalog: the same keys in the same order, each once, and repeated values. */
const alike = fc.record({
  identifier: text,
  name: text,
  groupIdentifier: fc.option(text, { nil: undefined }),
  productUrl: fc.webUrl(),
  images: fc.array(fc.record({ url: text, type: fc.constant('LARGE' as const) }), { maxLength: 2 }),
  categories: fc.array(
    fc.record(
      {
        path: fc.array(fc.constantFrom('Tools', 'Ä', '],"attributes":[', '\\'), {
          minLength: 1,
          maxLength: 2,
        }),
        priority: fc.nat(),
        categoryId: fc.nat(),
      },
      { requiredKeys: ['path'] },
    ),
    { maxLength: 2 },
  ),
  attributes: fc
    .uniqueArray(anyValue, { selector: ({ key }) => key, maxLength: 6 })
    .map((all) =>
      all.map(({ userGroups, ...value }, index) => (index === 5 ? { ...value, userGroups } : value)),
    ),
  settings: fc.option(fc.record({ includeUserGroups: fc.array(text, { maxLength: 2 }) }), { nil: undefined }),
});

test('an answer that is copied from stored bytes equals the parsed one, byte for byte (§2.2, §11.4)', () => {
  const writer = new AnswerWriter(ATTRIBUTES, idOf);
  fc.assert(
    fc.property(fc.array(alike, { maxLength: 4 }), (sent) => {
      writer.begin();
      const uploads = sent.map((sentProduct) => normaliseProduct(sentProduct));
      const written = uploads.map((upload) => writer.write(store(upload)));
      assert.deepEqual(
        written.map((bytes) => bytes.toString()),
        uploads.map((upload) => describe(upload, ATTRIBUTES)),
      );
    }),
    { numRuns: 2_000 },
  );
});

test('a value is judged the same from its bytes as when it is parsed (§11.3)', () => {
  const attributes = ['point', 'comma'].flatMap((decimal, index) => [
    { id: 2 * index + 1, name: `Plain ${decimal}`, type: 'NUMERIC_ATTRIBUTE', decimal },
    { id: 2 * index + 2, name: `€ ${decimal}`, type: 'NUMERIC_ATTRIBUTE', decimal, unitName: '"€' },
  ]) as Attribute[];
  const writer = new AnswerWriter(attributes, idOf);
  const part = fc.constantFrom(
    '',
    '-',
    '+',
    '1',
    '007',
    '.',
    ',',
    '.5',
    ',25',
    'e3',
    ' ',
    ' "€',
    ' €',
    '\\',
    '9'.repeat(15),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      const upload = product(...attributes.map(({ name: key }) => ({ key, value: parts.join('') })));
      writer.begin();
      assert.equal(writer.write(store(upload)).toString(), describe(upload, attributes));
    }),
    { numRuns: 2_000 },
  );
});

test('the id of a path without one is read again for the next answer', () => {
  let id: number | undefined;
  const writer = new AnswerWriter([], () => id);
  const upload = normaliseProduct({ identifier: 'A', categories: [{ path: ['New'] }] });
  assert.equal(answerOf(writer, upload).categories[0].categoryId, 0);
  id = 7;
  assert.equal(answerOf(writer, upload).categories[0].categoryId, 7);
});

test('the extractor reports values without a fact and unknown keys (§11.3 rule 2)', () => {
  const extractor = createExtractor(ATTRIBUTES);
  const upload = product(
    { key: 'Length', value: '5' },
    { key: 'Colour', value: 'red' },
    { key: 'Length', value: '5 cm' },
    { key: 'Width', value: '7' },
    { key: 'Sold', value: 'maybe' },
  );
  const expected = {
    unextracted: ['Length 5 unit_missing', 'Length 5 cm unit_other', 'Sold maybe value_not_boolean'],
    empty: [],
    unknown: ['Width'],
  };
  assert.deepEqual(inspect(extractor, upload), expected);
  assert.deepEqual(inspect(extractor, upload), expected, 'the second time, from memory');
});

test('a report line shortens a long value (§4.7 rule 5)', () => {
  const unextracted: Unextracted = {
    attribute: { id: 2, name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
    value: 'x'.repeat(65_536),
    why: 'value_not_numeric',
  };
  const line = describeUnextracted('A', unextracted);
  assert.equal(line.value, `${'x'.repeat(200)}…`);
  assert.deepEqual([line.identifier, line.code, line.attribute], ['A', 'value_not_numeric', 'Length']);
});
