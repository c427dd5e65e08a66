// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countErrors, errorsOf, listPatterns, NearestWords } from './typing-errors.ts';

interface TypingError {
  readonly seed: number;
  readonly kind: 'added' | 'left out' | 'replaced' | 'swapped';
  readonly letter: string;
}

/** Makes a typing error, but never in the first letter. */
function mistype(word: string, { seed, kind, letter }: TypingError): string {
  const letters = [...word];
  const index = 1 + (seed % letters.length);
  const written = {
    added: [letter, ...letters.slice(index, index + 1)],
    'left out': [],
    replaced: [letter],
    swapped: letters.slice(index, index + 2).reverse(),
  }[kind];
  letters.splice(index, kind === 'swapped' ? 2 : 1, ...written);
  return letters.join('');
}

const isLike = (word: string, pattern: string) =>
  new RegExp(`^${pattern.replaceAll('%', '.*')}$`, 'su').test(word);

test('every word that a search may mean matches one of the patterns (§4.13 rule 4)', () => {
  // Few letters, so that many words are similar; one letter comes after U+FFFF.
  const letter = fc.constantFrom('a', 'b', 'c', 'é', '\u{10330}');
  const words = fc.string({ unit: letter, minLength: 3, maxLength: 12 });
  const kind = fc.constantFrom<TypingError['kind']>('added', 'left out', 'replaced', 'swapped');
  const errors = fc.array(fc.record({ seed: fc.nat(), kind, letter }), { maxLength: 2 });
  let meant = 0;
  const check = (word: string, mistakes: readonly TypingError[]) => {
    const other = mistakes.reduce(mistype, word);
    const most = errorsOf(word);
    if (most === 0 || countErrors(word, other, most) > most) return;
    meant += 1;
    const patterns = listPatterns(word);
    assert.ok(
      patterns.some((pattern) => isLike(other, pattern)),
      `${other} for ${word}: ${patterns.join(' ')}`,
    );
  };
  fc.assert(fc.property(words, errors, check), { numRuns: 3_000 });
  assert.ok(meant > 500, `${meant} words were meant`);
});

test('the 50 nearest of many similar words are selected, in any order of arrival (§4.13 rule 4)', () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  const near = letters.flatMap((a) => letters.map((b) => `drillma${a}hi${b}e`));
  const expected = near
    .map((word) => ({ word, errors: countErrors('drillmachine', word, 2) }))
    .filter(({ errors }) => errors > 0 && errors <= 2)
    .sort((a, b) => a.errors - b.errors || (a.word < b.word ? -1 : 1))
    .slice(0, 50)
    .map(({ word }) => word);
  assert.equal(expected.length, 50);
  for (const arrival of [near, near.toReversed(), [...near, ...near]]) {
    const nearest = new NearestWords('drillmachine');
    for (const word of arrival) nearest.add(word);
    assert.deepEqual(nearest.list(), expected);
  }
});
