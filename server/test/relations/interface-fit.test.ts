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

/** Bicycles with tyres and tubes: what is not said of `TYRE-X` is its width. */
const SHOP = [
  product('BIKE', 'Bicycles', { Wheel: '28 in', Clearance: '50 mm' }),
  product('TYRE', 'Tyres', { Wheel: '28 in', Width: '47 mm' }),
  product('TYRE-WIDE', 'Tyres', { Wheel: '28 in', Width: '62 mm' }),
  product('TYRE-SMALL', 'Tyres', { Wheel: '26 in', Width: '47 mm' }),
  product('TYRE-X', 'Tyres', { Wheel: '28 in' }),
  product('BELL', 'Bells', { Colour: 'red' }),
];
const TYRES = {
  ...{ name: 'Tyre on bicycle', tag: 'tyres', constraint: true },
  ...{ source: under('Bicycles'), target: under('Tyres') },
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

test('a set fits where every pair on the two sides of a constraint satisfies it, with the reason (§12.10 rules 1 and 4)', async () => {
  const catalog = await createShop();
  const { id } = await catalog.relate(TYRES);
  const fits = await ask(catalog, { items: items('TYRE', 'BIKE') });
  assert.deepEqual(
    { verdict: fits.verdict, pairs: fits.pairs },
    {
      verdict: 'fits',
      pairs: [
        {
          ...{ source: 'BIKE', target: 'TYRE', relation: { id, name: TYRES.name, tag: 'tyres' } },
          verdict: 'fits',
          match: [
            {
              ...{ target: 'Wheel', operator: 'equals', source: 'Wheel', holds: true },
              ...{ targetValues: ['28 in'], sourceValues: ['28 in'], verdict: 'fits' },
            },
            {
              ...{ target: 'Width', operator: 'lessOrEqual', source: 'Clearance', holds: true },
              ...{ targetValues: ['47 mm'], sourceValues: ['50 mm'], verdict: 'fits' },
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

test('what the data does not say is unknown, and the values that lack are named (§12.10 rules 2 and 4)', async () => {
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

test('a side that is unknown is judged, and fits at best unknown; what fails there does not fit (§12.10 rule 3)', async () => {
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
  ['not turns around, and leaves unknown what is', { not: IS_RED }, 'unknown'],
  ['not of exists is true', { not: HAS_COLOUR }, 'fits'],
  ['all is the least: true and unknown', { all: [under('Tyres'), IS_RED] }, 'unknown'],
  ['all is the least: false and unknown', { all: [under('Bells'), IS_RED] }, 'no_rule'],
  ['any is the greatest: true and unknown', { any: [under('Tyres'), IS_RED] }, 'fits'],
  ['any is the greatest: false and unknown', { any: [under('Bells'), IS_RED] }, 'unknown'],
  ['all of nothing is true', { all: [] }, 'fits'],
  ['any of nothing is false', { any: [] }, 'no_rule'],
];

test('sides are judged by three-valued logic (§12.10 rule 2)', async (t) => {
  const catalog = await createShop();
  for (const [name, target, verdict] of FILTERS) {
    await t.test(name, async () => {
      const { id } = await catalog.relate({
        ...{ ...TYRES, target },
        match: [{ target: 'Wheel', operator: 'equals', source: 'Wheel' }],
      });
      const answer = await ask(catalog, { items: items('BIKE', 'TYRE'), relations: [id] });
      assert.equal(answer.verdict, verdict);
    });
  }
});

test('what no constraint judges is listed, and unknown identifiers leave a set unknown at best (§12.10 rules 5 and 6)', async () => {
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

test('only relations that are constraints judge, of those asked by tag or id (§12.10 rules 1 and 7)', async () => {
  const catalog = await createShop();
  const related = await catalog.relate({ ...TYRES, constraint: false });
  assert.equal(related.constraint, false);
  assert.equal(await verdictOf(catalog, 'BIKE', 'TYRE-WIDE'), 'no_rule');
  const { id } = await catalog.relate(TYRES);
  const { id: other } = await catalog.relate({ ...TYRES, tag: 'other', match: [] });
  const by = async (chosen: object) =>
    (await ask(catalog, { items: items('BIKE', 'TYRE-WIDE'), ...chosen })).receipt.relations.map(
      (one: AnyBody) => one.id,
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

test('products of one group are judged only where the relation does not exclude them (§12.10 rule 1)', async () => {
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

/** As docs/interface.md says it: members by name, no white space, without the hash. */
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

test('the same question on the same version has the same bytes, and a receipt that anybody can check (§12.10 rule 8)', async () => {
  const catalog = await createShop();
  const { id } = await catalog.relate(TYRES);
  const question = { items: items('BIKE', 'TYRE', 'TYRE-X') };
  const [first, second] = [await catalog.post(FIT, question), await catalog.post(FIT, question)];
  assert.equal(JSON.stringify(first.body), JSON.stringify(second.body));
  const { receipt } = first.body;
  const { headers } = await catalog.manage('GET', `/${id}`);
  assert.deepEqual(
    receipt.relations.map((one: AnyBody) => [one.id, `"${one.revision}"`]),
    [[id, headers.get('etag')]],
  );
  assert.equal(receipt.hash, hashAgain(first.body));
  await catalog.update(product('TYRE-X', 'Tyres', { Wheel: '28 in', Width: '40 mm' }));
  const after = await ask(catalog, question);
  assert.equal(after.verdict, 'fits');
  assert.ok(after.receipt.version > receipt.version);
  assert.notEqual(after.receipt.hash, receipt.hash);
});

test('a question that cannot be answered is refused by its place (§12.10 rule 7)', async () => {
  const catalog = await createShop();
  const refused = async (question: object, place: string) => {
    const answer = await catalog.post(FIT, question);
    assertRefused(answer, 400);
    assert.match(JSON.stringify(answer.body), new RegExp(place), JSON.stringify(answer.body));
  };
  await refused({}, 'items');
  await refused({ items: [] }, '/items');
  await refused({ items: items(...Array.from({ length: 101 }, (_, at) => `A${at}`)) }, '/items');
  for (const quantity of [0, -1, 1.5, '2']) {
    await refused({ items: [{ identifier: 'BIKE', quantity }] }, '/items/0/quantity');
  }
  await refused({ items: [{ identifier: '' }] }, '/items/0/identifier');
  await refused({ items: [{ identifier: 'A', quantiy: 2 }] }, '/items/0');
  await refused({ items: items('A'), alternatives: 11 }, '/alternatives');
  await refused({ items: items('A'), alternatives: -1 }, '/alternatives');
  await refused({ items: items('A'), relations: ['x'] }, '/relations/0');
});
