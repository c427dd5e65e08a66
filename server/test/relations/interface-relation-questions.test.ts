// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRelationCatalog,
  encode,
  inEachWay,
  product,
  type RelationCatalog,
  rule,
  SINGLE,
  tagsOf,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import type { Answer } from '../support/test-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const numbered = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(5, '0')}`);

const isCheap = { attribute: 'Price', operator: 'lessOrEqual', value: 5 };
const FITS = {
  source: under('Drills'),
  target: { all: [under('Bits'), isCheap] },
  match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
  sort: [{ attribute: 'Price', direction: 'asc' }],
};
const TOOLS = [
  product('D1', 'Drills', { Chuck: 'SDS' }),
  product('D2', 'Drills', { Chuck: ['HEX', 'SDS'] }),
  product('D3', 'Drills', { Chuck: 'odd' }),
  product('D4', 'Drills'),
  product('B1', 'Bits', { Shank: 'SDS', Price: '1' }),
  product('B2', 'Bits', { Shank: 'SDS', Price: '2', group: 'B1' }),
  product('B3', 'Bits', { Shank: 'HEX', Price: '3' }),
  product('B4', 'Bits', { Shank: 'SDS', Price: '9' }),
  product('B5', 'Bits', { Shank: 'SDS', Price: '1', group: 'D1' }),
];

async function createTools(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...TOOLS);
  return catalog;
}

test('explain=true gives the conditions and values that made each entry related (§12.6 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    {
      ...product('D', 'Tools/Drills', { Chuck: ['SDS', 'HEX', 'odd'], Power: '700 W' }),
      categories: [{ path: ['On sale'] }, { path: ['Tools', 'Drills'] }],
    },
    product('B', 'Tools/Bits', { Shank: ['HEX', 'none', 'SDS'], Price: ['1', '9'] }),
  );
  const isCheap = { attribute: 'Price', operator: 'lessOrEqual', value: 5 };
  const isDear = { attribute: 'Price', operator: 'greater', value: 100 };
  const isStrong = { attribute: 'Power', operator: 'between', value: [500, '900 W'] };
  const { id } = await catalog.relate({
    source: { all: [under('Tools', 'Drills'), isStrong] },
    target: { all: [{ any: [isCheap, isDear] }, { not: { identifiers: ['D'] } }] },
    match: FITS.match,
    twoWay: true,
  });
  const explanation = {
    source: {
      holds: true,
      conditions: [
        { condition: under('Tools', 'Drills'), holds: true, values: ['Tools > Drills'] },
        { condition: isStrong, holds: true, values: ['700 W'] },
      ],
    },
    target: {
      holds: true,
      filter: {
        holds: true,
        all: [
          {
            holds: true,
            any: [
              { condition: isCheap, holds: true, values: ['1'] },
              { condition: isDear, holds: false, values: ['1', '9'] },
            ],
          },
          { holds: true, not: { condition: { identifiers: ['D'] }, holds: false, values: ['B'] } },
        ],
      },
      conditions: [
        { condition: isCheap, holds: true, values: ['1'] },
        { condition: isDear, holds: false, values: ['1', '9'] },
        { condition: { identifiers: ['D'] }, holds: false, values: ['B'] },
      ],
    },
    match: [
      {
        ...FITS.match[0],
        holds: true,
        targetValues: ['HEX', 'SDS'],
        sourceValues: ['SDS', 'HEX'],
        say: 'HEX = HEX',
      },
    ],
  };
  const included = { includeRelations: [{ id }] };
  for (const identifier of ['D', 'B']) {
    const plain = await Promise.all(inEachWay(catalog, identifier, included).map((request) => request()));
    const requests = inEachWay(catalog, identifier, { ...included, explain: true });
    for (const [index, request] of requests.entries()) {
      const [relation] = tagsOf(await request(), identifier).tags[0].relations;
      assert.equal(relation.matchType, identifier === 'D' ? 'FIRST_WAY' : 'SECOND_WAY');
      const [{ explain, ...item }] = relation.searchResult.flat();
      assert.deepEqual(explain, explanation);
      const [unexplained] = tagsOf(plain[index] as Answer<AnyBody>, identifier).tags[0].relations;
      assert.deepEqual(unexplained.searchResult.flat(), [item], 'nothing else differs');
    }
  }
  const query = (explain: string) => `${SINGLE}?${encode({ identifier: 'D', ...included, explain })}`;
  assert.doesNotMatch(JSON.stringify((await catalog.call('GET', query('false'))).body), /"explain"/);
  assertRefused(await catalog.call('GET', query('maybe')), 400);
});

/** @returns the reasons from the answer of `POST …/explain` */
async function explain(catalog: RelationCatalog, id: number, pair: { source: string; target: string }) {
  const { status, body } = await catalog.manage('POST', `/${id}/explain`, pair);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test('explain gives the rank of a result and each condition with its values (§12.6 rule 2)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate({ ...FITS, twoWay: true });
  assert.deepEqual(await explain(catalog, id, { source: 'D2', target: 'B3' }), {
    related: true,
    matchType: 'FIRST_WAY',
    rank: 4,
    excluded: null,
    source: { holds: true, conditions: [{ condition: under('Drills'), holds: true, values: ['Drills'] }] },
    target: {
      holds: true,
      conditions: [
        { condition: under('Bits'), holds: true, values: ['Bits'] },
        { condition: isCheap, holds: true, values: ['3'] },
      ],
    },
    match: [
      { ...FITS.match[0], holds: true, targetValues: ['HEX'], sourceValues: ['HEX'], say: 'HEX = HEX' },
    ],
  });
  const answer = await catalog.bulk({ identifiers: ['D2', 'B3'], includeRelations: [{ id }] });
  const listOf = (identifier: string) =>
    answer[identifier].tags[0].relations[0].searchResult.flat().map((result: AnyBody) => result.identifier);
  assert.deepEqual(listOf('D2'), ['B1', 'B2', 'B5', 'B3']);
  for (const [index, target] of listOf('D2').entries()) {
    const { related, rank } = await explain(catalog, id, { source: 'D2', target });
    assert.deepEqual([related, rank], [true, index + 1]);
  }
  const back = await explain(catalog, id, { source: 'B3', target: 'D2' });
  assert.deepEqual([back.related, back.matchType, back.rank], [true, 'SECOND_WAY', 1]);
  assert.deepEqual(back.source.conditions, [{ condition: under('Drills'), holds: true, values: ['Drills'] }]);
  assert.deepEqual(back.match, [
    { ...FITS.match[0], holds: true, targetValues: ['HEX'], sourceValues: ['HEX'], say: 'HEX = HEX' },
  ]);
});

test('explain gives the reason why a product is not a result (§12.6 rule 2)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(FITS);
  const outcome = ({ related, rank, excluded, source, target, match }: AnyBody) => [
    ...[related, rank, excluded, source.holds, target.holds, match[0].holds],
  ];
  const none = [false, null];
  const odd = await explain(catalog, id, { source: 'D3', target: 'B1' });
  assert.deepEqual(outcome(odd), [...none, null, true, true, false]);
  assert.deepEqual([odd.match[0].targetValues, odd.match[0].sourceValues], [['SDS'], ['odd']]);
  const dear = await explain(catalog, id, { source: 'D1', target: 'B4' });
  assert.deepEqual(outcome(dear), [...none, null, true, false, true]);
  assert.deepEqual(dear.target.conditions[1], { condition: isCheap, holds: false, values: ['9'] });
  const bare = await explain(catalog, id, { source: 'D4', target: 'B1' });
  assert.deepEqual(outcome(bare), [...none, null, true, true, false]);
  assert.deepEqual(bare.match[0].sourceValues, [], 'it has no value');
  const group = await explain(catalog, id, { source: 'D1', target: 'B5' });
  assert.deepEqual(outcome(group), [...none, 'same group', true, true, true]);
  const same = await explain(catalog, id, { source: 'B1', target: 'B1' });
  assert.deepEqual(outcome(same), [...none, 'same product', false, true, false]);
  const back = await explain(catalog, id, { source: 'B1', target: 'D1' });
  assert.deepEqual(
    outcome(back),
    [...none, null, false, false, false],
    'the opposite direction of a one-way relation',
  );
  assert.equal(back.matchType, 'FIRST_WAY');
});

test('a result after the first 1,000 groups is related and has no rank (§12.6 rule 2)', async () => {
  const catalog = await createRelationCatalog(service());
  const targets = numbered(1_002, 'T');
  await catalog.load(product('S', 'Source'), ...targets.map((target) => product(target, 'Target')));
  const { id } = await catalog.relate({ source: under('Source'), target: under('Target') });
  const show = async (target: string) => {
    const { related, rank } = await explain(catalog, id, { source: 'S', target });
    return [related, rank];
  };
  assert.deepEqual(await show('T00999'), [true, 1_000]);
  assert.deepEqual(await show('T01000'), [true, null]);
  assert.deepEqual(await show('S'), [false, null]);
});

test('explain is 404 for an unknown product and 409 for a relation that answers nothing (§12.6 rule 2)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(FITS);
  const disabled = await catalog.relate({ ...FITS, enabled: false });
  const broken = await catalog.relate({ ...FITS, sort: [{ attribute: 'No', direction: 'asc' }] });
  for (const pair of [
    { source: 'never', target: 'B1' },
    { source: 'D1', target: 'never' },
  ]) {
    const answer = await catalog.manage('POST', `/${id}/explain`, pair);
    assertRefused(answer, 404);
    assert.match(answer.body.details.join(), /never/);
  }
  const refused = await catalog.manage('POST', `/${broken.id}/explain`, { source: 'D1', target: 'B1' });
  assertRefused(refused, 409);
  assert.match(refused.body.details.join(), /"No"/);
  assert.equal((await explain(catalog, disabled.id, { source: 'D1', target: 'B1' })).related, true);
  for (const pair of [
    {},
    { source: 'D1' },
    { source: 'D1', target: 1 },
    { source: '', target: 'B1' },
    'x',
    [],
  ])
    assertRefused(await catalog.manage('POST', `/${id}/explain`, pair), 400);
});

/** The health of FITS on TOOLS. */
const SURVEY = {
  misconfigured: false,
  source: { products: 4 },
  target: { products: 4 },
  sampled: false,
  sampledSources: 4,
  withResults: 2,
  share: 0.5,
  withoutResults: { count: 2, identifiers: ['D3', 'D4'] },
  mostReturned: [
    ...[
      { identifier: 'B1', count: 2 },
      { identifier: 'B2', count: 2 },
    ],
    ...[
      { identifier: 'B3', count: 1 },
      { identifier: 'B5', count: 1 },
    ],
  ],
  examples: [
    { source: 'D1', results: [['B1', 'B2']] },
    { source: 'D2', results: [['B1', 'B2'], ['B5'], ['B3']] },
  ],
};

test('a preview tries a definition on the current catalog and stores nothing (§12.6 rules 3 and 4)', async () => {
  const catalog = await createTools();
  const before = [(await catalog.manage('GET')).body, await catalog.tasks()];
  const preview = async (definition: object) => {
    const { status, body } = await catalog.manage('POST', '/preview', rule(definition));
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  for (let again = 0; again < 2; again += 1) assert.deepEqual(await preview(FITS), SURVEY);
  const back = await preview({
    ...FITS,
    source: FITS.target,
    target: FITS.source,
    twoWay: true,
    match: [{ target: 'Chuck', operator: 'equals', source: 'Shank' }],
  });
  assert.deepEqual(
    [back.source, back.withResults, back.examples[0]],
    [{ products: 4 }, 4, { source: 'B1', results: [['D1'], ['D2']] }],
  );
  const empty = await preview({ ...FITS, target: under('Saws') });
  assert.deepEqual(
    [empty.target, empty.share, empty.mostReturned, empty.examples],
    [{ products: 0 }, 0, [], []],
  );
  const none = await preview({ ...FITS, source: under('Saws') });
  assert.deepEqual([none.source, none.sampledSources, none.share], [{ products: 0 }, 0, 0]);
  const broken = await preview({ ...FITS, sort: [{ attribute: 'No', direction: 'asc' }] });
  assert.deepEqual(Object.keys(broken).toSorted(), ['misconfigured', 'problem']);
  assert.equal(broken.misconfigured, true);
  assert.match(broken.problem, /"No"/);
  assert.deepEqual([(await catalog.manage('GET')).body, await catalog.tasks()], before);
  await catalog.update(product('D3', 'Drills', { Chuck: 'HEX' }));
  assert.equal((await preview(FITS)).withResults, 3, 'the catalog is unchanged');
});

test('a preview with cards shows products with reasons, and the nearest candidates of one without results (§12.6 rule 7)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    ...TOOLS.slice(0, 3),
    ...TOOLS.slice(4),
    product('S1', 'Stands', { Holds: '4' }),
    product('W1', 'Vices', { Weight: '40' }),
    product('W2', 'Vices', { Weight: '5' }),
  );
  const preview = async (definition: object) =>
    (await catalog.manage('POST', '/preview?cards=true', rule(definition))).body;
  const fits = await preview(FITS);
  assert.deepEqual(fits.resultCounts, [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  const inShort = ({ source, results, nearest }: AnyBody) => [
    source.identifier,
    results.map(({ identifier, variants }: AnyBody) => `${identifier}+${variants}`),
    nearest?.identifier,
  ];
  assert.deepEqual(fits.cards.map(inShort), [
    ['D1', ['B1+1'], undefined],
    ['D2', ['B1+1', 'B5+0', 'B3+0'], undefined],
    ['D3', [], 'B1'],
  ]);
  const [{ results }, , { nearest }] = fits.cards;
  assert.deepEqual(results[0].explain.match[0], {
    target: 'Shank',
    operator: 'equals',
    source: 'Chuck',
    holds: true,
    targetValues: ['SDS'],
    sourceValues: ['SDS'],
    say: 'SDS = SDS',
  });
  assert.deepEqual(
    [nearest.explain.match[0].holds, nearest.explain.match[0].targetValues, nearest.name],
    [false, ['SDS'], 'B1'],
  );
  const heavy = { target: 'Weight', operator: 'lessOrEqual', source: 'Holds' };
  const held = await preview({ source: under('Stands'), target: under('Vices'), match: [heavy] });
  assert.deepEqual(held.cards.map(inShort), [['S1', [], 'W2']], 'the number that misses by the least');
});

test('the health of a stored relation equals the preview of its definition (§12.6 rule 4)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate({ ...FITS, enabled: false });
  const broken = await catalog.relate({ ...FITS, sort: [{ attribute: 'No', direction: 'asc' }] });
  assert.deepEqual((await catalog.manage('GET', `/${id}/health`)).body, SURVEY);
  const { status, body } = await catalog.manage('GET', `/${broken.id}/health`);
  assert.deepEqual([status, body], [200, { misconfigured: true, problem: broken.problem }]);
});

test('with more than 10,000 sources a sample is used, and the answer states it (§12.6 rule 4)', async () => {
  const catalog = await createRelationCatalog(service());
  const sources = numbered(10_000, 'S').map((identifier, index) =>
    product(identifier, 'Source', { Size: index < 9_000 ? 'M' : 'L' }),
  );
  const targets = numbered(12, 'T').map((identifier) => product(identifier, 'Target', { Size: 'M' }));
  await catalog.load(...sources, ...targets);
  const definition = {
    source: under('Source'),
    target: under('Target'),
    match: [{ target: 'Size', operator: 'equals', source: 'Size' }],
  };
  const { id } = await catalog.relate(definition);
  const read = async () => (await catalog.manage('GET', `/${id}/health`)).body;
  const whole = await read();
  assert.deepEqual([whole.sampled, whole.sampledSources, whole.share], [false, 10_000, 0.9]);
  assert.deepEqual([whole.withoutResults.count, whole.withoutResults.identifiers.length], [1_000, 20]);
  assert.deepEqual([whole.mostReturned.length, whole.examples.length], [10, 20]);
  assert.deepEqual(whole.mostReturned[0], { identifier: 'T00000', count: 9_000 });
  await catalog.update(product('S10000', 'Source', { Size: 'M' }));
  const previewed = (await catalog.manage('POST', '/preview', rule(definition))).body;
  for (const part of [await read(), previewed]) {
    assert.deepEqual([part.sampled, part.source.products], [true, 10_001]);
    assert.ok(part.sampledSources <= 10_000 && part.sampledSources >= 5_000);
    assert.ok(Math.abs(part.share - 0.9) < 0.01, `${part.share}`);
  }
});
