// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  SINGLE,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const POWER = {
  name: 'Power supply',
  tag: 'power',
  constraint: true,
  twoWay: true,
  source: under('Boards'),
  target: under('Supplies'),
  match: [
    {
      target: 'Wattage',
      operator: 'greaterOrEqual',
      source: { attribute: 'TDP', times: 8, plus: '100 W' },
    },
  ],
};
const SOCKET = {
  name: 'Socket',
  tag: 'socket',
  constraint: true,
  source: under('Boards'),
  target: under('Coolers'),
  match: [{ target: 'CPU socket', operator: 'equals', source: 'Family', table: 'sockets' }],
};

async function createBoards(): Promise<{ catalog: RelationCatalog; ids: number[] }> {
  const catalog = await createRelationCatalog(service());
  const watts = { type: 'NUMERIC_ATTRIBUTE', unitName: 'W' };
  await catalog.putOntology(
    'own',
    { name: 'Wattage', ...watts },
    { name: 'TDP', ...watts },
    ...['CPU socket', 'Family'].map((name) => ({ name, type: 'TEXT_ATTRIBUTE' })),
  );
  await catalog.load(
    product('BOARD', 'Boards', { TDP: '120 W', Family: 'Raptor Lake' }),
    product('P850', 'Supplies', { Wattage: '850 W' }),
    product('P1600', 'Supplies', { Wattage: '1600 W' }),
    product('P-', 'Supplies'),
    product('AIR', 'Coolers', { 'CPU socket': 'AM5' }),
  );
  const table = { name: 'sockets', pairs: [['Raptor Lake', 'LGA1700']] };
  const path = `/management/projects/${catalog.projectId}/tables`;
  assert.equal((await service().call('POST', path, { body: table })).status, 201);
  const made = [await catalog.relate(POWER), await catalog.relate(SOCKET)];
  return { catalog, ids: made.map(({ id }) => id) };
}

const wordsOf = ({ say, advice, sourceAdvice }: AnyBody) => [say, advice, sourceAdvice];
const FAILS = {
  'en-GB': [
    '850 W < 8 × 120 W + 100 W',
    'would have to be at least 1,060 W',
    'would have to be at most 93.75 W',
  ],
  'de-DE': ['850 W < 8 × 120 W + 100 W', 'müsste mindestens 1.060 W sein', 'müsste höchstens 93,75 W sein'],
};

test('every explanation of a match contains the same advice, in the locale of the request or project (§12.6 rule 8)', async () => {
  const { catalog, ids } = await createBoards();
  const home = `/management/projects/${catalog.projectId}`;
  for (const locale of ['en-GB', 'de-DE', undefined] as const) {
    const pair = { source: 'BOARD', target: 'P850', ...(locale && { locale }) };
    const explained = await catalog.manage('POST', `/${ids[0]}/explain`, pair);
    assert.deepEqual(wordsOf(explained.body.match[0]), FAILS[locale ?? 'de-DE']);
    const items = [{ identifier: 'BOARD' }, { identifier: 'P850' }];
    const fit = await catalog.post('/search/relations/fit', { items, ...(locale && { locale }) });
    assert.deepEqual(wordsOf(fit.body.pairs[0].match[0]), FAILS[locale ?? 'de-DE']);
    assert.equal(fit.body.pairs[0].verdict, 'does_not_fit');
    const query = locale ? `&locale=${locale}` : '';
    const tried = { ...POWER, target: { all: [under('Supplies'), { not: { identifiers: ['P1600'] } }] } };
    const preview = await catalog.manage('POST', `/preview?cards=true${query}`, tried);
    assert.deepEqual(wordsOf(preview.body.cards[0].nearest.explain.match[0]), FAILS[locale ?? 'de-DE']);
    const holds = ['1600 W ≥ 8 × 120 W + 100 W', undefined, undefined];
    const related = await service().call('GET', `${home}/products/BOARD/relations?limit=5${query}`);
    assert.deepEqual(wordsOf(related.body.relations[0].asSource.results[0].explain.match[0]), holds);
    const body = { identifier: 'BOARD', includeRelations: [{ id: ids[0] }], explain: true };
    const answer = await catalog.post(SINGLE, { ...body, ...(locale && { locale }) });
    const [result] = answer.body.tags[0].relations[0].searchResult;
    assert.deepEqual(wordsOf(result.explain.match[0]), holds);
  }
});

test('advice on a table names a value of the table, and advice on a missing value names the side that lacks it (§12.6 rule 8)', async () => {
  const { catalog, ids } = await createBoards();
  const ask = async (id: number | undefined, target: string) =>
    (await catalog.manage('POST', `/${id}/explain`, { source: 'BOARD', target, locale: 'en-GB' })).body
      .match[0];
  assert.deepEqual(wordsOf(await ask(ids[1], 'AIR')), [
    'AM5 does not go with Raptor Lake by the table sockets',
    'would have to be LGA1700',
    'would have to be AM5, because the table sockets has no pair with it',
  ]);
  assert.deepEqual(wordsOf(await ask(ids[0], 'P-')), [
    'no value ≥? 8 × 120 W + 100 W',
    'would have to be at least 1,060 W',
    'cannot make it hold while Wattage has no value',
  ]);
  // The advice has the described effect when a user follows it.
  await catalog.update(
    product('P-', 'Supplies', { Wattage: '1060 W' }),
    product('AIR', 'Coolers', { 'CPU socket': 'LGA1700' }),
  );
  assert.equal((await ask(ids[0], 'P-')).holds, true);
  assert.equal((await ask(ids[1], 'AIR')).say, 'LGA1700 goes with Raptor Lake by the table sockets');
});

test('matches of one row and alternative matches have their own advice (§12.6 rule 8)', async () => {
  const { catalog } = await createBoards();
  await catalog.update({
    ...product('P850', 'Supplies'),
    attributes: [
      { key: 'Wattage', value: '850 W', row: 1 },
      { key: 'CPU socket', value: 'AM5', row: 1 },
      { key: 'Wattage', value: '1600 W', row: 2 },
      { key: 'CPU socket', value: 'AM4', row: 2 },
    ],
  });
  const [match] = POWER.match;
  const isSocket = { target: 'CPU socket', operator: 'equals', source: 'Family' };
  const together = await catalog.relate({ ...POWER, match: [{ together: [match, isSocket] }] });
  const any = await catalog.relate({ ...POWER, match: [{ any: [match, isSocket] }] });
  const ask = async (id: number) => {
    const pair = { source: 'BOARD', target: 'P850', locale: 'en-GB' };
    return (await catalog.manage('POST', `/${id}/explain`, pair)).body.match[0];
  };
  const { together: inner } = await ask(together.id);
  assert.deepEqual(inner.map(wordsOf), [
    ['1600 W ≥ 8 × 120 W + 100 W', undefined, undefined],
    ['AM4 ≠ Raptor Lake', 'would have to be Raptor Lake', 'would have to be AM4'],
  ]);
  assert.deepEqual(
    (await ask(any.id)).any.map(({ holds, advice }: AnyBody) => [holds, advice]),
    [
      [true, undefined],
      [false, 'would have to be Raptor Lake'],
    ],
  );
});

test('a locale that is not a language and country is refused (§12.6 rule 8)', async () => {
  const { catalog, ids } = await createBoards();
  for (const locale of ['de', 'DE-de', 'de_DE', '']) {
    const pair = { source: 'BOARD', target: 'P850', locale };
    assertRefused(await catalog.manage('POST', `/${ids[0]}/explain`, pair), 400);
    assertRefused(await catalog.manage('POST', `/preview?cards=true&locale=${locale}`, POWER), 400);
    const fit = await catalog.post('/search/relations/fit', { items: [{ identifier: 'BOARD' }], locale });
    assertRefused(fit, 400);
  }
});
