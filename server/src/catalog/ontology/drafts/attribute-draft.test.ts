// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isBlank, readValue } from '../attribute.ts';
import { describeDefinition, draftAttribute } from './attribute-draft.ts';
import { isCodeName } from './code-names.ts';
import { joinObservations, joinObserved, type Observed, observeValue } from './observed-values.ts';

const value = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true }).map(String),
  fc.tuple(fc.integer(), fc.constantFrom('in', 'cm', '%', 'm3')).map(([number, unit]) => `${number} ${unit}`),
  fc.constantFrom('1,5', '1.234', '1.234,50 €', '1,234.5', '5 INCH', '5"', '12 345,6 kg', '1 Zoll', '7 kg'),
  fc.constantFrom('true', 'False', '', ' ', '1 ', '02', '1e5', '1 in wide', '1234567890123456'),
  fc.string(),
);
const draft = (observed: Observed) => draftAttribute({ id: 1, name: 'Size' }, observed, { locale: 'de-DE' });
const observe = (values: readonly string[]) =>
  values.reduce<Observed | undefined>((all, text) => joinObserved(all, observeValue(text)), undefined);

test('a draft does not depend on the order of the values or on their batches (§11.2 rule 2)', () => {
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
        const drafts = [joinObservations(batches).get('Size'), observe(values)].map(
          (observed) => observed && describeDefinition(draft(observed)),
        );
        assert.equal(drafts[0], drafts[1]);
      },
    ),
  );
});

test('every value of an update makes a fact of the attribute that the update created (§11.2, §11.3)', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
      const observed = observe(values);
      assert.ok(observed);
      const attribute = draft(observed);
      for (const text of values.filter((value) => !isBlank(value)))
        assert.notEqual(
          readValue(text, attribute).kind,
          'none',
          `${text} as ${describeDefinition(attribute)}`,
        );
    }),
  );
});

const DRAFTS: readonly [values: readonly string[], definition: string][] = [
  [['1', '-2.5', '+0.5'], '1 NUMERIC_ATTRIBUTE  '],
  [['1 in', '2 in'], '1 NUMERIC_ATTRIBUTE in '],
  [['1 in', '2'], '1 TEXT_ATTRIBUTE  '],
  [['1 in', '2 In'], '1 TEXT_ATTRIBUTE  '],
  [['1 😀😀😀😀😀😀😀😀😀😀😀😀'], '1 NUMERIC_ATTRIBUTE 😀😀😀😀😀😀😀😀😀😀😀😀 '],
  [['1 abcdefghijklm'], '1 TEXT_ATTRIBUTE  '],
  [['1\tin'], '1 TEXT_ATTRIBUTE  '],
  [['true', 'FALSE'], '1 BOOLEAN_ATTRIBUTE  '],
  [['true', '0'], '1 TEXT_ATTRIBUTE  '],
  [['012'], '1 TEXT_ATTRIBUTE  '],
  [['0.10'], '1 NUMERIC_ATTRIBUTE  '],
  [['1.'], '1 TEXT_ATTRIBUTE  '],
  [['.5'], '1 TEXT_ATTRIBUTE  '],
  [['1e3'], '1 TEXT_ATTRIBUTE  '],
  [['12345678901'], '1 NUMERIC_ATTRIBUTE  '],
  [['123456789012'], '1 TEXT_ATTRIBUTE  '],
  [['1.234', '5,5'], '1 NUMERIC_ATTRIBUTE  comma'],
  [['1 in', '2 INCH', '3"'], '1 NUMERIC_ATTRIBUTE in '],
  [['1 m', '2 cm'], '1 TEXT_ATTRIBUTE  '],
];
for (const [values, definition] of DRAFTS) {
  test(`${JSON.stringify(values)} create ${definition.slice(2).trim()} (§11.2)`, () => {
    assert.equal(describeDefinition(draft(observe(values) as Observed)), definition);
  });
}

test('an attribute name that means codes is recognised as a whole word, in the languages of shops (§11.2)', () => {
  const codes = [
    'GTIN',
    'ean13',
    'SKU',
    'Product ID',
    'productId',
    'Art.-Nr.',
    'ArtNr',
    'Artikelnummer',
    'MPN',
  ];
  codes.push(
    'Manufacturer part number',
    'Référence',
    'Code article',
    'código de producto',
    'Codice articolo',
  );
  codes.push(
    'Bestellnummer',
    'Onderdeelnummer',
    'Numer katalogowy',
    'item no.',
    'Zolltarifnummer',
    'Teile-Nr',
  );
  codes.push('Numer artykułu', 'numer części', 'Número de parte', 'numéro de référence', 'reservedelsnummer');
  codes.push('Herstellerartikelnummer', 'Lieferanten-Artikelnummer', 'Sachnummer', 'EANCode', 'Part #');
  codes.push(
    'Item #:',
    'Art. N°',
    'Art. n.',
    'Nº de artículo',
    'N. articolo',
    'N serie',
    'Référence produit',
  );
  for (const name of codes) assert.ok(isCodeName(name), name);
  const others = [
    'Width',
    'Idle power',
    'Meaning',
    'Number of parts',
    'Model year',
    'Part count',
    'Reference voltage',
  ];
  others.push('Code length', 'Anzahl Teile', 'Número de piezas', 'Type of code');
  // Names of counts, kinds and plurals.
  others.push(
    '# Teile',
    '#Artikel',
    '# Modell',
    'Teile # je Packung',
    'N Teile',
    'Typ N',
    'Modell N',
    'Serien',
  );
  for (const name of others) assert.ok(!isCodeName(name), name);
});
