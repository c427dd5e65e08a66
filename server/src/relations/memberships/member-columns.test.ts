// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom, type SeededRandom } from '../../../test/support/demo-shop/seeded-random.ts';
import { type Filter, toCompared } from '../../catalog/filters/filters.ts';
import { openBody } from '../../catalog/ingest/checked-body.ts';
import { ProductPacker } from '../../catalog/products/documents/documents.ts';
import type { RelationRule } from '../relation-definitions/relation.ts';
import type { Match, MatchElement } from '../relation-definitions/relation-definitions.ts';
import type { BoundRule } from '../rules/rules.ts';
import { placeMembers } from './member-columns.ts';
import { type BuildRule, Memberships } from './member-derivation.ts';
import { listMembers, type MemberRow, packMemberships, splitDerived } from './membership.ts';

const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const TEXTS = ['Colour', 'Kind'];
const NUMBERS = ['Length', 'Width'];
const ATTRIBUTES = [
  ...TEXTS.map((name) => toCompared({ name, type: 'TEXT_ATTRIBUTE' }, [name, `${name} 2`])),
  ...NUMBERS.map((name) => toCompared({ name, type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' }, [name])),
];
const TABLE = {
  name: 'goes',
  pairs: [
    ['red', 'blue'],
    ['red', 'ä'],
    ['blue', 'x'.repeat(600)],
  ] as const,
};
const WORDS = ['red', 'blue', 'ä', '"\\', '漢😀', 'x'.repeat(300), 'x'.repeat(600), `${'x'.repeat(300)}y`];
const PATHS = [['A'], ['A', 'B'], ['A', 'C'], ['D']];

function makeFilter(random: SeededRandom, depth = 0): Filter {
  const inner = () => Array.from({ length: random.between(0, 2) }, () => makeFilter(random, depth + 1));
  if (depth < 2 && random.chance(0.4)) return random.pick([{ all: inner() }, { any: inner() }]);
  return random.pick<Filter>([
    { category: random.pick(PATHS) },
    { category: random.pick(PATHS) },
    { not: { category: random.pick(PATHS) } },
    { attribute: 'Colour', operator: 'equals', value: random.pick(WORDS) },
    { attribute: 'Length', operator: 'less', value: random.between(1, 9) },
    { identifiers: ['P1', 'P2', 'P3'] },
  ]);
}

function makeMatch(random: SeededRandom, isPlain: boolean): Match {
  const [target, source] = random.chance(0.5)
    ? [random.pick([...TEXTS, { field: 'name' } as const]), random.pick(TEXTS)]
    : [random.pick([...NUMBERS, { attribute: 'Width', times: 2 }]), random.pick(NUMBERS)];
  const operator = random.pick([
    'equals',
    'equals',
    'equals',
    'notEquals',
    'less',
    'greaterOrEqual',
  ] as const);
  const isTabled = operator === 'equals' && target === 'Colour' && random.chance(0.5);
  const mayMiss = !isPlain && random.chance(0.4);
  return {
    target,
    operator,
    source,
    ...(isTabled && { table: TABLE.name }),
    ...(mayMiss && { missing: 'passes' }),
  };
}

function makeRule(random: SeededRandom): RelationRule {
  const isPlain = random.chance(0.5);
  const few = () => Array.from({ length: random.between(1, 2) }, () => makeMatch(random, isPlain));
  const match = Array.from(
    { length: random.between(0, 3) },
    (): MatchElement =>
      isPlain || random.chance(0.5)
        ? makeMatch(random, isPlain)
        : random.pick([{ any: few() }, { together: few() }]),
  );
  const sort = Array.from({ length: random.between(0, 3) }, () => ({
    attribute: random.pick([...TEXTS, ...NUMBERS]),
    direction: random.pick(['asc', 'desc'] as const),
  }));
  return { source: makeFilter(random), target: makeFilter(random), match, sort };
}

const bind = (rule: RelationRule): BoundRule => ({ rule, attributes: ATTRIBUTES, tables: [TABLE] });

function makeProduct(random: SeededRandom, number: number) {
  const value = (key: string) =>
    NUMBERS.includes(key)
      ? random.pick(['1 mm', '1.0 mm', '2 mm', '10 mm', 'none', '-3 mm'])
      : random.pick(WORDS);
  const attributes = Array.from({ length: random.between(0, 6) }, () => {
    const key = random.pick(['Colour', 'Colour 2', 'Kind', 'Length', 'Width', 'Other']);
    return { key, value: value(key), ...(random.chance(0.3) && { row: random.pick(['r', 's', 1]) }) };
  });
  const categories = Array.from({ length: random.between(0, 2) }, () => ({ path: random.pick(PATHS) }));
  const groupIdentifier = random.pick(['G"', 'G\n', 'ä', `P${number}`]);
  return { identifier: `P${number}`, groupIdentifier, name: random.pick(WORDS), categories, attributes };
}

/** @returns a line for each member, in the order of the index within a list */
const describe = (members: Iterable<MemberRow>) =>
  Array.from(members, ({ key, rank, compared, ...rest }) => {
    const [first = null, ...others] = compared.map((bytes) => bytes?.toString('hex') ?? null);
    // Trailing columns without a value count as missing.
    while (others.at(-1) === null) others.pop();
    return JSON.stringify({ ...rest, key: key.toString('hex'), rank: rank.toString('hex'), first, others });
  });

function deriveBatch(memberships: Memberships, body: object, ids: readonly number[]) {
  const bytes = Buffer.from(JSON.stringify(body));
  const source = openBody(
    { bytes, encoding: 'identity', maxMib: 16, onInvalid: 'skip' },
    'products',
  ).openProducts();
  const cut: string[] = [];
  const batch = memberships.openBatch(source.openDerived(memberships.keys), (identifier) =>
    cut.push(identifier),
  );
  const packer = new ProductPacker();
  const texts = Array.from(source.listIdentifiers(), (_, row) => {
    batch.add(row, row, packer);
    return packer.takeText();
  });
  const documents = texts.map((text, row) => {
    const productId = ids[row] as number;
    return { id: 1_000 + row, productId, ...splitDerived(text) };
  });
  const columns = batch.finish();
  return { documents, cut, members: columns === undefined ? [] : [...placeMembers(columns, documents)] };
}

test('a batch derives the same members and texts as its single products, in index order', () => {
  const random = createSeededRandom(String(SEED));
  for (let round = 0; round < 150; round += 1) {
    const rules = Array.from(
      { length: random.between(1, 5) },
      (_, index): BuildRule => ({ build: index + 3, bound: bind(makeRule(random)) }),
    );
    const [memberships, single] = [new Memberships(rules), new Memberships(rules)];
    // A body of few products is parsed, and a body of many products is scanned.
    for (const count of [3, 60]) {
      const products = Array.from({ length: count }, (_, index) => makeProduct(random, index));
      const ids = products.map(() => random.between(1, 10 ** 6));
      const { documents, members } = deriveBatch(memberships, { products }, ids);
      const placed = products.map((product, row) => {
        const derived = single.of(product);
        const { group, packed } = documents[row] as (typeof documents)[number];
        if (derived.length === 0) assert.equal(packed, '', `seed ${SEED}`);
        else
          assert.deepEqual(
            [group, packed],
            [product.groupIdentifier, packMemberships(derived)],
            `seed ${SEED}`,
          );
        return {
          id: 1_000 + row,
          productId: ids[row] as number,
          group: product.groupIdentifier,
          memberships: derived,
        };
      });
      assert.deepEqual(describe(members).sort(), describe(listMembers(placed)).sort(), `seed ${SEED}`);
      const order = members.map(({ build, side, key, rank, productId }) => {
        const bytes = `${key.toString('hex')} ${rank.toString('hex')}`;
        return `${build} ${side} ${bytes} ${String(productId).padStart(7, '0')}`;
      });
      assert.deepEqual(order, order.toSorted(), `seed ${SEED}`);
    }
  }
});

test('a product with too many combinations is reported once for each rule (§12.4)', () => {
  const match = NUMBERS.map((name) => ({ target: name, operator: 'equals', source: name }) as const);
  const rule = { source: { all: [] }, target: { all: [] }, match, sort: [] };
  const memberships = new Memberships([{ build: 1, bound: bind(rule) }]);
  const many = (count: number) =>
    NUMBERS.flatMap((key) => Array.from({ length: count }, (_, index) => ({ key, value: `${index} mm` })));
  const products = [44, 45].map((count) => ({ identifier: `P${count}`, name: 'P', attributes: many(count) }));
  const { cut, members } = deriveBatch(memberships, { products }, [1, 2]);
  assert.deepEqual(cut, ['P45']);
  assert.equal(members.length, 2 * (44 * 44 + 2_000));
});

test('long texts restart the numbering after few bodies, and short ones do not', () => {
  const match: Match = { target: 'Colour', operator: 'equals', source: 'Colour' };
  const rule: RelationRule = { source: { all: [] }, target: { all: [] }, match: [match], sort: [] };
  const memberships = new Memberships([{ build: 3, bound: bind(rule) }]);
  const ids = Array.from({ length: 100 }, (_, index) => index + 1);
  const derive = (ending: string) => {
    const products = ids.map((id) => ({
      identifier: `P${id}`,
      name: '',
      attributes: [{ key: 'Colour', value: `${id}${ending}` }],
    }));
    return { known: memberships.keys, ...deriveBatch(memberships, { products }, ids) };
  };
  const [short, long, again] = [derive(''), derive('x'.repeat(60_000)), derive('')];
  assert.equal(long.known, short.known);
  assert.notEqual(again.known, long.known);
  assert.deepEqual(again.documents, short.documents);
  assert.deepEqual(again.members, short.members);
});
