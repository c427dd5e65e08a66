import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isBlank, readValue } from './attribute.ts';
import {
  describeDefinition,
  draftAttribute,
  joinObservations,
  joinObserved,
  type Observed,
  observeValue,
} from './ontology-draft.ts';

const value = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true }).map(String),
  fc.tuple(fc.integer(), fc.constantFrom('in', 'cm', '%', 'm3')).map(([number, unit]) => `${number} ${unit}`),
  fc.constantFrom('true', 'False', '', ' ', '1 ', '02', '1e5', '1 in wide', '1234567890123456'),
  fc.string(),
);
const observe = (values: readonly string[]) =>
  values.reduce<Observed | undefined>((all, one) => joinObserved(all, observeValue(one)), undefined);

test('neither the order of the values nor how they are cut into batches matters (§11.2 rule 2)', () => {
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1 }).chain((values) =>
        fc.record({
          values: fc.constant(values),
          mixed: fc.shuffledSubarray(values, { minLength: values.length }),
          cut: fc.nat({ max: values.length }),
        }),
      ),
      ({ values, mixed, cut }) => {
        const batches = [mixed.slice(0, cut), mixed.slice(cut)].flatMap((batch) => {
          const observed = observe(batch);
          return observed === undefined ? [] : [new Map([['Size', observed]])];
        });
        assert.deepEqual(joinObservations(batches).get('Size'), observe(values));
      },
    ),
  );
});

test('every value of the update is a fact under the attribute that it created (§11.2, §11.3)', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
      const observed = observe(values);
      assert.ok(observed);
      const attribute = draftAttribute(1, 'Size', observed);
      for (const one of values.filter((value) => !isBlank(value)))
        assert.notEqual(readValue(one, attribute).kind, 'none', `${one} as ${describeDefinition(attribute)}`);
    }),
  );
});

const DRAFTS: readonly [values: readonly string[], definition: string][] = [
  [['1', '-2.5', '+0.5'], '1 NUMERIC_ATTRIBUTE '],
  [['1 in', '2 in'], '1 NUMERIC_ATTRIBUTE in'],
  [['1 in', '2'], '1 TEXT_ATTRIBUTE '],
  [['1 in', '2 In'], '1 TEXT_ATTRIBUTE '],
  [['1 😀😀😀😀😀😀😀😀😀😀😀😀'], '1 NUMERIC_ATTRIBUTE 😀😀😀😀😀😀😀😀😀😀😀😀'],
  [['1 abcdefghijklm'], '1 TEXT_ATTRIBUTE '],
  [['1\tin'], '1 TEXT_ATTRIBUTE '],
  [['true', 'FALSE'], '1 BOOLEAN_ATTRIBUTE '],
  [['true', '0'], '1 TEXT_ATTRIBUTE '],
  [['012'], '1 TEXT_ATTRIBUTE '],
  [['0.10'], '1 NUMERIC_ATTRIBUTE '],
  [['1.'], '1 TEXT_ATTRIBUTE '],
  [['.5'], '1 TEXT_ATTRIBUTE '],
  [['1e3'], '1 TEXT_ATTRIBUTE '],
  [['123456789.012345'], '1 NUMERIC_ATTRIBUTE '],
  [['123456789.0123456'], '1 TEXT_ATTRIBUTE '],
];
for (const [values, definition] of DRAFTS) {
  test(`${JSON.stringify(values)} make ${definition.slice(2).trim()} (§11.2)`, () => {
    assert.equal(describeDefinition(draftAttribute(1, 'Size', observe(values) as Observed)), definition);
  });
}
