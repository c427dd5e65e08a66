// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const FIT = '/search/relations/fit';

/** Bicycles with tyres and tubes; the width of `TYRE-X` is unknown. */
const SHOP = [
  product('BIKE', 'Bicycles', { Wheel: '28 in', Clearance: '50 mm' }),
  product('TYRE', 'Tyres', { Wheel: '28 in', Width: '47 mm' }),
  product('TYRE-WIDE', 'Tyres', { Wheel: '28 in', Width: '62 mm' }),
  product('TYRE-SMALL', 'Tyres', { Wheel: '26 in', Width: '47 mm' }),
  product('TYRE-X', 'Tyres', { Wheel: '28 in' }),
  product('BELL', 'Bells', { Colour: 'red' }),
];
const TYRES = {
  name: 'Tyre on bicycle',
  tag: 'tyres',
  constraint: true,
  source: under('Bicycles'),
  target: under('Tyres'),
  match: [
    { target: 'Wheel', operator: 'equals', source: 'Wheel' },
    { target: 'Width', operator: 'lessOrEqual', source: 'Clearance' },
  ],
};

async function createShop(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...SHOP);
  return catalog;
}

const items = (...identifiers: string[]) => identifiers.map((identifier) => ({ identifier }));

async function ask(catalog: RelationCatalog, question: object): Promise<AnyBody> {
  const { status, body } = await catalog.post(FIT, question);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const verdictOf = async (catalog: RelationCatalog, ...identifiers: string[]) =>
  (await ask(catalog, { items: items(...identifiers) })).verdict;

test('a set fits if every pair on the two sides of a constraint satisfies it, with the reason (§12.10 rules 1 and 4)', async () => {
  const catalog = await createShop();
  const { id } = await catalog.relate(TYRES);
  const fits = await ask(catalog, { items: items('TYRE', 'BIKE') });
  assert.deepEqual(
    { verdict: fits.verdict, pairs: fits.pairs },
    {
      verdict: 'fits',
      pairs: [
        {
          source: 'BIKE',
          target: 'TYRE',
          relation: { id, name: TYRES.name, tag: 'tyres' },
          verdict: 'fits',
          match: [
            {
              target: 'Wheel',
              operator: 'equals',
              source: 'Wheel',
              holds: true,
              targetValues: ['28 in'],
              sourceValues: ['28 in'],
              say: '28 in = 28 in',
              verdict: 'fits',
            },
            {
              target: 'Width',
              operator: 'lessOrEqual',
              source: 'Clearance',
              holds: true,
              targetValues: ['47 mm'],
              sourceValues: ['50 mm'],
              say: '47 mm ≤ 50 mm',
              verdict: 'fits',
            },
          ],
          missing: [],
        },
      ],
    },
  );
  const wide = await ask(catalog, { items: items('BIKE', 'TYRE-WIDE') });
  assert.equal(wide.verdict, 'does_not_fit');
  assert.deepEqual(
    wide.pairs[0].match.map(({ verdict }: AnyBody) => verdict),
    ['fits', 'does_not_fit'],
  );
  const [bike] = await catalog.find('BIKE');
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE', 'TYRE-SMALL'), 'does_not_fit');
  assert.ok(fits.lastUpdateTs >= bike.lastUpdateTs);
});

test('a verdict is unknown if values are missing, and the missing values are named (§12.10 rules 2 and 4)', async () => {
  const catalog = await createShop();
  await catalog.relate(TYRES);
  const { verdict, pairs } = await ask(catalog, { items: items('BIKE', 'TYRE-X') });
  assert.equal(verdict, 'unknown');
  assert.equal(pairs[0].verdict, 'unknown');
  assert.deepEqual(pairs[0].missing, [{ identifier: 'TYRE-X', attribute: 'Width' }]);
  assert.deepEqual(
    pairs[0].match.map(({ verdict }: AnyBody) => verdict),
    ['fits', 'unknown'],
  );
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE-X', 'TYRE-SMALL'), 'does_not_fit');
});

test('an unknown side is judged: what fails does not fit, and the verdict is otherwise unknown at best (§12.10 rule 3)', async () => {
  const catalog = await createShop();
  await catalog.relate({
    ...TYRES,
    target: { all: [under('Tyres'), { attribute: 'Width', operator: 'greater', value: 10 }] },
    match: [{ target: 'Wheel', operator: 'equals', source: 'Wheel' }],
  });
  await catalog.update(product('TYRE-Y', 'Tyres', { Wheel: '26 in' }));
  const unknown = await ask(catalog, { items: items('BIKE', 'TYRE-X') });
  assert.equal(unknown.pairs[0].verdict, 'unknown');
  assert.equal(unknown.pairs[0].match[0].verdict, 'fits');
  assert.deepEqual(unknown.pairs[0].missing, [{ identifier: 'TYRE-X', attribute: 'Width' }]);
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE-Y'), 'does_not_fit');
});

const HAS_COLOUR = { attribute: 'Colour', operator: 'exists' };
const IS_RED = { attribute: 'Colour', operator: 'equals', value: 'red' };
const FILTERS: readonly [string, object, string][] = [
  ['a condition on a missing value is unknown', IS_RED, 'unknown'],
  ['exists is never unknown', HAS_COLOUR, 'no_rule'],
  ['not inverts, and keeps unknown', { not: IS_RED }, 'unknown'],
  ['not of exists is true', { not: HAS_COLOUR }, 'fits'],
  ['all takes the least: true and unknown', { all: [under('Tyres'), IS_RED] }, 'unknown'],
  ['all takes the least: false and unknown', { all: [under('Bells'), IS_RED] }, 'no_rule'],
  ['any takes the greatest: true and unknown', { any: [under('Tyres'), IS_RED] }, 'fits'],
  ['any takes the greatest: false and unknown', { any: [under('Bells'), IS_RED] }, 'unknown'],
  ['all of nothing is true', { all: [] }, 'fits'],
  ['any of nothing is false', { any: [] }, 'no_rule'],
];

test('sides are judged with three-valued logic (§12.10 rule 2)', async (t) => {
  const catalog = await createShop();
  for (const [name, target, verdict] of FILTERS) {
    await t.test(name, async () => {
      const { id } = await catalog.relate({
        ...TYRES,
        target,
        match: [{ target: 'Wheel', operator: 'equals', source: 'Wheel' }],
      });
      const answer = await ask(catalog, { items: items('BIKE', 'TYRE'), relations: [id] });
      assert.equal(answer.verdict, verdict);
    });
  }
});

test('products that no constraint judges are listed, and unknown identifiers make a set unknown at best (§12.10 rules 5 and 6)', async () => {
  const catalog = await createShop();
  await catalog.relate(TYRES);
  const answer = await ask(catalog, { items: items('BIKE', 'TYRE', 'BELL', 'nowhere') });
  assert.equal(answer.verdict, 'unknown');
  assert.deepEqual(answer.unknownIdentifiers, ['nowhere']);
  assert.deepEqual(answer.withoutRule, [
    ['BIKE', 'BELL'],
    ['TYRE', 'BELL'],
  ]);
  const bells = await ask(catalog, { items: items('BELL') });
  assert.deepEqual([bells.verdict, bells.withoutRule], ['no_rule', []]);
  assert.equal(await verdictOf(catalog, 'nowhere', 'BIKE', 'TYRE-WIDE'), 'does_not_fit');
  assert.equal(await verdictOf(catalog, 'nowhere'), 'unknown');
});

test('of the relations requested by tag or id, only constraints judge (§12.10 rules 1 and 7)', async () => {
  const catalog = await createShop();
  const related = await catalog.relate({ ...TYRES, constraint: false });
  assert.equal(related.constraint, false);
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE-WIDE'), 'no_rule');
  const { id } = await catalog.relate(TYRES);
  const { id: other } = await catalog.relate({ ...TYRES, tag: 'other', match: [] });
  const by = async (chosen: object) =>
    (await ask(catalog, { items: items('BIKE', 'TYRE-WIDE'), ...chosen })).receipt.relations.map(
      (relation: AnyBody) => relation.id,
    );
  assert.deepEqual(await by({}), [id, other]);
  assert.deepEqual(await by({ tags: ['other', 'never'] }), [other]);
  assert.deepEqual(await by({ relations: [id, related.id, 999] }), [id]);
  assert.deepEqual(await by({ tags: ['other'], relations: [id] }), [id, other]);
  assert.deepEqual(await by({ tags: [], relations: [] }), [id, other]);
  await catalog.manage('PUT', `/${id}`, { ...(await catalog.read(id)), enabled: false });
  assert.deepEqual(await by({ tags: ['tyres'] }), []);
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE-WIDE'), 'fits');
});

test('products of one group are judged unless the relation excludes them (§12.10 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('BIKE', 'Bicycles', { group: 'G', Wheel: '28' }),
    product('TYRE', 'Tyres', { group: 'G', Wheel: '26' }),
  );
  const same = { ...TYRES, match: [{ target: 'Wheel', operator: 'equals', source: 'Wheel' }] };
  await catalog.relate(same);
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE'), 'no_rule');
  await catalog.relate({ ...same, excludeSameGroup: false });
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE'), 'does_not_fit');
});

/** A computer: the power that its parts draw, with a reserve, against that of the power supply. */
const COMPUTER = [
  product('PSU-650', 'Power', { Wattage: '650 W', Price: '80' }),
  product('PSU-450', 'Power', { Wattage: '450 W' }),
  product('PSU-X', 'Power', { Price: '40' }),
  product('CPU', 'Processors', { TDP: '105 W', Price: '300' }),
  product('GPU', 'Graphics', { TDP: ['250 W', '320 W'] }),
  product('FAN', 'Fans'),
];
const LINKS = { name: 'Listed', tag: 'listed', kind: 'links' };
const POWER = {
  kind: 'total',
  name: 'Power',
  tag: 'power',
  source: under('Power'),
  target: { not: under('Power') },
  total: { attribute: 'TDP', times: 1.2, plus: '0.1 kW', missing: 'passes' },
  operator: 'lessOrEqual',
  limit: { attribute: 'Wattage' },
};

async function createComputer(total: object = {}): Promise<[RelationCatalog, AnyBody]> {
  const catalog = await createRelationCatalog(service());
  const watts = { type: 'NUMERIC_ATTRIBUTE', unitName: 'W' };
  await catalog.putOntology(
    'own',
    ...[
      { name: 'Wattage', ...watts, synonyms: [] },
      { name: 'TDP', ...watts },
    ],
    { name: 'Price', type: 'NUMERIC_ATTRIBUTE' },
  );
  await catalog.load(...COMPUTER);
  const { status, body } = await catalog.manage('POST', '', { ...POWER, ...total });
  assert.equal(status, 201, JSON.stringify(body));
  return [catalog, body];
}

test('a total compares the sum over one side, with quantities, to each product of the other side (§12.10 rule 10)', async () => {
  const [catalog, made] = await createComputer();
  assert.deepEqual([made.state, made.total], ['ready', POWER.total]);
  const set = (gpus: number, ...others: string[]) => ({
    items: [...items('PSU-650', 'CPU', 'FAN', ...others), { identifier: 'GPU', quantity: gpus }],
  });
  // 1.2 × (105 + 250) + 100 = 526, and with a second card 826.
  const answer = await ask(catalog, set(1));
  assert.equal(answer.verdict, 'fits');
  assert.deepEqual(answer.totals, [
    {
      source: 'PSU-650',
      relation: { id: made.id, name: 'Power', tag: 'power' },
      verdict: 'fits',
      operator: 'lessOrEqual',
      total: {
        ...POWER.total,
        sum: '355 W',
        parts: [
          { identifier: 'CPU', quantity: 1, value: '105 W' },
          { identifier: 'FAN', quantity: 1 },
          { identifier: 'GPU', quantity: 1, value: '250 W' },
        ],
      },
      limit: { attribute: 'Wattage', values: ['650 W'] },
      missing: [],
    },
  ]);
  assert.deepEqual(answer.withoutRule, [
    ['CPU', 'FAN'],
    ['CPU', 'GPU'],
    ['FAN', 'GPU'],
  ]);
  const two = await ask(catalog, set(2));
  assert.deepEqual([two.verdict, two.totals[0].total.sum], ['does_not_fit', '605 W']);
  assert.equal((await ask(catalog, { items: items('PSU-650') })).verdict, 'no_rule');
});

test('a total with a missing value is unknown, unless the known values already exceed the limit (§12.10 rule 11)', async () => {
  const [catalog] = await createComputer({ total: { attribute: 'TDP' } });
  const judge = async (source: string, ...more: object[]) => {
    const { totals } = await ask(catalog, { items: [...items(source, 'CPU', 'FAN'), ...more] });
    return totals.map(({ verdict, missing }: AnyBody) => [verdict, missing]);
  };
  const noFan = { identifier: 'FAN', attribute: 'TDP' };
  assert.deepEqual(await judge('PSU-650'), [['unknown', [noFan]]]);
  assert.deepEqual(await judge('PSU-450', { identifier: 'GPU', quantity: 2 }), [['does_not_fit', [noFan]]]);
  assert.deepEqual(await judge('PSU-X'), [
    ['unknown', [noFan, { identifier: 'PSU-X', attribute: 'Wattage' }]],
  ]);
});

test('a total is unknown if some completion of its missing values gives another verdict (§12.10 rule 11)', async () => {
  const [catalog] = await createComputer({ total: { attribute: 'TDP' } });
  /** The CPU draws 105 W, and the TDP of the fan is missing. */
  const judge = async (definition: object, ...identifiers: string[]) => {
    const { status, body } = await catalog.manage('POST', '', { ...POWER, name: 'Tried', ...definition });
    assert.equal(status, 201, JSON.stringify(body));
    const { totals } = await ask(catalog, { items: items('PSU-450', ...identifiers), relations: [body.id] });
    return totals[0].verdict;
  };
  const reserve = (watts: number, operator: string) => ({
    total: { attribute: 'TDP', times: -1, plus: `${watts} W` },
    operator,
  });
  // With a negative factor, the missing value lowers the compared sum.
  assert.equal(await judge(reserve(1_000, 'lessOrEqual'), 'CPU', 'FAN'), 'unknown');
  assert.equal(await judge(reserve(500, 'lessOrEqual'), 'CPU', 'FAN'), 'fits');
  assert.equal(await judge(reserve(1_000, 'greaterOrEqual'), 'CPU', 'FAN'), 'unknown');
  assert.equal(await judge(reserve(500, 'greaterOrEqual'), 'CPU', 'FAN'), 'does_not_fit');
  const constant = { total: { attribute: 'TDP', times: 0, plus: '100 W' } };
  assert.equal(await judge(constant, 'CPU', 'FAN'), 'fits');
  // A part that may be on the target side either adds to the sum or does not.
  const priced = {
    target: { all: [POWER.target, { attribute: 'Price', operator: 'less', value: 1_000 }] },
    total: { attribute: 'TDP' },
  };
  await catalog.update(
    product('PRICED', 'Graphics', { TDP: '400 W', Price: '500' }),
    product('UNPRICED', 'Graphics', { TDP: '100 W' }),
  );
  assert.equal(await judge(priced, 'PRICED'), 'fits');
  assert.equal(await judge(priced, 'PRICED', 'UNPRICED'), 'unknown');
  assert.equal(await judge({ ...priced, operator: 'greater' }, 'UNPRICED'), 'does_not_fit');
});

test('a missing value may be negative if some product has a negative value of the attribute (§12.10 rule 11)', async () => {
  const [catalog] = await createComputer({ total: { attribute: 'TDP' } });
  const question = { items: [...items('PSU-450', 'CPU', 'FAN'), { identifier: 'GPU', quantity: 2 }] };
  const judge = async () => (await ask(catalog, question)).verdict;
  const cell = (value: string, key = 'TDP') => product('CELL', 'Solar "cells"', { [key]: value });
  assert.equal(await judge(), 'does_not_fit');
  // None of these values is a negative TDP.
  for (const harmless of [cell('-5'), cell('-5 K'), cell('-0 W'), cell('-5 W', 'Gain'), cell('- W')]) {
    await catalog.update(harmless);
    assert.equal(await judge(), 'does_not_fit');
  }
  await catalog.update(cell('-5 W'));
  assert.equal(await judge(), 'unknown');
  await catalog.update(cell('5 W'));
  assert.equal(await judge(), 'does_not_fit');
  await catalog.update(cell('-0.001 W'));
  assert.equal(await judge(), 'unknown');
  await catalog.done(await catalog.call('DELETE', '/products?identifiers=CELL'));
  assert.equal(await judge(), 'does_not_fit');
  // A restore returns to an existing version of the product, which is older than the last version that the
  // search read.
  await catalog.load(...COMPUTER, cell('-5 W'));
  assert.equal(await judge(), 'unknown');
  await catalog.load(...COMPUTER, cell('5 W'));
  assert.equal(await judge(), 'does_not_fit');
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.equal(await judge(), 'unknown');
  const synonym = { name: 'TDP', type: 'NUMERIC_ATTRIBUTE', unitName: 'W', synonyms: ['Gain'] };
  await catalog.update(cell('-1 W', 'Gain'));
  assert.equal(await judge(), 'does_not_fit');
  await catalog.putOntology('own', synonym, { ...synonym, name: 'Wattage', synonyms: [] });
  assert.equal(await judge(), 'unknown');
});

test('sums are exact, for upper and lower limits (§12.10 rules 10 and 11)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('PACK', 'Packs', { Capacity: '0.3 kg' }),
    product('A', 'Things', { Weight: '0.1 kg' }),
    product('B', 'Things', { Weight: '0.2 kg' }),
    product('C', 'Things'),
  );
  const sides = { kind: 'total', source: under('Packs'), target: under('Things') };
  const total = { total: { attribute: 'Weight' }, limit: { attribute: 'Capacity' } };
  for (const [operator, verdict, withC] of [
    ['lessOrEqual', 'fits', 'unknown'],
    ['less', 'does_not_fit', 'does_not_fit'],
    ['greaterOrEqual', 'fits', 'fits'],
    ['greater', 'does_not_fit', 'unknown'],
  ] as const) {
    const { body } = await catalog.manage('POST', '', {
      name: operator,
      tag: operator,
      ...sides,
      ...total,
      operator,
    });
    const answer = await ask(catalog, { items: items('PACK', 'A', 'B'), relations: [body.id] });
    assert.deepEqual(
      [operator, answer.totals[0].verdict, answer.totals[0].total.sum],
      [operator, verdict, '0.3 kg'],
    );
    const more = await ask(catalog, { items: items('PACK', 'A', 'B', 'C'), relations: [body.id] });
    assert.deepEqual([operator, more.totals[0].verdict], [operator, withC]);
  }
});

test('a total relates no products, follows the ontology, and a refusal names the path of each fault (§12.10 rules 10 and 12)', async () => {
  const [catalog, { id }] = await createComputer();
  assert.equal(await catalog.related('PSU-650', id), undefined);
  const path = `/management/projects/${catalog.projectId}/products/PSU-650/relations`;
  const { relations } = (await service().call('GET', path)).body;
  assert.deepEqual(relations[0].asSource, { stands: false, results: [] });
  const preview = await catalog.manage('POST', '/preview', POWER);
  assert.deepEqual([preview.body.source.products, preview.body.target.products], [3, 3]);
  const { cards } = (await catalog.manage('POST', '/preview?cards=true', POWER)).body;
  assert.deepEqual(
    cards.map(({ source, results }: AnyBody) => [
      source.identifier,
      ...results.map(({ identifier, explain }: AnyBody) => [identifier, explain.match[0].holds]),
    ]),
    // 1.2 × 105 + 100 is 226, 1.2 × 250 + 100 is 400; the fan's power is unknown.
    ['PSU-450', 'PSU-650', 'PSU-X'].map((source) => [
      source,
      ...[
        ['CPU', source !== 'PSU-X'],
        ['FAN', false],
        ['GPU', source !== 'PSU-X'],
      ],
    ]),
  );
  const health = await catalog.manage('GET', `/${id}/health`);
  assert.deepEqual([health.body.source.products, health.body.target.products], [3, 3]);
  const refusals: readonly [object, RegExp][] = [
    [{ ...POWER, total: undefined }, /required properties 'total'/],
    [{ ...POWER, limit: undefined }, /required properties 'limit'/],
    [{ ...POWER, operator: 'equals' }, /\/operator/],
    [{ ...POWER, source: undefined }, /required properties 'source'/],
    [{ ...POWER, match: [{ target: 'TDP', operator: 'less', source: 'TDP' }] }, /\/match must be left out/],
    [{ ...POWER, constraint: false }, /\/constraint must be left out or true/],
    [{ ...LINKS, constraint: true }, /\/constraint must be left out or false in a relation of links/],
    [{ ...POWER, twoWay: true }, /\/twoWay must be left out or false/],
    [{ ...POWER, total: { attribute: 'TDP', time: 2 } }, /\/total/],
    [
      { ...TYRES, total: { attribute: 'TDP' } },
      /\/total must be left out except in a relation of the kind total/,
    ],
  ];
  for (const [definition, details] of refusals) {
    const answer = await catalog.manage('POST', '', definition);
    assertRefused(answer, 400);
    assert.match(JSON.stringify(answer.body.details), details);
  }
  const changed = await catalog.manage('PUT', `/${id}`, {
    ...POWER,
    kind: 'rule',
    total: undefined,
    operator: undefined,
    limit: undefined,
  });
  assertRefused(changed, 400);
  const bad = { ...POWER, limit: { attribute: 'Price' } };
  const { body } = await catalog.manage('PUT', `/${id}`, bad);
  assert.match(body.problem, /"TDP".*"Price"/);
  assert.deepEqual((await ask(catalog, { items: items('PSU-650', 'GPU') })).totals, []);
  const { body: exported } = await catalog.manage('GET', '/export');
  assert.equal((await catalog.manage('POST', '/import', exported)).body.items[0].id, id);
});

test('alternatives fit everything else strictly, nearest in price first, or the answer gives a reason for none (§12.10 rule 13)', async () => {
  const catalog = await createRelationCatalog(service());
  const tyre = (identifier: string, price: string | undefined, fields: object = {}) =>
    product(identifier, 'Tyres', { Wheel: '28 in', Width: '40 mm', Price: price, ...fields });
  await catalog.load(
    ...[...SHOP, product('TUBE', 'Tubes', { Wheel: '28 in' })],
    tyre('WIDE', '30', { Width: '62 mm' }),
    ...[tyre('T10', '10'), tyre('T28', '28'), tyre('T35', '35'), tyre('T-', undefined)],
    tyre('T30-26', '30', { Wheel: '26 in' }),
    { ...tyre('T31', '31'), categories: [{ path: ['Sale'] }, { path: ['Tyres'] }] },
  );
  await catalog.relate(TYRES);
  await catalog.relate({
    name: 'Tube',
    tag: 'tubes',
    constraint: true,
    source: under('Tyres'),
    target: under('Tubes'),
    match: [{ target: 'Wheel', operator: 'equals', source: 'Wheel' }],
  });
  const instead = async (alternatives: number, ...set: string[]) => {
    const answer = await ask(catalog, { items: items(...set), alternatives });
    return Object.fromEntries(
      answer.alternatives.map((alternative: AnyBody) => [
        alternative.insteadOf,
        [alternative.products.map(({ identifier }: AnyBody) => identifier), alternative.reason],
      ]),
    );
  };
  const none = 'no other product of its category fits everything else';
  assert.deepEqual(await instead(3, 'BIKE', 'WIDE', 'TUBE'), {
    BIKE: [[], none],
    WIDE: [['T28', 'T35', 'T10'], undefined],
  });
  const [all, reason] = (await instead(10, 'BIKE', 'WIDE', 'TUBE')).WIDE;
  assert.deepEqual(
    [all.slice(0, 3), all.slice(3).toSorted(), reason],
    [['T28', 'T35', 'T10'], ['T-', 'TYRE'], undefined],
  );
  assert.deepEqual(await instead(3, 'BIKE', 'TYRE', 'TUBE'), {});
  assert.deepEqual(await instead(0, 'BIKE', 'WIDE'), {});
  const { alternatives } = await ask(catalog, { items: items('BIKE', 'WIDE'), alternatives: 1 });
  assert.deepEqual(alternatives[1].products[0], {
    identifier: 'T28',
    groupId: 'T28',
    sxId: (await catalog.find('T28'))[0].id,
    name: 'T28',
    brand: '',
    category: 'Tyres',
    image: '',
    link: '',
    relevance: 1_000_000,
  });
  const settings = { priceAttribute: 'Width' };
  await service().call('PATCH', `/management/projects/${catalog.projectId}`, { body: { settings } });
  assert.deepEqual((await instead(1, 'BIKE', 'WIDE', 'TUBE')).WIDE, [['TYRE'], undefined]);
});

test('alternatives also satisfy totals (§12.10 rule 13)', async () => {
  const [catalog] = await createComputer();
  const answer = await ask(catalog, {
    items: [...items('PSU-450', 'CPU'), { identifier: 'GPU' }],
    alternatives: 2,
  });
  assert.equal(answer.verdict, 'does_not_fit');
  assert.deepEqual(
    answer.alternatives.map((alternative: AnyBody) => [
      alternative.insteadOf,
      alternative.products.map((two: AnyBody) => two.identifier),
    ]),
    [
      ['PSU-450', ['PSU-650']],
      ['CPU', []],
      ['GPU', []],
    ],
  );
});

test('missing values are counted, with the verdicts that they leave unknown (§12.10 rule 14)', async () => {
  const catalog = await createShop();
  const { id } = await catalog.relate(TYRES);
  const ask = async () => (await catalog.manage('GET', '/missing-values')).body.items;
  const width = { attribute: 'Width', products: 1, verdicts: 1, relations: [id] };
  assert.deepEqual(await ask(), [width]);
  await catalog.update(
    product('BIKE-X', 'Bicycles', { Wheel: '28 in' }),
    product('TYRE-Y', 'Tyres', { Width: '40 mm' }),
  );
  // There are 2 bicycles and 5 tyres. The missing clearance leaves the 5 verdicts of its bicycle unknown. A
  // missing width or wheel size leaves the 2 verdicts of its tyre unknown.
  const [clearance, ...others] = await ask();
  assert.deepEqual(clearance, { attribute: 'Clearance', products: 1, verdicts: 5, relations: [id] });
  assert.deepEqual(others, [
    { ...width, attribute: 'Wheel', verdicts: 2 },
    { ...width, verdicts: 2 },
  ]);
  const passes = { ...TYRES, match: TYRES.match.map((match) => ({ ...match, missing: 'passes' })) };
  const isRed = { all: [under('Tyres'), { attribute: 'Colour', operator: 'equals', value: 'red' }] };
  await catalog.manage('PUT', `/${id}`, { ...passes, target: isRed });
  await catalog.settled();
  assert.deepEqual(await ask(), [{ attribute: 'Colour', products: 5, verdicts: 10, relations: [id] }]);
  const power = await createComputer({ total: { attribute: 'TDP' } });
  assert.deepEqual((await power[0].manage('GET', '/missing-values')).body.items, [
    { attribute: 'TDP', products: 1, verdicts: 3, relations: [power[1].id] },
    { attribute: 'Wattage', products: 1, verdicts: 3, relations: [power[1].id] },
  ]);
});

/** As docs/interface specifies: members by name, no white space, without the hash. */
function hashAgain({ receipt: { hash: _, ...receipt }, ...answer }: AnyBody): string {
  const sort = (value: AnyBody): AnyBody => {
    if (Array.isArray(value)) return value.map(sort);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.keys(value)
        .sort()
        .map((name) => [name, sort(value[name])]),
    );
  };
  return createHash('sha256')
    .update(JSON.stringify(sort({ ...answer, receipt })))
    .digest('hex');
}

test('the same question on the same version gets the same bytes, with a receipt that anyone can verify (§12.10 rule 8)', async () => {
  const catalog = await createShop();
  const { id } = await catalog.relate(TYRES);
  const question = { items: items('BIKE', 'TYRE', 'TYRE-X') };
  const [first, second] = [await catalog.post(FIT, question), await catalog.post(FIT, question)];
  assert.equal(JSON.stringify(first.body), JSON.stringify(second.body));
  const { receipt } = first.body;
  const { headers } = await catalog.manage('GET', `/${id}`);
  assert.deepEqual(
    receipt.relations.map((relation: AnyBody) => [relation.id, `"${relation.revision}"`]),
    [[id, headers.get('etag')]],
  );
  assert.equal(receipt.hash, hashAgain(first.body));
  await catalog.update(product('TYRE-X', 'Tyres', { Wheel: '28 in', Width: '40 mm' }));
  const after = await ask(catalog, question);
  assert.equal(after.verdict, 'fits');
  assert.ok(after.receipt.version > receipt.version);
  assert.notEqual(after.receipt.hash, receipt.hash);
});

test('an invalid question is refused with the path of the fault (§12.10 rule 7)', async () => {
  const catalog = await createShop();
  const refused = async (question: object, detail: string) => {
    const answer = await catalog.post(FIT, question);
    assertRefused(answer, 400);
    assert.match(JSON.stringify(answer.body), new RegExp(detail), JSON.stringify(answer.body));
  };
  await refused({}, 'items');
  await refused({ items: [] }, '/items');
  await refused({ items: items(...Array.from({ length: 101 }, (_, index) => `A${index}`)) }, '/items');
  for (const quantity of [0, -1, 1.5, '2']) {
    await refused({ items: [{ identifier: 'BIKE', quantity }] }, '/items/0/quantity');
  }
  await refused({ items: [{ identifier: '' }] }, '/items/0/identifier');
  await refused({ items: [{ identifier: 'A', quantiy: 2 }] }, '/items/0');
  await refused({ items: items('A'), alternatives: 11 }, '/alternatives');
  await refused({ items: items('A'), alternatives: -1 }, '/alternatives');
  await refused({ items: items('A'), relations: ['x'] }, '/relations/0');
});
