// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../kernel/errors.ts';
import { checkIdentifiers, readIdentifiers } from './identifiers.ts';

const identifier = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const list = fc.array(identifier, { minLength: 1, maxLength: 20 });
const refused = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test('identifiers in a JSON array are read in their order (§4.2 rules 2 and 6)', () => {
  fc.assert(
    fc.property(list, (requested) => {
      assert.deepEqual(readIdentifiers(JSON.stringify(requested)), requested);
    }),
  );
});

test('each of several values is a literal identifier, even if it is JSON (§4.2 rule 4)', () => {
  const odd = fc.oneof(identifier, fc.constantFrom('["A"]', '[', '{}', ' ', '"A"'));
  fc.assert(
    fc.property(fc.array(odd, { minLength: 2, maxLength: 20 }), (requested) => {
      assert.deepEqual(readIdentifiers(requested), requested);
    }),
  );
});

test('one value is an identifier unless it begins with [ or { (§4.2 rules 3 and 4)', () => {
  fc.assert(
    fc.property(
      identifier.filter((text) => !/^[[{]/.test(text)),
      (text) => {
        assert.deepEqual(readIdentifiers(text), [text]);
      },
    ),
  );
  assert.deepEqual(readIdentifiers('[]'), []);
  for (const text of ['[', '{}', '{"A":1}', '[1]', '[null]', '["A",""]', '[["A"]]', '["A"']) {
    assert.throws(() => readIdentifiers(text), refused('query_invalid'), text);
  }
});

test('a request without identifiers or with an empty one is refused (§4.2 rule 5)', () => {
  for (const given of [undefined, '', [], [''], ['A', '']]) {
    assert.throws(() => readIdentifiers(given), refused('query_invalid'));
  }
});

test('a request may have 1,000 identifiers, counting repetitions (§4.2 rule 7)', () => {
  const many = Array.from({ length: 1_001 }, (_, index) => `A${index}`);
  assert.equal(readIdentifiers(many.slice(1)).length, 1_000);
  assert.equal(readIdentifiers(JSON.stringify(many.slice(1))).length, 1_000);
  const same = many.map(() => 'A');
  for (const given of [many, same]) {
    assert.throws(() => readIdentifiers(given), refused('too_many_identifiers'));
    assert.throws(() => checkIdentifiers(given), refused('too_many_identifiers'));
  }
});
