// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileMessageOrThrow } from '@lingui/message-utils/compileMessage';
import { choices, feedFormats } from '@relata/client';
import de from '../src/languages/de.json' with { type: 'json' };
import { compileMessage } from '../src/languages/messages.ts';
import { speak, t } from '../src/languages/text.ts';
import { formatAgo, formatCount, formatDuration, formatMoment, formatPercent } from '../src/rules/format.ts';
import { describeCron } from '../src/rules/schedule.ts';
import { readSourceTexts, readTexts } from './source-texts.ts';

const source = readSourceTexts();

test('every text of the console is translated when it is rendered', () => {
  assert.ok(source.texts.length > 1_000, 'the texts were found');
  assert.deepEqual(source.mistakes, []);
});

test('finds untranslated texts in every position', () => {
  const forgotten = `
    const WORDS = t('At the start');
    const choices = () => <SelectField label="Kind" choices={[['a', 'First one']]} kinds={{ Row: {} }} />;
    function Part({ isNew, name, tell }) {
      tell.good('It is saved');
      return <p title={isNew ? 'Not yet' : t('Here')}>Hello {name}, {isNew && \`you are\`} {t(name)}</p>;
    }`;
  const { texts, mistakes } = readTexts('part.tsx', forgotten);
  assert.deepEqual(texts, ['At the start', 'Here']);
  assert.deepEqual(mistakes, [
    'part.tsx:2 is translated while the file loads, so it keeps the first language',
    'part.tsx:3 is not translated: "Kind"',
    "part.tsx:3 is not translated: 'First one'",
    'part.tsx:3 is not translated: Row',
    "part.tsx:5 is not translated: 'It is saved'",
    "part.tsx:6 is not translated: 'Not yet'",
    'part.tsx:6 is not translated: Hello',
    'part.tsx:6 is not translated: `you are`',
    'part.tsx:6 translates a text that is not a literal',
  ]);
  const named = '<a href="/x" className="strong">Relata {name} · {count} %<input placeholder="A1, B4" /></a>';
  assert.deepEqual(readTexts('part.tsx', named).mistakes, []);
});

/** The labels of formats, sources and destinations, which the client contains. */
function listOthers(): string[] {
  const labels: string[] = [];
  JSON.stringify([choices, feedFormats], (name, value) => {
    if ((name === 'label' || name === 'description') && value !== '') labels.push(value);
    return value;
  });
  return labels;
}

const texts = new Set([...source.texts, ...listOthers()]);

test('the German file has exactly the texts of the console, in alphabetical order', () => {
  const germanKeys = Object.keys(de);
  assert.deepEqual(
    [...texts].filter((text) => !Object.hasOwn(de, text)).toSorted(),
    [],
    'missing in de.json',
  );
  assert.deepEqual(
    germanKeys.filter((text) => !texts.has(text)),
    [],
    'no longer used',
  );
  assert.deepEqual(germanKeys, germanKeys.toSorted());
  assert.deepEqual(
    Object.values(de).filter((text) => text.trim() === ''),
    [],
  );
});

/** @returns the arguments of a message, such as `count plural`, and its elements, such as `<link>` */
function listParts(text: string): string[] {
  const parts = new Set<string>(text.match(/<\w+>/g));
  const look = (token: unknown): void => {
    if (!Array.isArray(token)) return;
    const [name, type, cases = {}] = token;
    parts.add(name).add(type === 'plural' ? `${name} plural` : name);
    if (type === 'plural') assert.ok('one' in cases || '0' in cases, `${text} has no singular form`);
    Object.values(cases).flat().forEach(look);
  };
  compileMessage(text).forEach(look);
  return [...parts].toSorted();
}

test('a German text has the same arguments and plural forms as its English text', () => {
  // A label of the service may have a placeholder in angle brackets. `t` does not change it.
  const unlike = Object.entries(de).filter(
    ([english, german]) => JSON.stringify(listParts(english)) !== JSON.stringify(listParts(german)),
  );
  assert.deepEqual(unlike, []);
});

test('compiles messages exactly like @lingui', () => {
  const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
  for (const text of Object.entries(de).flat())
    assert.deepEqual(plain(compileMessage(text)), plain(compileMessageOrThrow(text)), text);
  for (const broken of ['{', '{a', '{a, plural, one {#}}', 'a}', '{, plural, other {}}'])
    assert.throws(() => compileMessage(broken), /cannot be read/, broken);
});

test('formats numbers, dates, times and plurals for the chosen language', async () => {
  const describeAll = () => [
    t('{count, plural, one {# product} other {# products}}', { count: 1 }),
    t('{count, plural, one {# product} other {# products}}', { count: 66_778 }),
    t('Delete {name}', { name: String.raw`C:\x41` }),
    formatCount(1_234_567),
    formatPercent(0.125),
    formatDuration(1_400),
    formatMoment(Date.UTC(2026, 10, 22, 12)).slice(0, 10),
    formatAgo(0, 86_400_000),
    describeCron('15 4 * * 1,4'),
  ];
  const english = describeAll();
  await speak('de');
  const german = describeAll();
  await speak('en');
  assert.deepEqual(describeAll(), english);
  assert.deepEqual(english, [
    ...['1 product', '66,778 products', String.raw`Delete C:\x41`, '1,234,567', '12.5%', '1.4 s'],
    ...['22 Nov 202', 'yesterday', 'every Monday and Thursday at 4:15'],
  ]);
  assert.deepEqual(german, [
    ...['1 Produkt', '66.778 Produkte', String.raw`C:\x41 löschen`, '1.234.567', '12,5\u00a0%', '1,4 s'],
    ...['22.11.2026', 'gestern', 'jeden Montag und Donnerstag um 4:15'],
  ]);
});
