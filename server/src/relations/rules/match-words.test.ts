// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readComparables } from '../../catalog/filters/filters.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { normaliseProduct } from '../../catalog/products/product.ts';
import { matchesOf, SIDES, type Side } from '../relation-definitions/relation.ts';
import type { Match, MatchElement } from '../relation-definitions/relation-schemas.ts';
import type { ValueTable } from '../relation-definitions/table-schemas.ts';
import { textsOf } from './match-texts.ts';
import { judgeElement } from './match-truth.ts';
import { describeMatch, type MatchWords } from './match-words.ts';
import { bindRule, compiledOf, compileRule } from './rule.ts';

const numeric = (id: number, name: string, unitName?: string) =>
  ({ id, name, type: 'NUMERIC_ATTRIBUTE', ...(unitName && { unitName }) }) as Attribute;
const attribute = (id: number, name: string, type: string) => ({ id, name, type }) as Attribute;
const ATTRIBUTES = [
  ...[numeric(1, 'TDP', 'W'), numeric(2, 'Wattage', 'W'), numeric(3, 'Power', 'kW')],
  ...[numeric(4, 'Count'), numeric(5, 'Slots'), numeric(6, 'Warmth', '°C'), numeric(7, 'Heat', '°F')],
  ...[numeric(8, 'Width', 'in'), numeric(9, 'Gap', 'mm')],
  ...[attribute(20, 'CPU socket', 'TEXT_ATTRIBUTE'), attribute(21, 'Family', 'TEXT_ATTRIBUTE')],
  ...[attribute(30, 'Silent', 'BOOLEAN_ATTRIBUTE'), attribute(31, 'Quiet', 'BOOLEAN_ATTRIBUTE')],
  ...[attribute(40, 'Made', 'DATE_ATTRIBUTE'), attribute(41, 'Sold', 'DATE_ATTRIBUTE')],
];
/** Attributes that can be compared with each other, with values for each. */
const KINDS: readonly { readonly names: readonly string[]; readonly values: readonly string[] }[] = [
  { names: ['TDP', 'Wattage', 'Power'], values: ['120', '850', '0.3', '1600', '-7', '0'] },
  { names: ['Count', 'Slots'], values: ['1', '3', '0.1', '-2', '7', '1e30', '1e-12'] },
  { names: ['Warmth', 'Heat'], values: ['20', '-40', '68.5', '0'] },
  { names: ['Width', 'Gap'], values: ['1', '25.4', '19', '0.3'] },
  { names: ['CPU socket', 'Family'], values: ['AM5', 'AM4', 'LGA1700', 'Raptor Lake', 'x'.repeat(300)] },
  { names: ['Silent', 'Quiet'], values: ['true', 'false'] },
  { names: ['Made', 'Sold'], values: ['2024-02-29', '2024-03-01', '2024-03-01T12:00:00Z'] },
];
const TABLES: readonly ValueTable[] = [
  {
    name: 'texts',
    pairs: [
      ['Raptor Lake', 'LGA1700'],
      ['AM4', 'AM5'],
      ...Array.from({ length: 9 }, (_, index): [string, string] => ['LGA1700', `Other ${index}`]),
    ],
  },
  {
    name: 'powers',
    pairs: [
      ['120 W', '0.85 kW'],
      ['850 W', '3 W'],
      ['0 W', '1/2'],
    ],
  },
];
const unitOf = (name: string) => ATTRIBUTES.find((attribute) => attribute.name === name)?.unitName;

interface Case {
  readonly match: Match;
  /** Uploaded values by side. */
  readonly values: Readonly<Record<Side, readonly string[]>>;
}

const number = fc.constantFrom(1.2, 8, 3, -1, -0.7, 0, 0.001);
const cases: fc.Arbitrary<Case> = fc.constantFrom(...KINDS).chain(({ names, values }) => {
  const isNumeric = ATTRIBUTES.some(({ name, type }) => name === names[0] && type === 'NUMERIC_ATTRIBUTE');
  const name = fc.constantFrom(...names);
  const term = fc.record(
    { attribute: name, times: number, plus: fc.constantFrom(100, -2.5, 0) },
    { requiredKeys: ['attribute'] },
  );
  const side = isNumeric ? fc.oneof(name, term) : name;
  const table = names.includes('TDP') ? 'powers' : 'texts';
  const hasTable = names.includes('TDP') || names.includes('Family');
  const plain = fc.record(
    {
      target: side,
      operator: fc.constantFrom('equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual'),
      source: side,
      missing: fc.constantFrom('fails' as const, 'passes' as const),
    },
    { requiredKeys: ['target', 'operator', 'source'] },
  );
  const match = hasTable
    ? fc.oneof(
        plain,
        plain.map((match) => ({ ...match, operator: 'equals' as const, table })),
      )
    : plain;
  const list = fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
  return fc.record({ match, source: list, target: list }).map(({ match: drawnMatch, source, target }) => ({
    match: drawnMatch as Match,
    values: { source, target },
  }));
});

const nameOf = (value: Match['source']) => {
  if (typeof value === 'string') return value;
  return 'attribute' in value ? value.attribute : value.field;
};
const upload = (name: string, values: readonly string[]) => {
  const unit = unitOf(name);
  return normaliseProduct({
    identifier: 'one',
    attributes: values.map((value) => ({
      key: name,
      value: unit === undefined ? value : `${value} ${unit}`,
    })),
  });
};

/** @returns the judgement of the only match, with its sentences in the locale */
function judge({ match, values }: Case, locale: string) {
  const rule = { source: { all: [] }, target: { all: [] }, match: [match], sort: [] };
  const result = bindRule(rule, ATTRIBUTES, TABLES);
  if ('problem' in result) throw new Error(result.problem);
  const [element] = compileRule(result.bound).elements;
  assert.ok(element);
  const products = {
    source: upload(nameOf(match.source), values.source),
    target: upload(nameOf(match.target), values.target),
  };
  const judgement = judgeElement(element, {
    source: (attribute) => readComparables(products.source, attribute),
    target: (attribute) => readComparables(products.target, attribute),
  });
  const [compiled] = compiledOf(element);
  assert.ok(compiled);
  return { judgement, words: describeMatch(compiled, judgement, textsOf(locale)) };
}

/** The claim of an advice: each of these values makes the match hold, or no value does. */
type Meaning =
  | { readonly try: readonly string[] }
  | { readonly avoid: string }
  | 'any'
  | 'none'
  | 'empty'
  /** A value that is not spelled out. */
  | 'long';

/** @returns values slightly above or below a value, and values far beyond it */
const beyond = (value: string, sign: 1 | -1): string[] => {
  if (/^[\d-]/.test(value) && !/^\d{4}-/.test(value)) {
    const size = Number(value);
    return [1e-6, 1e-3, 1000].map((step) => String(size + sign * step * Math.max(1, Math.abs(size))));
  }
  if (/^\d{4}-/.test(value)) return sign > 0 ? ['2099-01-01'] : ['1999-01-01'];
  if (value === 'true' || value === 'false') return [];
  return sign > 0 ? ['~~~~'] : ['!'];
};

const PLAIN = {
  en: (text: string) => text.replaceAll(',', '').replace('−', '-'),
  de: (text: string) => text.replaceAll('.', '').replace(',', '.').replace('−', '-'),
};

const SENTENCES = {
  en: {
    be: /^would have to be (.*?)(?:, because the table \w+ has no pair with it)?$/,
    none: /^cannot make it hold/,
    any: /^would need a value$/,
    empty: /^would have to have no value$/,
    oneOf: /^one of /,
    or: ' or ',
    others: / more$/,
    long: 'the text of ',
    compared: { 'other than': 'not', 'less than': '<', 'at most': '<=', 'more than': '>', 'at least': '>=' },
  },
  de: {
    be: /^müsste (.*?) sein(?:, weil die Tabelle \w+ kein Paar dafür enthält)?$/,
    none: /^kann das nicht erfüllen/,
    any: /^bräuchte einen Wert$/,
    empty: /^dürfte keinen Wert haben$/,
    oneOf: /^einer der Werte /,
    or: ' oder ',
    others: / weitere$/,
    long: 'der Text von ',
    compared: {
      'anders als': 'not',
      'kleiner als': '<',
      höchstens: '<=',
      'größer als': '>',
      mindestens: '>=',
    },
  },
} as const;

type Language = keyof typeof SENTENCES;

/** @returns a value as it would be uploaded, without its unit */
function readValue(text: string, language: Language, name: string): string {
  if (ATTRIBUTES.find((attribute) => attribute.name === name)?.type !== 'NUMERIC_ATTRIBUTE') return text;
  const unit = unitOf(name);
  const end = unit === undefined ? '' : ` ${unit}`;
  assert.ok(text.endsWith(end), `${text} ends with its unit`);
  const value = text.slice(0, text.length - end.length);
  return value.includes('e') ? value : PLAIN[language](value);
}

/** Reads the sentence as a person would. */
function understand(advice: string, language: Language, name: string): Meaning {
  const words = SENTENCES[language];
  for (const meaning of ['none', 'any', 'empty'] as const) if (words[meaning].test(advice)) return meaning;
  const [, advised = ''] = words.be.exec(advice) ?? assert.fail(`advice in an unknown form: ${advice}`);
  if (advised.includes(words.long)) return 'long';
  const read = (text: string) => readValue(text, language, name);
  const compared = Object.entries(words.compared).find(([phrase]) => advised.startsWith(`${phrase} `));
  if (compared === undefined) return { try: splitList(advised, words).map(read) };
  const [comparison, sign] = compared;
  const value = read(advised.slice(comparison.length + 1));
  if (sign === 'not') return { avoid: value };
  const further = beyond(value, sign.startsWith('>') ? 1 : -1);
  return { try: sign.endsWith('=') ? [value, ...further] : further };
}

/** @returns the values of `A or B`, or of `one of A, B or 7 more` */
function splitList(text: string, { oneOf, or, others }: (typeof SENTENCES)[Language]): string[] {
  if (!oneOf.test(text)) return text.split(or);
  const [listed = '', last = ''] = text.replace(oneOf, '').split(or);
  return [...listed.split(', '), ...(others.test(last) ? [] : [last])];
}

type Describe = (words: MatchWords) => MatchWords;

/** @returns the problem if the match does not hold after the advice on a side is followed */
function findFalse(
  tried: Case,
  { locale, describe }: { locale: string; describe: Describe },
): string | undefined {
  const { judgement, words: original } = judge(tried, locale);
  const words = describe(original);
  const language = (locale.startsWith('de') ? 'de' : 'en') satisfies Language;
  if (judgement.truth === 1) {
    assert.deepEqual(Object.keys(words), ['say']);
    return undefined;
  }
  for (const side of SIDES) {
    const advice = side === 'target' ? words.advice : words.sourceAdvice;
    assert.ok(advice, 'a match that fails has advice for both sides');
    const name = nameOf(tried.match[side]);
    const meaning = understand(advice, language, name);
    const holds = (values: readonly string[]) =>
      judge({ ...tried, values: { ...tried.values, [side]: values } }, locale).judgement.truth === 1;
    const kind = KINDS.find(({ names }) => names.includes(name));
    const problem = checkMeaning(meaning, { holds, samples: kind?.values ?? [] });
    if (problem !== undefined) return JSON.stringify({ ...tried, side, advice, problem });
  }
  return undefined;
}

function checkMeaning(
  meaning: Meaning,
  { holds, samples }: { holds: (values: readonly string[]) => boolean; samples: readonly string[] },
): string | undefined {
  const suffices = (value: string) => holds([value]);
  switch (meaning) {
    case 'long':
      return undefined;
    case 'none':
      return samples.find(suffices);
    case 'empty':
      return holds([]) ? undefined : 'a missing value does not pass';
    case 'any':
      return samples.some(suffices) ? undefined : 'no value suffices';
    default:
      if ('try' in meaning) return meaning.try.find((value) => !suffices(value));
      return [meaning.avoid, ...samples].find((value) => suffices(value) === isSame(value, meaning.avoid));
  }
}

/** Whether two texts spell the same value. */
const isSame = (a: string, b: string) =>
  a === b || Number(a) === Number(b) || (/^\d{4}-/.test(a) && Date.parse(a) === Date.parse(b));

const LOCALES = ['en-GB', 'de-DE'];
const RUNS = Number(process.env.RELATA_TEST_ADVICE ?? 3_000);

const isTrue = (locale: string, describe: Describe) =>
  fc.property(cases, (tried) => assert.equal(findFalse(tried, { locale, describe }), undefined));

for (const locale of LOCALES) {
  test(`each value that advice names makes the match hold, in ${locale} (§12.6 rule 8)`, () => {
    fc.assert(
      isTrue(locale, (words) => words),
      { numRuns: RUNS },
    );
  });
}

const MISTAKES: readonly (readonly [name: string, describe: Describe])[] = [
  [
    'confuses at most with at least',
    (words) => ({ ...words, ...(words.advice && { advice: words.advice.replace('at most', 'at least') }) }),
  ],
  [
    'claims that no value suffices',
    (words) => ({ ...words, ...(words.sourceAdvice && { sourceAdvice: 'cannot make it hold' }) }),
  ],
  [
    'rounds to integers',
    (words) => ({ ...words, ...(words.advice && { advice: words.advice.replaceAll(/\.\d+/g, '') }) }),
  ],
];
for (const [name, describe] of MISTAKES) {
  test(`the check detects advice that ${name}`, () => {
    assert.ok(fc.check(isTrue('en-GB', describe), { numRuns: 20_000, endOnFailure: true }).failed);
  });
}

const describeWords = (match: Match, [source, target]: readonly (readonly string[])[], locale = 'en-GB') =>
  judge({ match, values: { source: source ?? [], target: target ?? [] } }, locale).words;

test('a match is described with its values and its advice, in English and German (§12.6 rule 8)', () => {
  const power: Match = {
    target: 'Wattage',
    operator: 'greaterOrEqual',
    source: { attribute: 'TDP', times: 8, plus: 100 },
  };
  assert.deepEqual(describeWords(power, [['120'], ['1600']]), { say: '1600 W ≥ 8 × 120 W + 100 W' });
  assert.deepEqual(describeWords(power, [['120'], ['850']]), {
    say: '850 W < 8 × 120 W + 100 W',
    advice: 'would have to be at least 1,060 W',
    sourceAdvice: 'would have to be at most 93.75 W',
  });
  assert.deepEqual(describeWords(power, [['120'], ['850']], 'de-DE'), {
    say: '850 W < 8 × 120 W + 100 W',
    advice: 'müsste mindestens 1.060 W sein',
    sourceAdvice: 'müsste höchstens 93,75 W sein',
  });
  assert.deepEqual(describeWords(power, [[], ['850']], 'de-DE'), {
    say: '850 W ≥? kein Wert',
    advice: 'kann das nicht erfüllen, solange TDP keinen Wert hat',
    sourceAdvice: 'müsste höchstens 93,75 W sein',
  });
  const more: Match = { ...power, operator: 'greater', target: { attribute: 'Power', times: 3 } };
  assert.equal(
    describeWords(more, [['850', '120'], ['0.1']]).advice,
    'would have to be more than 0.3533334 kW',
  );
});

test('the advice on a match with a table names values of the table (§12.6 rule 8)', () => {
  const socket: Match = { target: 'CPU socket', operator: 'equals', source: 'Family', table: 'texts' };
  assert.deepEqual(describeWords(socket, [['Raptor Lake'], ['LGA1700']]), {
    say: 'LGA1700 goes with Raptor Lake by the table texts',
  });
  assert.deepEqual(describeWords(socket, [['Raptor Lake'], ['AM5']]), {
    say: 'AM5 does not go with Raptor Lake by the table texts',
    advice: 'would have to be LGA1700',
    sourceAdvice: 'would have to be AM4',
  });
  const { advice } = describeWords(socket, [['LGA1700', 'Raptor Lake'], ['AM5']]);
  assert.equal(advice, 'would have to be one of Other 0, Other 1, Other 2, Other 3, Other 4 or 5 more');
  assert.equal(describeWords(socket, [['AM5'], ['AM5']]).say, 'AM5 = AM5');
  const unlisted = describeWords(socket, [['Zen'], ['AM5']], 'de-DE');
  assert.equal(unlisted.advice, 'müsste Zen sein, weil die Tabelle texts kein Paar dafür enthält');
});

test('advice names the other side if no value of one side makes the match hold (§12.6 rule 8)', () => {
  const zero: Match = { target: { attribute: 'Count', times: 0 }, operator: 'greater', source: 'Slots' };
  assert.deepEqual(describeWords(zero, [['3'], ['7']]), {
    say: '0 × 7 ≤ 3',
    advice: 'cannot make it hold, because it is multiplied by 0',
    sourceAdvice: 'would have to be less than 0',
  });
  const element: MatchElement = { target: 'Silent', operator: 'greater', source: 'Quiet' };
  assert.equal(matchesOf(element).length, 1);
  assert.deepEqual(describeWords(element, [['true'], ['false']]), {
    say: 'false ≤ true',
    advice: 'cannot make it hold: Quiet would have to change',
    sourceAdvice: 'cannot make it hold: Silent would have to change',
  });
});
