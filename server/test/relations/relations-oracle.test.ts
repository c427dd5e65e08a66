// runs: deep, postgres long, citus long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { readCatalog } from '../support/real-products.ts';
import {
  type Comparison,
  type Condition,
  cutBulk,
  cutSingle,
  type Definition,
  type Element,
  type Filter,
  type Match,
  type OracleAttribute,
  type OracleProduct,
  type Related,
  RelationOracle,
  type Sort,
} from '../support/relations/relation-oracle.ts';
import { createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import type { TestProduct } from '../support/test-service.ts';

const service = shareService();

const TAG = 'goes with';
const LIMITS = [1, 5, 100];
const BULK = 100;
/**
 * The number of sources. A sample suffices, because the rules are the same on both stores and only the SQL
 * differs.
 */
const SOURCES = Number(process.env.RELATA_TEST_SOURCES ?? 80);
const SINGLE_SOURCES = 100;
/**
 * Two batches of products from the whole catalog take a quarter of its time. real-catalog.test.ts writes
 * the whole catalog.
 */
const MOST_PRODUCTS = 17_000;
const BUILD_LIMIT_MS = 600_000;

type FileProduct = TestProduct & Omit<OracleProduct, 'id'>;

/** A relation of the project. */
interface Made {
  readonly id: number;
  readonly definition: Definition;
}

/** A relation with the oracle's answers. */
interface Checked extends Made {
  readonly relate: ((identifier: string) => Related) | undefined;
}

/** The oracle's result for a product. `related` is undefined if answers omit the relation. */
interface Expected extends Made {
  readonly related: Related | undefined;
}

/** A relation in an answer; in the single form, one group per entry. */
interface Answered<Entry = readonly RelatedItem[]> {
  readonly id: number;
  readonly matchType: string;
  readonly searchResult: readonly Entry[];
}

interface RelatedItem {
  readonly identifier: string;
  readonly relevance: number;
}

/** The product and the form of a question. */
interface View {
  readonly source: string;
  readonly limit: number;
  readonly isSingle: boolean;
}

const under = (path: string): Filter => ({ category: path.split('/') });
const part = (path: string): Filter => under(`PC parts/${path}`);
const has = (attribute: string, operator: Condition['operator'], value?: unknown): Filter => ({
  attribute,
  operator,
  ...(value !== undefined && { value }),
});
const all = (...filters: Filter[]): Filter => ({ all: filters });
const any = (...filters: Filter[]): Filter => ({ any: filters });

interface Rule {
  /** `target operator source; …` */
  match?: string;
  /** `attribute direction; …` */
  sort?: string;
  twoWay?: boolean;
  excludeSameGroup?: boolean;
}

function rule(name: string, [source, target]: [Filter, Filter], { match, sort, ...more }: Rule): Definition {
  const split = (list = '', by: RegExp) =>
    list === '' ? [] : list.split('; ').map((part) => part.split(by));
  const operators = / (equals|notEquals|less|lessOrEqual|greater|greaterOrEqual) /;
  return {
    name,
    source,
    target,
    match: split(match, operators).map(([to = '', operator, from = '']) => ({
      target: to,
      operator: operator as Comparison,
      source: from,
    })),
    sort: split(sort, / (?=asc$|desc$)/).map(([attribute = '', direction]) => ({
      attribute,
      direction: direction as Sort['direction'],
    })),
    tag: TAG,
    twoWay: false,
    enabled: true,
    names: [],
    ...more,
  };
}

const PC_PARTS = [
  rule('memory that a board holds', [part('Core/Motherboards'), part('Core/Memory')], {
    match: 'Module count lessOrEqual Memory slots; Module size lessOrEqual Maximum memory',
    sort: 'Price asc',
    twoWay: true,
  }),
  rule('power supplies that a UPS carries', [part('Power/UPS systems'), part('Core/Power supplies')], {
    match: 'Wattage lessOrEqual Power',
    sort: 'Wattage desc; Price asc',
    twoWay: true,
  }),
  rule('a stronger power supply than built in', [part('Core/Cases'), part('Core/Power supplies')], {
    match: 'Wattage greater Included power supply',
    sort: 'Wattage asc; Price asc',
  }),
  rule('cards with the same chip', [part('Core/Video cards'), part('Core/Video cards')], {
    match: 'Chipset equals Chipset',
    sort: 'Price asc',
    twoWay: true,
  }),
  rule('dearer headphones', [part('Peripherals/Headphones'), part('Peripherals/Headphones')], {
    match: 'Brand equals Brand; Price greater Price',
    sort: 'Price asc',
    twoWay: true,
  }),
  rule(
    'monitors between two sizes',
    [
      all(part('Core/Video cards'), has('Video memory', 'greaterOrEqual', 12)),
      all(part('Peripherals/Monitors'), has('Screen size', 'between', ['27 in', '32 in'])),
    ],
    { sort: 'Refresh rate desc; Price asc' },
  ),
  rule(
    'cases that take a board',
    [
      all(part('Core/Motherboards'), has('Form factor', 'equals', 'ATX')),
      any(has('Case type', 'contains', 'atx mid'), has('Case type', 'equals', 'ATX Full Tower')),
    ],
    { sort: 'External volume asc', twoWay: true },
  ),
  rule(
    'mice of another brand',
    [
      all(part('Peripherals/Keyboards'), has('Tenkeyless', 'equals', true)),
      all(part('Peripherals/Mice'), has('Maximum DPI', 'less', 20_000)),
    ],
    { match: 'Color equals Color; Brand notEquals Brand', sort: 'Maximum DPI desc; Brand asc' },
  ),
  rule(
    'controllers for big fans',
    [all(part('Cooling'), has('Fan size', 'in', [140, '200 mm', 230])), part('Cooling/Fan controllers')],
    { sort: 'Channels desc' },
  ),
  rule(
    'OLED monitors for new cards',
    [
      has('Chipset', 'contains', 'rtx 50'),
      all(has('Panel type', 'in', ['OLED', 'QD-OLED']), has('Aspect ratio', 'notEquals', '16:9')),
    ],
    { sort: 'Screen size desc; Brand desc' },
  ),
  rule(
    'power supplies for an empty case',
    [
      all(part('Core/Cases'), { not: has('Included power supply', 'exists') }),
      all(has('Power supply type', 'equals', 'ATX'), { not: has('Color', 'exists') }),
    ],
    { match: 'Brand equals Brand', sort: 'Efficiency asc; Wattage asc' },
  ),
  rule(
    'accessories by name',
    [all(), { identifiers: Array.from({ length: 9 }, (_, index) => `case-accessory-0000${index}`) }],
    { sort: 'Bay size desc; Brand asc' },
  ),
  rule(
    'things to see and hear',
    [
      all(),
      any(
        ...['Speakers', 'Webcams'].map((name) => part(`Peripherals/${name}`)),
        has('Microphone', 'equals', true),
      ),
    ],
    { match: 'Brand equals Brand', sort: 'Price desc', twoWay: true },
  ),
  rule('quicker memory of the kind', [part('Core/Memory'), part('Core/Memory')], {
    match: 'Memory type equals Memory type; Module size equals Module size; CAS latency less CAS latency',
    sort: 'First word latency asc; Price desc',
  }),
  rule('memory of the brand', [part('Core/Memory'), part('Core/Memory')], {
    match: 'Brand equals Brand; Module count equals Module count',
    sort: 'Module size desc; Price asc',
    excludeSameGroup: false,
  }),
  rule('webcams for the same computers', [part('Peripherals/Webcams'), part('Peripherals')], {
    match: 'Operating system equals Operating system; Resolution notEquals Resolution',
    sort: 'Resolution desc; Operating system asc',
    twoWay: true,
  }),
  rule(
    'cooling at a price',
    [part('Core/Processors'), all(part('Cooling'), has('Price', 'between', [20, 60]))],
    { sort: 'Noise max asc; Fan speed max desc' },
  ),
  rule('cards quicker than the processor', [part('Core/Processors'), part('Core/Video cards')], {
    match: 'GPU boost clock greaterOrEqual Boost clock',
    sort: 'GPU boost clock desc; Price asc',
    twoWay: true,
  }),
  rule('fans no wider than a screen', [part('Peripherals/Monitors'), part('Cooling/Case fans')], {
    match: 'Fan size lessOrEqual Screen size',
    sort: 'Fan size desc',
  }),
  rule(
    'screens of 60 to 81,28 cm',
    [
      all(part('Core/Video cards'), has('GPU core clock', 'greater', '2.4 GHz')),
      all(part('Peripherals/Monitors'), has('Screen size', 'between', ['60 cm', '81,28 cm'])),
    ],
    { sort: 'Screen size desc' },
  ),
  rule('nothing: no such category', [all(), part('Sewing machines')], {}),
];

const DEMO = [
  rule('tyres', [under('Bicycles'), under('Bicycle parts/Tyres')], {
    match: 'Wheel size equals Wheel size; Tyre width lessOrEqual Maximum tyre width',
    sort: 'Tyre width desc; Price asc',
    twoWay: true,
  }),
  rule('inner tubes', [under('Bicycle parts/Tyres'), under('Bicycle parts/Inner tubes')], {
    match: 'Wheel size equals Wheel size; Fits tyres from lessOrEqual Tyre width',
    sort: 'Price asc',
  }),
  rule('cards', [under('Photo/Cameras'), under('Photo/Memory cards')], {
    match: 'Card type equals Card type',
    sort: 'Storage capacity desc; Price asc',
    twoWay: true,
  }),
  rule('other boots', [under('Shoes/Hiking boots'), under('Shoes')], {
    match: 'Shoe size equals Shoe size; Brand notEquals Brand; Price greater Price',
    sort: 'Colour desc; Price asc',
    twoWay: true,
  }),
];

function* chunks<Element>(list: readonly Element[], size: number): Generator<Element[]> {
  for (let index = 0; index < list.length; index += size) yield list.slice(index, index + size);
}

/** Evenly from the whole catalog, plus all products with several values of an attribute. */
function pickSources(products: readonly FileProduct[]): string[] {
  const step = Math.floor(products.length / SOURCES);
  const isRepeated = ({ attributes = [] }: FileProduct) =>
    new Set(attributes.map(({ key }) => key)).size < attributes.length;
  const picked = products.filter((product, index) => index % step === 0 || isRepeated(product));
  return [...picked.map(({ identifier }) => identifier), 'never there'];
}

/** Creates the relations and waits until each is built. */
async function create(catalog: TestCatalog, definitions: readonly Definition[]): Promise<Made[]> {
  const made: Made[] = [];
  for (const definition of definitions) {
    const path = `/management/projects/${catalog.projectId}/relations`;
    const { status, body } = await service().call('POST', path, { body: definition });
    assert.equal(status, 201, JSON.stringify(body));
    made.push({ id: body.id, definition });
  }
  await built(catalog, made);
  return made;
}

async function built(catalog: TestCatalog, made: readonly Made[]): Promise<void> {
  const latest = Date.now() + BUILD_LIMIT_MS;
  for (const { id } of made) {
    const path = `/management/projects/${catalog.projectId}/relations/${id}`;
    let { body } = await service().call('GET', path);
    while (body.state === 'building') {
      assert.ok(Date.now() < latest, `the relation ${id} was not built within ${BUILD_LIMIT_MS} ms`);
      await setTimeout(50);
      ({ body } = await service().call('GET', path));
    }
    assert.equal(body.state, 'ready', JSON.stringify(body));
  }
}

/** Gives the oracle these products under the project's ontology. */
async function consult(
  catalog: TestCatalog,
  made: readonly Made[],
  products: readonly OracleProduct[],
): Promise<Checked[]> {
  const { body } = await service().call('GET', `/management/projects/${catalog.projectId}/ontology`);
  const oracle = new RelationOracle(products, body.attributes, TABLES);
  return made.map((relation) => ({ ...relation, relate: oracle.relate(relation.definition) }));
}

async function askBulk(catalog: TestCatalog, request: object): Promise<Map<string, Answered[]>> {
  const { status, body } = await catalog.post('/search/relations/bulk-results', request);
  assert.equal(status, 200, JSON.stringify(body));
  const answers = Object.entries(body as Record<string, { tags: { relations: Answered[] }[] }>);
  return new Map(
    answers.map(([identifier, { tags }]) => [identifier, tags.flatMap(({ relations }) => relations)]),
  );
}

async function askSingle(catalog: TestCatalog, identifier: string, request: object): Promise<Answered[]> {
  const query = Object.entries(request).map(
    ([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`,
  );
  const path = `/search/relations/result?identifier=${encodeURIComponent(identifier)}&${query.join('&')}`;
  const { status, body } = await catalog.call('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  const relations = (body.tags as { relations: Answered<RelatedItem>[] }[]).flatMap((tag) => tag.relations);
  return relations.map((relation) => ({
    ...relation,
    searchResult: relation.searchResult.map((entry) => [entry]),
  }));
}

/** Asserts that a product's answer contains the oracle's results for these relations, and no others. */
function compare(answered: readonly Answered[], expected: readonly Expected[], view: View): void {
  const relationById = new Map(answered.map((relation) => [relation.id, relation]));
  assert.equal(relationById.size, answered.length, 'each relation is answered once');
  const wanted = new Set(expected.map(({ id }) => id));
  assert.deepEqual(
    [...relationById.keys()].filter((id) => !wanted.has(id)),
    [],
    'no relation except the requested ones',
  );
  for (const { id, definition, related } of expected) {
    const actual = describeAnswered(relationById.get(id));
    const should = describeExpected(related, view);
    // A deep comparison of a million entries takes long; comparing their text is equivalent.
    if (JSON.stringify(actual) === JSON.stringify(should)) continue;
    const about = { relation: definition.name, source: view.source, limit: view.limit };
    assert.deepEqual({ ...about, answer: actual }, { ...about, answer: should });
  }
}

function describeAnswered(relation: Answered | undefined) {
  return (
    relation && {
      matchType: relation.matchType,
      groups: relation.searchResult.map((group) => group.map(({ identifier }) => identifier)),
      relevance: relation.searchResult.flat().map(({ relevance }) => relevance),
    }
  );
}

function describeExpected(related: Related | undefined, { limit, isSingle }: View) {
  if (related === undefined) return undefined;
  const groups = isSingle ? cutSingle(related, limit).map((variant) => [variant]) : cutBulk(related, limit);
  const relevance = groups.flat().map((_, position) => 1_000_000 - position);
  return { matchType: related.matchType, groups, relevance };
}

const expect = (relations: readonly Checked[], source: string): Expected[] =>
  relations.map(({ id, definition, relate }) => ({ id, definition, related: relate?.(source) }));

/** Every relation for every source and every limit. */
async function compareBulk(
  catalog: TestCatalog,
  relations: readonly Checked[],
  sources: readonly string[],
): Promise<void> {
  for (const some of chunks(sources, BULK)) {
    const expected = new Map(some.map((source) => [source, expect(relations, source)]));
    for (const limit of LIMITS) {
      // Answers with the highest limit reach 100 MB for a single relation.
      const perCall = limit > 10 && sources.length > BULK ? 1 : relations.length;
      for (let index = 0; index < relations.length; index += perCall)
        await compareAnswers(catalog, expected, { limit, from: index, to: index + perCall });
    }
  }
}

/** One bulk call for the sources of `expected` and a slice of their relations. */
async function compareAnswers(
  catalog: TestCatalog,
  expected: ReadonlyMap<string, readonly Expected[]>,
  { limit, from, to }: { limit: number; from: number; to: number },
): Promise<void> {
  const [relations = []] = expected.values();
  const includeRelations = relations.slice(from, to).map(({ id }) => ({ id, limit }));
  const answers = await askBulk(catalog, { identifiers: [...expected.keys()], includeRelations });
  assert.equal(answers.size, expected.size);
  for (const [source, all] of expected) {
    const answered = answers.get(source) ?? assert.fail(`no answer for ${source}`);
    compare(answered, all.slice(from, to), { source, limit, isSingle: false });
  }
}

test('relations over a real catalog give the same results as a nested loop over its products', async (t) => {
  const { products, isReal } = readCatalog(10_000, MOST_PRODUCTS);
  const definitions = isReal ? PC_PARTS : DEMO;
  const catalog = await createCatalog(service());
  const loaded = await service().loadCatalog(products, catalog.projectId);
  assert.equal(loaded.taskStatus, 'FINISHED', JSON.stringify(loaded));
  const ids = new Map<string, number>();
  for (const some of chunks(products, 1_000)) {
    const served = await catalog.find(...some.map(({ identifier }) => identifier));
    for (const { identifier, id } of served) ids.set(identifier, id);
  }
  const made = await create(catalog, definitions);
  const stored = products.map((product) => ({ ...product, id: ids.get(product.identifier) ?? Number.NaN }));
  const relations = await consult(catalog, made, stored);
  const sources = pickSources(products);

  await t.test(
    'bulk answers have the groups of the nested loop in its order (§4.8 rules 1 to 5, §12.2, §12.3, §12.5 rules 1 and 4)',
    () => compareBulk(catalog, relations, sources),
  );

  await t.test(
    'single answers have the best variant of each of these groups (§12.5 rules 3 and 4)',
    async () => {
      const step = Math.ceil(sources.length / SINGLE_SOURCES);
      for (const source of sources.filter((_, index) => index % step === 0)) {
        const expected = expect(relations, source);
        for (const limit of LIMITS) {
          const includeRelations = relations.map(({ id }) => ({ id, limit }));
          const answered = await askSingle(catalog, source, { includeRelations });
          compare(answered, expected, { source, limit, isSingle: true });
        }
      }
    },
  );
});

// Random catalogs: few attributes and values, so that products match, and some values that make no fact.

const NUMBERS = [-1, 0, 1, 1.5, 2, 3, 10];
const WORDS = ['red', 'Red', 'reddish', 'blue', 'Äther', 'äther', '\uFF5Ewave', '😀', '10'];
const COMPARISONS: Comparison[] = ['equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual'];
const EXACT: Comparison[] = ['equals', 'notEquals'];

const written = (tail: string) => NUMBERS.map((number) => `${number}${tail}`);

/** The values of an attribute, their order, and filters on them. */
interface Kind {
  readonly values: readonly string[];
  readonly operators: readonly Comparison[];
  readonly wanted: readonly unknown[];
  readonly comparable: readonly string[];
}

const LENGTHS = ['Length', 'Depth'];
const COUNTS = ['Slots', 'Count'];
const TEXTS = ['Colour', 'Finish'];

const length: Kind = {
  values: [...written(' mm'), '1e1 mm', '+2 mm', '2', '2 cm', 'two mm', '2  mm'],
  operators: COMPARISONS,
  wanted: [...NUMBERS, ...written(' mm')],
  comparable: LENGTHS,
};
const count: Kind = {
  values: [...written(''), '2.0', '3 mm', 'few'],
  operators: COMPARISONS,
  wanted: NUMBERS,
  comparable: COUNTS,
};
const text: Kind = { values: WORDS, operators: EXACT, wanted: WORDS, comparable: TEXTS };
const cost: Kind = {
  values: ['1 €', '1,5 €', '1.5 €', '2,0 €', '3 €', '10', '-1 €'],
  operators: COMPARISONS,
  wanted: NUMBERS,
  comparable: ['Cost'],
};
const ready: Kind = {
  values: ['true', 'false', 'TRUE', 'False', 'yes'],
  operators: EXACT,
  wanted: [true, false, 'true', 'false'],
  comparable: ['Ready'],
};

const KINDS: Record<string, Kind> = {
  Length: length,
  Depth: length,
  Slots: count,
  Count: count,
  Colour: text,
  Finish: text,
  Cost: cost,
  Ready: ready,
};
const ATTRIBUTES = Object.keys(KINDS);

const numeric = (name: string, unitName?: string): OracleAttribute => ({
  name,
  type: 'NUMERIC_ATTRIBUTE',
  ...(unitName !== undefined && { unitName }),
});
const ONTOLOGY: readonly OracleAttribute[] = [
  ...LENGTHS.map((name) => numeric(name, 'mm')),
  ...COUNTS.map((name) => numeric(name)),
  { name: 'Colour', type: 'TEXT_ATTRIBUTE' },
  { name: 'Finish', type: 'UNTYPED_ATTRIBUTE' },
  { name: 'Ready', type: 'BOOLEAN_ATTRIBUTE' },
];

const identifiers = fc.nat({ max: 39 }).map((number) => `P${number}`);
const groups = fc.constantFrom('G1', 'G2', 'G3', 'G4', 'P1', 'P2');
const paths = [['A'], ['A', 'B'], ['A', 'B', 'C'], ['B'], ['a', 'B']];
const categories = fc.array(fc.record({ path: fc.constantFrom(...paths) }), { maxLength: 2 });
const attribute = fc
  .constantFrom(...Object.entries(KINDS))
  .chain(([key, { values }]) => fc.record({ key: fc.constant(key), value: fc.constantFrom(...values) }));
const attributes = fc.array(attribute, { maxLength: 16, size: 'max' });
/** Values of some products belong to rows. A value has one row or none. */
const rowed = fc
  .tuple(attributes, fc.array(fc.constantFrom(undefined, 1, 2, 'b', '1'), { minLength: 16, maxLength: 16 }))
  .map(([list, rows]) =>
    list.map((value, index) =>
      rows[index] === undefined ? value : { ...value, row: rows[index] as string | number },
    ),
  );
const product = fc
  .record(
    { identifier: identifiers, groupIdentifier: groups, categories, attributes: fc.oneof(attributes, rowed) },
    { requiredKeys: ['identifier', 'attributes'] },
  )
  .map((fields) => ({ name: fields.identifier, ...fields }));
const productsOf = (minLength: number, maxLength: number) =>
  fc.uniqueArray(product, { minLength, maxLength, size: 'max', selector: ({ identifier }) => identifier });

/** A product of a partial update: an attribute has no, one or several values, and group or category may change. */
const patch = fc.record(
  {
    identifier: identifiers,
    groupIdentifier: groups,
    categories,
    attributes: fc.record(
      Object.fromEntries(ATTRIBUTES.map((name) => [name, patchOf(KINDS[name]?.values ?? [])])),
      { requiredKeys: ['Length'] },
    ),
  },
  { requiredKeys: ['identifier', 'attributes'] },
);

function patchOf(values: readonly string[]) {
  const value = fc.constantFrom(...values);
  return fc.oneof(fc.constant(null), value, fc.array(value, { minLength: 1, maxLength: 3 }));
}

const condition = fc.constantFrom(...Object.entries(KINDS)).chain(([name, kind]) => {
  const wanted = fc.constantFrom(...kind.wanted);
  const of = (operator: Condition['operator'], value: fc.Arbitrary<unknown>) =>
    value.map((operand) => has(name, operator, operand));
  const some = fc.array(wanted, { minLength: 1, maxLength: 3 });
  const pair = fc
    .tuple(fc.constantFrom(...NUMBERS), fc.constantFrom(...NUMBERS))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...kind.operators).chain((operator) => of(operator, wanted)) },
    { weight: 1, arbitrary: of('exists', fc.constant(undefined)) },
    { weight: kind === ready ? 0 : 1, arbitrary: of('in', some) },
    { weight: kind.operators === COMPARISONS ? 1 : 0, arbitrary: of('between', pair) },
    {
      weight: kind === text ? 3 : 0,
      arbitrary: of('contains', fc.constantFrom('RED', 'ed', 'äT', 'ÄT', '😀')),
    },
  );
});

const leaf: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 4, arbitrary: condition },
  { weight: 1, arbitrary: fc.record({ category: fc.constantFrom(...paths) }) },
  {
    weight: 1,
    arbitrary: fc.record({ identifiers: fc.uniqueArray(identifiers, { minLength: 1, maxLength: 20 }) }),
  },
);

function filterOf(depth: number): fc.Arbitrary<Filter> {
  if (depth === 1) return leaf;
  const inner = filterOf(depth - 1);
  return fc.oneof(
    leaf,
    fc.record({ all: fc.array(inner, { maxLength: 3 }) }),
    fc.record({ any: fc.array(inner, { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: inner }),
  );
}

const filter = fc.oneof(fc.constant(all()), filterOf(3));
const match: fc.Arbitrary<Match> = fc
  .constantFrom(...Object.values(KINDS))
  .chain(({ comparable, operators }) =>
    fc.record({
      target: fc.constantFrom(...comparable),
      operator: fc.constantFrom(...operators),
      source: fc.constantFrom(...comparable),
    }),
  );
const computation = fc.record(
  { times: fc.constantFrom(2, 0.5, 1.1, -1), plus: fc.constantFrom(1, -1, 0.5) },
  { requiredKeys: [] },
);
const richMatch: fc.Arbitrary<Match> = fc
  .record({
    match,
    missing: fc.constantFrom(undefined, 'fails' as const, 'passes' as const, 'passes' as const),
    table: fc.boolean(),
    terms: fc.record({ target: computation, source: computation }, { requiredKeys: [] }),
  })
  .map(({ match: plain, missing, table, terms }) => {
    const attribute = String(plain.target);
    const isNumber = KINDS[attribute]?.operators === COMPARISONS;
    const compute = (side: 'target' | 'source') =>
      isNumber && terms[side] !== undefined
        ? { attribute: String(plain[side]), ...(terms[side] as object) }
        : plain[side];
    return {
      target: compute('target'),
      operator: plain.operator,
      source: compute('source'),
      ...(missing && { missing }),
      ...(table && plain.operator === 'equals' && { table: tableOf(attribute) }),
    };
  });
const TABLES = {
  colours: [
    ['red', 'blue'],
    ['red', 'Red'],
    ['10', 'äther'],
  ],
  numbers: [
    ['1 mm', '2 mm'],
    ['1', '3'],
    ['0.1 cm', '10 mm'],
    ['2 €', '3 €'],
  ],
} as const;
const tableOf = (attribute: string) => (TEXTS.includes(attribute) ? 'colours' : 'numbers');
const element: fc.Arbitrary<Element> = fc.oneof(
  { weight: 3, arbitrary: match },
  { weight: 3, arbitrary: richMatch },
  { weight: 2, arbitrary: fc.record({ any: fc.array(richMatch, { minLength: 2, maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ together: fc.array(richMatch, { minLength: 2, maxLength: 3 }) }) },
);
const sort = fc.record({
  attribute: fc.constantFrom(...ATTRIBUTES),
  direction: fc.constantFrom<Sort['direction'][]>('asc', 'desc'),
});
const definition: fc.Arbitrary<Definition> = fc
  .record(
    {
      source: filter,
      target: filter,
      match: fc.array(element, { maxLength: 3 }),
      sort: fc.uniqueArray(sort, { maxLength: 2, selector: (sorted) => sorted.attribute }),
      twoWay: fc.boolean(),
      excludeSameGroup: fc.boolean(),
    },
    { requiredKeys: ['source', 'target', 'match', 'sort', 'twoWay'] },
  )
  .map((fields) => ({ name: 'random', tag: TAG, enabled: true, names: [], ...fields }));

const change = fc.oneof(
  fc.record({ update: productsOf(1, 5) }),
  fc.record({
    partial: fc.uniqueArray(patch, { minLength: 1, maxLength: 5, selector: (product) => product.identifier }),
  }),
  fc.record({ delete: fc.uniqueArray(identifiers, { minLength: 1, maxLength: 12 }) }),
  fc.record({ commit: productsOf(5, 30) }),
  fc.record({ decimal: fc.constantFrom('point' as const, 'comma' as const) }),
  fc.constant({ restore: true as const }),
);
type Change = typeof change extends fc.Arbitrary<infer One> ? One : never;

async function putOntology(catalog: TestCatalog, decimal: 'point' | 'comma'): Promise<void> {
  const list = [...ONTOLOGY, { ...numeric('Cost', '€'), decimal }];
  const path = `/management/projects/${catalog.projectId}/ontology`;
  const { status, body } = await service().call('PUT', path, { body: { mode: 'own', attributes: list } });
  assert.equal(status, 200, JSON.stringify(body));
}

async function putTable(catalog: TestCatalog, table: object): Promise<void> {
  const path = `/management/projects/${catalog.projectId}/tables`;
  assert.equal((await service().call('POST', path, { body: table })).status, 201);
}

/** @returns once the change took effect, or immediately if there is nothing to delete or restore */
async function apply(catalog: TestCatalog, change: Change): Promise<void> {
  if ('decimal' in change) return putOntology(catalog, change.decimal);
  const task = await start(catalog, change);
  assert.equal(task?.taskStatus ?? 'FINISHED', 'FINISHED', JSON.stringify(task));
}

async function start(catalog: TestCatalog, change: Exclude<Change, { decimal: string }>) {
  if ('update' in change) return catalog.update(...change.update);
  if ('partial' in change) return catalog.patch(...change.partial);
  if ('commit' in change) return catalog.load(...change.commit);
  const answer =
    'delete' in change
      ? await catalog.call('DELETE', '/products', { body: { identifiers: change.delete } })
      : await catalog.post('/products/batch/restore');
  return answer.status === 400 ? undefined : catalog.done(answer);
}

/** Waits for all background work of the service. */
async function settled(catalog: TestCatalog): Promise<void> {
  for (const { id, finishTime } of await catalog.tasks()) if (finishTime === null) await service().ended(id);
}

/** @returns the number of compared pairs of products, each for every relation */
async function compareCatalog(catalog: TestCatalog, made: readonly Made[]): Promise<number> {
  const path = `/management/projects/${catalog.projectId}/products?limit=1000`;
  const products: OracleProduct[] = (await service().call('GET', path)).body.items;
  const relations = await consult(catalog, made, products);
  const sources = ['never there', ...products.map(({ identifier }) => identifier)];
  await compareBulk(catalog, relations, sources);
  for (const [index, source] of sources.slice(0, 6).entries()) {
    const limit = LIMITS[index % LIMITS.length] ?? 1;
    const answered = await askSingle(catalog, source, {
      includeTags: [{ tag: TAG, limitPerRelation: limit }],
    });
    compare(answered, expect(relations, source), { source, limit, isSingle: true });
  }
  return products.length ** 2 * made.length;
}

const PAIRS = Number(process.env.RELATA_TEST_PAIRS ?? 15_000);
/**
 * The random plays between two checks of the number of compared pairs. A play compares about 14,000 pairs.
 */
const PLAYS = 2;

test('random relations follow random catalogs through every kind of change (§3.3, §4.8, §11.5, §12.2, §12.3)', async (t) => {
  let pairs = 0;
  const play = fc.asyncProperty(
    fc.record({
      products: productsOf(10, 30),
      definitions: fc.array(definition, { minLength: 6, maxLength: 12, size: 'max' }),
      changes: fc.array(change, { minLength: 1, maxLength: 5, size: 'max' }),
      isDefinedFirst: fc.boolean(),
    }),
    async ({ products, definitions, changes, isDefinedFirst }) => {
      const catalog = await createCatalog(service());
      await putOntology(catalog, 'comma');
      for (const [name, list] of Object.entries(TABLES)) await putTable(catalog, { name, pairs: list });
      const early = isDefinedFirst ? await create(catalog, definitions) : undefined;
      await catalog.load(...products);
      const made = early ?? (await create(catalog, definitions));
      pairs += await compareCatalog(catalog, made);
      for (const change of changes) {
        await apply(catalog, change);
        if ('decimal' in change) {
          await settled(catalog);
          await built(catalog, made);
        }
        pairs += await compareCatalog(catalog, made);
      }
    },
  );
  const limits = { interruptAfterTimeLimit: 600_000, markInterruptAsFailure: true };
  while (pairs < PAIRS) await fc.assert(play, { numRuns: PLAYS, ...limits });
  t.diagnostic(`${pairs} pairs of a relation and two products`);
});
