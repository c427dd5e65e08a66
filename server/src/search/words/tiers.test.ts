// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normaliseProduct } from '../../catalog/products/products.ts';
import { listWords } from './lexeme-parts.ts';
import { listLexemes } from './lexemes.ts';
import { isInTier, planTiers } from './tiers.ts';

test('words have no case and accents, and Chinese and Japanese are split into characters (§4.13 rule 2)', () => {
  assert.deepEqual(listWords('Ångström-Straße Łódź'), ['angstrom', 'strasse', 'lodz']);
  assert.deepEqual(listWords('i7-12700K, 16GB'), ['i7', '12700k', '16gb']);
  assert.deepEqual(listWords('自転車 bike'), ['自', '転', '車', 'bike']);
  assert.deepEqual(listWords('ｆｕｌｌ Ⅳ ﬁt'), ['full', 'iv', 'fit']);
  assert.deepEqual(listWords('\0\ud800 &|!*"\'()'), []);
  assert.equal(listWords('x'.repeat(1_000))[0]?.length, 64);
});

test('a product that the index lacks is assigned to one tier (§4.13 rule 4)', () => {
  const attributes = [
    { key: 'Brand', value: 'Acme' },
    { key: 'Use', value: 'for bicycles' },
  ];
  const lexemes = listLexemes(normaliseProduct({ identifier: 'AB-1', name: 'Long chain', attributes }));
  const tiersOf = (q: string) =>
    planTiers({ words: listWords(q), narrowing: [] }).ranked.flatMap((tier, index) =>
      isInTier(tier, lexemes) ? index : [],
    );
  assert.deepEqual(tiersOf('ab1'), [0]);
  assert.deepEqual(tiersOf('acme chain'), [1]);
  assert.deepEqual(tiersOf('acme cha'), [2]);
  assert.deepEqual(tiersOf('chain bicy'), [3]);
  assert.deepEqual(tiersOf('cha acm'), [2]);
  assert.deepEqual(tiersOf('hain acme'), []);
  assert.deepEqual(tiersOf(''), [0]);
});

test('the lexemes of a product of any size have a limited length (§4.13 rule 3)', () => {
  const words = Array.from({ length: 2_000 }, (_, index) => `${'w'.repeat(60)}${index}`).join(' ');
  const attributes = Array.from({ length: 40 }, (_, index) => ({
    key: `K${index}`,
    value: `${index} ${words}`,
  }));
  const lexemes = listLexemes(normaliseProduct({ identifier: 'A', name: 'A', attributes }));
  assert.ok([...lexemes].join(' ').length < 400_000);
});

test('the lexemes of a product do not depend on the words of earlier products (§4.13 rule 3)', () => {
  for (let index = 0; index < 6; index += 1) {
    const words = Array.from({ length: 12_000 }, (_, word) => `${index}x${word}`);
    const attributes = [
      { key: 'Brand', value: 'Łódź Acme' },
      { key: 'Text', value: words.join(' ') },
    ];
    const product = normaliseProduct({ identifier: `P${index}`, name: 'Acme chain', attributes });
    const lexemes = [...listLexemes(product)];
    const ofKind = (kind: string) =>
      lexemes.flatMap((lexeme) => (lexeme[0] === kind ? lexeme.slice(1) : [])).sort();
    const head = [`p${index}`, 'acme', 'chain', 'lodz'].sort();
    assert.deepEqual(ofKind('n'), head);
    assert.deepEqual(ofKind('a'), [...head, ...words].sort());
    assert.deepEqual(ofKind('i'), [`p${index}`]);
  }
});

test('a value that is truncated for a product with many words is complete for the next product (§4.13 rule 3)', () => {
  const attribute = { key: 'Greeting', value: '\ufdfa\ufdfa\ufdfa zebra' };
  const long = Array.from({ length: 19_993 }, (_, word) => `w${1_000 + (word % 9_000)}`).join(' ');
  const has = (identifier: string, attributes: readonly { key: string; value: string }[]) =>
    listLexemes(normaliseProduct({ identifier, name: 'A', attributes })).has('azebra');
  const isCut = ['B1', 'B2'].map((identifier) => !has(identifier, [{ key: 'Text', value: long }, attribute]));
  assert.deepEqual(isCut, [true, true]);
  assert.ok(has('S1', [attribute]));
});
