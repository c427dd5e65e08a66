import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AttributeValue, normaliseProduct, type UploadedProduct } from '../products/product.ts';
import { computeValueId } from '../products/value-id.ts';
import { type Attribute, readValue } from './attribute.ts';
import { answerBound, describeUnextracted, Extractor, type Unextracted } from './extraction.ts';

const ATTRIBUTES: readonly Attribute[] = [
  { id: 1, name: 'Colour', type: 'TEXT_ATTRIBUTE', synonyms: ['Farbe'] },
  { id: 2, name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
  { id: 3, name: '"Quoted" \\ €', type: 'UNTYPED_ATTRIBUTE' },
  { id: 4, name: 'Sold', type: 'BOOLEAN_ATTRIBUTE' },
];
const LONGEST = 255;

const product = (...attributes: AttributeValue[]): UploadedProduct =>
  normaliseProduct({ identifier: 'A', name: 'A', attributes });

function extract(extractor: Extractor, upload: UploadedProduct) {
  const told = { unextracted: [] as string[], unknown: [] as string[] };
  extractor.tell({
    onUnextracted: (_, { attribute, value, why }) =>
      told.unextracted.push(`${attribute.name} ${value} ${why}`),
    onUnknown: (key) => told.unknown.push(key),
  });
  const raw = JSON.stringify(upload);
  const bound = answerBound(upload, raw.length, LONGEST);
  const target = Buffer.alloc(bound + 3);
  const end = extractor.writeAnswer(upload, target, 3);
  assert.ok(end - 3 <= bound, 'it stays within the room that was left for it');
  return { answer: JSON.parse(`{${target.toString('utf8', 3, end)}}`), told };
}

interface Fact {
  attribute: string;
  value: string;
  userGroups?: string[];
}

/** Facts by their definition, without the extractor's short cuts. Source: docs/interface.md §11.3 and §11.4. */
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

const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed());
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

test('facts are those of the definition, whatever the values, keys and groups (§11.4)', () => {
  const extractor = new Extractor(ATTRIBUTES, () => 1_000_000_001);
  fc.assert(
    fc.property(fc.array(anyValue, { maxLength: 8 }), (values) => {
      const { answer } = extract(extractor, product(...values));
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

test('the other fields are answered as they were uploaded (§2.2)', () => {
  const extractor = new Extractor([], (path) => (path === '["Tools","Ä"]' ? 1_000_000_007 : 0));
  fc.assert(
    fc.property(
      fc.record({ identifier: text, name: text, groupIdentifier: text, productUrl: text }),
      (fields) => {
        const images = [{ url: fields.productUrl, type: 'LARGE' as const }];
        const categories = [
          { path: ['Tools', 'Ä'], priority: 1 },
          { path: ['Own'], categoryId: 5 },
        ];
        const { answer } = extract(extractor, normaliseProduct({ ...fields, images, categories }));
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

test('values without a fact and unknown keys are told, by an inspection as by an answer (§11.3 rule 2)', () => {
  const extractor = new Extractor(ATTRIBUTES, () => 0);
  const upload = product(
    { key: 'Length', value: '5' },
    { key: 'Colour', value: 'red' },
    { key: 'Length', value: '5 cm' },
    { key: 'Width', value: '7' },
    { key: 'Sold', value: 'maybe' },
  );
  const expected = {
    unextracted: ['Length 5 unit_missing', 'Length 5 cm unit_other', 'Sold maybe value_not_boolean'],
    unknown: ['Width'],
  };
  assert.deepEqual(extract(extractor, upload).told, expected);
  assert.deepEqual(extract(extractor, upload).told, expected, 'the second time, from memory');
  const told = { unextracted: [] as string[], unknown: [] as string[] };
  extractor.tell({
    onUnextracted: (_, { attribute, value, why }) =>
      told.unextracted.push(`${attribute.name} ${value} ${why}`),
    onUnknown: (key) => told.unknown.push(key),
  });
  extractor.inspect(upload);
  assert.deepEqual(told, expected);
});

test('a line of the report cuts a long value (§4.7 rule 5)', () => {
  const unextracted: Unextracted = {
    attribute: { id: 2, name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
    value: 'x'.repeat(65_536),
    why: 'value_not_numeric',
  };
  const line = describeUnextracted('A', unextracted);
  assert.equal(line.value, `${'x'.repeat(200)}…`);
  assert.deepEqual([line.identifier, line.code, line.attribute], ['A', 'value_not_numeric', 'Length']);
});
