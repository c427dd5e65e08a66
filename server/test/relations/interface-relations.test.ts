// runs: test, postgres test, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  BULK,
  createRelationCatalog,
  describeTags,
  encode,
  inEachWay,
  product,
  type Related,
  type RelationCatalog,
  rule,
  SINGLE,
  tagsOf,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const REFUSED = 'You are not allowed to access the requested resource';
const numbered = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`);
const first = (...identifiers: string[]): Omit<Related, 'id'> => ({
  matchType: 'FIRST_WAY',
  groups: identifiers.map((identifier) => [identifier]),
});
const second = (...identifiers: string[]) => ({ ...first(...identifiers), matchType: 'SECOND_WAY' });

/** Drills with a chuck and bits with a shank; D3 fits nothing. */
const TOOLS = [
  product('D1', 'Tools/Drills', { Chuck: 'SDS' }),
  product('D2', 'Tools/Drills', { Chuck: 'HEX' }),
  product('D3', 'Tools/Drills', { Chuck: 'other' }),
  product('B1', 'Tools/Bits', { Shank: 'SDS', Price: '3' }),
  product('B2', 'Tools/Bits', { Shank: 'SDS', Price: '2' }),
  product('B3', 'Tools/Bits', { Shank: 'HEX', Price: '1' }),
  product('B4', 'Tools/Bits'),
];
const BITS = {
  name: 'Bits',
  source: under('Tools', 'Drills'),
  target: under('Tools', 'Bits'),
  match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
  sort: [{ attribute: 'Price', direction: 'asc' }],
};

/** A catalog with tools, for tests that only read. */
async function createTools(): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...TOOLS);
  return catalog;
}

/** @returns the relation's answer for a product, without its id */
async function ask(catalog: RelationCatalog, identifier: string, { id }: { id: number }) {
  const related = await catalog.related(identifier, id);
  return related && { matchType: related.matchType, groups: related.groups };
}

/** @returns the names of a product's tags, each with the ids of its relations */
const outline = ({ tags }: AnyBody): [string, number[]][] =>
  tags.map(({ tag, relations }: AnyBody) => [tag, relations.map(({ id }: { id: number }) => id)]);

test('a one-way relation is FIRST_WAY, whichever side the product is on (§4.8 rules 1 and 2)', async () => {
  const catalog = await createTools();
  const bits = await catalog.relate(BITS);
  assert.deepEqual(await ask(catalog, 'D1', bits), first('B2', 'B1'));
  assert.deepEqual(await ask(catalog, 'B1', bits), first());
  assert.deepEqual(await ask(catalog, 'D3', bits), first());
});

test('a two-way relation is searched in the second direction only if the first leads to nothing (§4.8 rule 3, §12.3 rule 6)', async () => {
  const catalog = await createTools();
  await catalog.update(product('D4', 'Tools/Drills', { Chuck: 'SDS', Price: '1' }));
  const bits = await catalog.relate({ ...BITS, twoWay: true });
  assert.deepEqual(await ask(catalog, 'D1', bits), first('B2', 'B1'));
  assert.deepEqual(await ask(catalog, 'B1', bits), second('D4', 'D1'), 'sorted in the same way');
  assert.deepEqual(await ask(catalog, 'D3', bits), first(), 'nothing either way');
  assert.deepEqual(await ask(catalog, 'B4', bits), first());
  const cheaper = await catalog.relate({
    source: under('Tools', 'Bits'),
    target: under('Tools', 'Bits'),
    twoWay: true,
    match: [{ target: 'Price', operator: 'less', source: 'Price' }],
    sort: [{ attribute: 'Price', direction: 'desc' }],
  });
  assert.deepEqual(
    await ask(catalog, 'B1', cheaper),
    first('B2', 'B3'),
    'on both sides: the direction as defined',
  );
  assert.deepEqual(await ask(catalog, 'B2', cheaper), first('B3'));
  assert.deepEqual(await ask(catalog, 'B3', cheaper), second('B1', 'B2'));
  assert.deepEqual(await ask(catalog, 'D1', cheaper), first());
});

test('a relation without target products is omitted, and so is its tag (§4.8 rules 4 and 5)', async () => {
  const catalog = await createTools();
  const saws = await catalog.relate({ name: 'Blades', tag: 'blades', target: under('Tools', 'Blades') });
  const unused = await catalog.relate({ ...BITS, tag: 'blades', source: under('Tools', 'Saws') });
  const unmatched = await catalog.relate({ ...BITS, target: { identifiers: ['B4'] } });
  assert.deepEqual(
    [saws, unused, unmatched].map(({ state }) => state),
    ['ready', 'ready', 'ready'],
  );
  const request = {
    identifier: 'D1',
    includeTags: [{ tag: 'blades' }, { tag: 'accessories' }],
    includeRelations: [{ id: saws.id }],
  };
  assert.deepEqual(outline(await catalog.single(request)), [
    ['blades', [unused.id]],
    ['accessories', [unmatched.id]],
  ]);
  assert.deepEqual(await ask(catalog, 'D1', unused), first(), 'an empty source side is not a reason');
  assert.deepEqual(
    await ask(catalog, 'D1', unmatched),
    first(),
    'targets that nothing can match are not a reason either',
  );
  await catalog.manage('DELETE', `/${unused.id}`);
  assert.deepEqual(outline(await catalog.single(request)), [['accessories', [unmatched.id]]]);
  await catalog.update(product('S1', 'Tools/Blades'));
  assert.deepEqual(outline(await catalog.single(request)), [
    ['blades', [saws.id]],
    ['accessories', [unmatched.id]],
  ]);
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['S1'] }));
  assert.deepEqual(outline(await catalog.single(request)), [['accessories', [unmatched.id]]]);
});

test('misconfigured, disabled and unknown relations are omitted, and the remaining tags stay (§4.8 rules 5 and 15, §12.4)', async () => {
  const catalog = await createTools();
  const works = await catalog.relate({ tag: 'both' });
  const broken = await catalog.relate({
    tag: 'both',
    match: [{ target: 'No', operator: 'equals', source: 'No' }],
  });
  const alone = await catalog.relate({ tag: 'broken', source: { attribute: 'No', operator: 'exists' } });
  const disabled = await catalog.relate({ tag: 'disabled', enabled: false });
  assert.deepEqual(
    [works, broken, alone, disabled].map(({ state }) => state),
    ['ready', 'misconfigured', 'misconfigured', 'ready'],
  );
  const ids = [works, broken, alone, disabled].map(({ id }) => ({ id }));
  const tags = ['both', 'broken', 'disabled', 'never', 'Both', '__proto__', ''].map((tag) => ({ tag }));
  const unknown = [{ id: 4711 }, { id: 0 }, { id: -1 }];
  for (const request of inEachWay(catalog, 'D1', { includeTags: tags })) {
    assert.deepEqual(outline(tagsOf(await request(), 'D1')), [['both', [works.id]]]);
  }
  for (const request of inEachWay(catalog, 'D1', { includeRelations: [...unknown, ...ids] })) {
    assert.deepEqual(outline(tagsOf(await request(), 'D1')), [['both', [works.id]]]);
  }
  for (const request of inEachWay(catalog, 'D1', { includeTags: [{ tag: 'never' }] })) {
    assert.deepEqual(tagsOf(await request(), 'D1'), { tags: [] });
  }
});

test('a relation is omitted until its build is complete (§12.4 rule 2)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...numbered(3_000, 'P').map((identifier) => product(identifier, 'All')));
  const { answer, release } = await catalog.holdBack(() => catalog.manage('POST', '', rule()));
  const { status, body } = answer;
  assert.equal(status, 201);
  assert.equal((await catalog.read(body.id)).state, 'building');
  assert.equal(await ask(catalog, 'P0', body), undefined);
  await release();
  await catalog.settled();
  assert.equal((await ask(catalog, 'P0', body))?.groups.length, 100);
});

test('limits count groups, per relation and for each relation of a tag, with a default of 10 (§4.8 rule 7, §12.5 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  // 150 groups of two variants.
  const variants = numbered(150, 'G').flatMap((group) =>
    ['a', 'b'].map((end) => product(`${group}${end}`, 'All', { group })),
  );
  await catalog.load(product('S', 'Source'), ...variants);
  const relation = await catalog.relate({ target: under('All') });
  const other = await catalog.relate({ target: under('All') });
  const count = async (form: 'bulk' | 'single', included: object) => {
    const tags = form === 'single' ? await catalog.single({ identifier: 'S', ...included }) : undefined;
    const answer = tags ?? (await catalog.bulk({ identifiers: ['S'], ...included })).S;
    return describeTags(answer).map(({ groups }) => [groups.length, groups.flat().length]);
  };
  const cases: readonly [object, readonly number[]][] = [
    [{ includeRelations: [{ id: relation.id, limit: 1 }] }, [1]],
    [{ includeRelations: [{ id: relation.id, limit: 100 }, { id: other.id }] }, [100, 10]],
    [{ includeTags: [{ tag: 'accessories' }] }, [10, 10]],
    [{ includeTags: [{ tag: 'accessories', limitPerRelation: 3 }] }, [3, 3]],
    [{ includeTags: [{ tag: 'accessories', limitPerRelation: 100 }] }, [100, 100]],
  ];
  for (const [included, limits] of cases) {
    assert.deepEqual(
      await count('bulk', included),
      limits.map((limit) => [limit, 2 * limit]),
    );
    assert.deepEqual(
      await count('single', included),
      limits.map((limit) => [limit, limit]),
    );
  }
});

const BAD_LIMITS = [0, 101, -1, 1.5, 1e9, '5', 'text', '', null, true, [5]];

test('a limit that is not an integer from 1 to 100 is 400 with its path in the details (§4.8 rule 7, §7.4)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(BITS);
  for (const limit of BAD_LIMITS) {
    for (const [included, detail] of [
      [{ includeRelations: [{ id }, { id, limit }] }, '/includeRelations/1/limit'],
      [{ includeTags: [{ tag: 'accessories', limitPerRelation: limit }] }, '/includeTags/0/limitPerRelation'],
    ] as const) {
      for (const request of inEachWay(catalog, 'D1', included)) {
        const answer = await request();
        assertRefused(answer, 400);
        assert.ok(
          answer.body.details.some((line: string) => line.startsWith(detail)),
          JSON.stringify(answer.body),
        );
      }
    }
  }
});

test('tags are in the order of first mention, includeTags first, and each relation once with the larger limit (§4.8 rules 12 and 13)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...numbered(30, 'P').map((identifier) => product(identifier, 'All')));
  const made: AnyBody[] = [];
  for (const tag of ['z', 'a', 'z', 'm', 'a']) made.push(await catalog.relate({ tag }));
  const [z1, a2, z3, m4, a5] = made.map(({ id }) => id);
  const included = {
    includeRelations: [
      { id: m4 },
      { id: a5, limit: 9 },
      { id: z1, limit: 5 },
      { id: a5, limit: 2 },
      { id: a2, limit: 1 },
    ],
    includeTags: [
      { tag: 'a', limitPerRelation: 4 },
      { tag: 'z', limitPerRelation: 7 },
      { tag: 'a', limitPerRelation: 3 },
    ],
  };
  for (const request of inEachWay(catalog, 'P0', included)) {
    const answer = tagsOf(await request(), 'P0');
    assert.deepEqual(outline(answer), [
      ['a', [a2, a5]],
      ['z', [z1, z3]],
      ['m', [m4]],
    ]);
    assert.deepEqual(
      describeTags(answer).map(({ groups }) => groups.length),
      [4, 9, 7, 7, 10],
    );
  }
  const byId = { includeRelations: [{ id: z3 }, { id: m4 }, { id: z1 }] };
  for (const request of inEachWay(catalog, 'P0', byId)) {
    assert.deepEqual(outline(tagsOf(await request(), 'P0')), [
      ['z', [z1, z3]],
      ['m', [m4]],
    ]);
  }
});

test('a request without includeRelations and includeTags is 400 "Bad Request", and an empty list counts as missing (§4.8 rule 6, §7.4)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(BITS);
  const none: Record<string, unknown>[] = [
    {},
    { includeTags: [] },
    { includeRelations: [] },
    { includeTags: [], includeRelations: [] },
  ];
  for (const included of none) {
    for (const request of inEachWay(catalog, 'D1', included)) {
      const answer = await request();
      assertRefused(answer, 400, 'Bad Request');
      assert.equal(answer.body.details.length, 1, 'the cause is in the details');
    }
  }
  for (const query of [
    'includeTags=',
    'includeTags=&includeRelations=',
    'includeTags=%5B%5D&includeRelations=',
  ]) {
    assertRefused(await catalog.call('GET', `${SINGLE}?identifier=D1&${query}`), 400, 'Bad Request');
    assertRefused(await catalog.call('GET', `${BULK}?identifiers=D1&${query}`), 400, 'Bad Request');
  }
  for (const included of [
    { includeTags: [], includeRelations: [{ id }] },
    { includeTags: [{ tag: 'accessories' }], includeRelations: [] },
  ]) {
    for (const request of inEachWay(catalog, 'D1', included))
      assert.deepEqual(outline(tagsOf(await request(), 'D1')), [['accessories', [id]]]);
  }
});

test('parameters that are not valid JSON lists are 400 with details (§4.8, §7.4)', async () => {
  const catalog = await createTools();
  const texts = [
    '[',
    '{',
    'accessories',
    '[{"tag":"x"',
    '[{"tag":"x"},]',
    "[{'tag':'x'}]",
    '[] x',
    'null',
    '1',
    '"x"',
  ];
  const lists = [{ tag: 'x' }, [null], ['x'], [1], [[]], [{}], [{ tag: 1 }], [{ tag: null }]];
  const ids = [[{ id: '1' }], [{ id: 1.5 }], [{ id: null }], [{}], [7], { id: 1 }];
  for (const [name, values] of [
    ['includeTags', [...texts, ...lists]],
    ['includeRelations', [...texts, ...ids]],
  ] as const) {
    for (const value of values) {
      for (const path of [`${SINGLE}?identifier=D1`, `${BULK}?identifiers=D1`]) {
        const answer = await catalog.call('GET', `${path}&${encode({ [name]: value })}`);
        assertRefused(answer, 400);
        assert.match(answer.body.details[0], new RegExp(`^/${name}`), JSON.stringify(value));
      }
      if (typeof value === 'string') continue;
      assertRefused(await catalog.post(SINGLE, { identifier: 'D1', [name]: value }), 400);
      assertRefused(await catalog.post(BULK, { identifiers: ['D1'], [name]: value }), 400);
    }
  }
  for (const body of [undefined, '', '{', [], 'x']) {
    assertRefused(await catalog.post(SINGLE, body), 400);
    assertRefused(await catalog.post(BULK, body), 400);
  }
});

test('more than 30 relations and 30 tags in one request are answered (§4.8 rule 9)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(product('P0', 'All'), product('P1', 'All'));
  const relations = numbered(64, 'tag ').map((tag) => rule({ tag }));
  const { status, body } = await catalog.manage('POST', '/import', { relations });
  assert.equal(status, 200);
  await catalog.settled();
  const made: { id: number; tag: string }[] = body.items;
  const included = {
    includeTags: made.slice(0, 32).map(({ tag }) => ({ tag })),
    includeRelations: made.slice(32).map(({ id }) => ({ id })),
  };
  for (const request of inEachWay(catalog, 'P0', included)) {
    const answer = tagsOf(await request(), 'P0');
    assert.deepEqual(
      describeTags(answer),
      made.map(({ id }) => ({ id, ...first('P1') })),
    );
  }
});

test('1,000 identifiers are answered, and 1,001 are 400 "Bad Request" with the cause in details (§4.8 rule 8, §7.4, §8)', async () => {
  const catalog = await createTools();
  const { id } = await catalog.relate(BITS);
  const included = { includeRelations: [{ id, limit: 1 }] };
  const query = (identifiers: readonly string[]) => `${BULK}?${encode({ identifiers, ...included })}`;
  const repeated = (identifiers: readonly string[]) =>
    `${BULK}?${identifiers.map((identifier) => `identifiers=${identifier}`).join('&')}&${encode(included)}`;
  const thousand = ['D1', ...numbered(999, 'SKU-00000000000')];
  for (const answer of [
    await catalog.call('GET', query(thousand)),
    await catalog.call('GET', repeated(thousand)),
    await catalog.post(BULK, { identifiers: thousand, ...included }),
  ]) {
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body), thousand);
    assert.deepEqual(describeTags(answer.body.D1), [{ id, ...first('B2') }]);
  }
  const more = [...thousand, 'one more'];
  const same = [...thousand, 'D1'];
  for (const answer of [
    await catalog.call('GET', query(more)),
    await catalog.call('GET', repeated(more)),
    await catalog.post(BULK, { identifiers: more, ...included }),
    await catalog.call('GET', query(same)),
    await catalog.post(BULK, { identifiers: same, ...included }),
  ]) {
    assertRefused(answer, 400, 'Bad Request');
    assert.match(answer.body.details.join(), /1001.*1000/);
  }
});

test('a request may have up to 300,000 groups, and a tag counts for each of its relations (§4.8 rule 10, §8)', async () => {
  const catalog = await createTools();
  const ids = [await catalog.relate(BITS), await catalog.relate(BITS)].map(({ id }) => id as number);
  await catalog.relate({ ...BITS, enabled: false });
  const identifiers = numbered(500, 'P');
  const [firstId = 0] = ids;
  // 500 × (2 × 100 + 4 × 100), and 491 × (2 × 100 + 4 × 100 + 11) = 300,001.
  const included = {
    includeTags: [
      { tag: 'accessories', limitPerRelation: 100 },
      { tag: 'never', limitPerRelation: 100 },
    ],
    includeRelations: Array.from({ length: 4 }, () => ({ id: firstId, limit: 100 })),
  };
  const larger = {
    ...included,
    includeRelations: [...included.includeRelations, { id: firstId, limit: 11 }],
  };
  const odd = identifiers.slice(0, 491);
  for (const answer of [
    await catalog.post(BULK, { identifiers, ...included }),
    await catalog.call('GET', `${BULK}?${encode({ identifiers, ...included })}`),
  ]) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(Object.keys(answer.body).length, 500);
  }
  for (const answer of [
    await catalog.post(BULK, { identifiers: odd, ...larger }),
    await catalog.call('GET', `${BULK}?${encode({ identifiers: odd, ...larger })}`),
  ]) {
    assertRefused(answer, 400);
    assert.match(answer.body.details.join(), /300001.*300000/);
  }
  assert.equal((await catalog.post(BULK, { identifiers: odd.slice(1), ...larger })).status, 200);
});

test('identifiers are encoded as in the lookup, and each appears once, in the order of the request (§4.2 rules 2 to 6, §4.8 rule 14)', async () => {
  const catalog = await createRelationCatalog(service());
  const odd = ['["x"', 'A,B', ' A', '"A"', '+', 'a&b=c', '{', '__proto__', 'constructor', 'ü "😀"', '7'];
  await catalog.load(
    ...['A', 'B', ...odd].map((identifier) => product(identifier, 'All')),
    product('T', 'Target'),
  );
  const { id } = await catalog.relate({ target: under('Target') });
  const included = encode({ includeRelations: [{ id }] });
  const keys = async (query: string) => {
    const answer = await catalog.call('GET', `${BULK}?${query}&${included}`);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    for (const [identifier, entry] of Object.entries(answer.body))
      assert.deepEqual(describeTags(entry), [{ id, ...first(...(identifier === 'never' ? [] : ['T'])) }]);
    return Object.keys(answer.body);
  };
  assert.deepEqual(await keys('identifiers=["B","never","A","B"]'), ['B', 'never', 'A']);
  assert.deepEqual(await keys('identifiers=A&identifiers=never&x=1&identifiers=B&identifiers=A'), [
    'A',
    'never',
    'B',
  ]);
  assert.deepEqual(await keys('identifiers=A&identifiers=__proto__'), ['A', '__proto__']);
  assert.deepEqual(await keys('identifiers=[]'), []);
  for (const text of odd.filter((name) => !/^[[{]/.test(name)))
    assert.deepEqual(await keys(`identifiers=${encodeURIComponent(text)}`), [text]);
  assert.deepEqual((await keys(encode({ identifiers: odd }))).toSorted(), odd.toSorted());
  for (const query of [
    '',
    'identifiers',
    'identifiers=',
    'identifiers=A&identifiers=',
    'identifiers=%5B1%5D',
    'identifiers=%5BA',
  ]) {
    assertRefused(await catalog.call('GET', `${BULK}?${query}&${included}`), 400);
  }
  for (const identifiers of [undefined, null, 'A', [1], [null], {}])
    assertRefused(await catalog.post(BULK, { identifiers, includeRelations: [{ id }] }), 400);
});

test('an unknown product is answered with empty results (§4.8 rule 14)', async () => {
  const catalog = await createTools();
  const bits = await catalog.relate({ ...BITS, twoWay: true });
  const unknown = ['never', 'd1', 'D1 ', 'x'.repeat(255), 'D1\u0000', '\ud800', '__proto__'];
  const included = { includeTags: [{ tag: 'accessories' }] };
  const bulk = await catalog.bulk({ identifiers: unknown, ...included });
  assert.deepEqual(Object.keys(bulk), unknown);
  for (const product of unknown) {
    assert.deepEqual(describeTags(bulk[product]), [{ id: bits.id, ...first() }]);
    assert.deepEqual(describeTags(await catalog.single({ identifier: product, ...included })), [
      { id: bits.id, ...first() },
    ]);
  }
  const query = encode(included);
  assert.equal((await catalog.call('GET', `${SINGLE}?identifier=never&${query}`)).status, 200);
  for (const bad of ['', 'identifier=', 'identifier=D1&identifier=D2', `identifier=${'x'.repeat(256)}`])
    assertRefused(await catalog.call('GET', `${SINGLE}?${bad}&${query}`), 400);
  for (const identifier of [undefined, null, '', 1, ['D1']])
    assertRefused(await catalog.post(SINGLE, { identifier, ...included }), 400);
});

/** A product with all fields that answers show. */
const RICH = {
  identifier: 'R',
  name: 'Saw "blade" ä',
  groupIdentifier: 'R',
  productUrl: 'https://shop.example/p/r',
  categories: [
    { path: ['Sale', 'Winter'], priority: 5, categoryId: 7 },
    { path: ['Parts', 'Blades'], priority: 2 },
    { path: ['Parts', 'Late'], priority: 2 },
    { path: ['Parts'] },
  ],
  images: [
    { url: 'small', type: 'SMALL' },
    { url: 'large', type: 'LARGE' },
    { url: 'larger', type: 'LARGE' },
  ],
  attributes: [
    { key: 'brand', value: 'Äcme' },
    { key: 'Length', value: '12.50 in' },
    { key: 'Price', value: '19,99 €', userGroups: ['trade'] },
    { key: 'Count', value: '-3e2' },
    { key: 'New', value: 'TRUE' },
    { key: 'Since', value: '2026-01-31' },
    { key: 'Maße', value: 'groß' },
    { key: 'Unknown', value: 'makes no fact' },
  ],
};
const attribute = (name: string, type: string, more: object = {}) => ({
  name,
  type: `${type}_ATTRIBUTE`,
  ...more,
});
const RICH_ONTOLOGY = [
  attribute('brand', 'TEXT'),
  attribute('Length', 'NUMERIC', { unitName: 'in' }),
  attribute('Price', 'NUMERIC', { unitName: '€', decimal: 'comma' }),
  attribute('Count', 'NUMERIC'),
  attribute('New', 'BOOLEAN'),
  attribute('Since', 'DATE'),
  attribute('Maße', 'UNTYPED'),
];
const MEASURES: Readonly<Record<string, object>> = {
  Length: { parsedValue: 12.5, unit: 'in' },
  Price: { parsedValue: 19.99, unit: '€' },
  Count: { parsedValue: -300 },
};
const NAMES = [
  { locale: 'de-DE', name: 'Passende Blätter' },
  { locale: 'en', name: 'Blades' },
];

/** A catalog in which S leads to the group R and to the product BARE, which only has a name. */
async function createRich(): Promise<{ catalog: RelationCatalog; id: number }> {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', ...RICH_ONTOLOGY);
  await catalog.load(
    product('S', 'Source'),
    RICH,
    product('R-2', 'Parts', { group: 'R', Length: '2 in' }),
    product('R-1', 'Parts', { group: 'R', Length: '1 in' }),
    { identifier: 'BARE', name: 'bare' },
  );
  const { id } = await catalog.relate({
    name: 'Blades "and" more',
    tag: 'parts',
    names: NAMES,
    source: under('Source'),
    target: { not: under('Source') },
    sort: [{ attribute: 'Length', direction: 'asc' }],
  });
  return { catalog, id };
}

test('a bulk answer has exactly the fields of §2.5 with the values of §12.5', async () => {
  const { catalog, id } = await createRich();
  const [full, bare] = await catalog.find('R', 'BARE');
  const answer = await catalog.bulk({ identifiers: ['S'], includeTags: [{ tag: 'parts' }] });
  const [tag] = answer.S.tags;
  const [[low, high, rich], [last]] = tag.relations[0].searchResult;
  const facts = full.facts.map(({ attribute: key, valueId, value }: AnyBody) => ({
    id: valueId,
    conceptIdName: key.toUpperCase(),
    key,
    type: 'PASS_ON',
    value,
    isCategory: false,
    ...MEASURES[key],
  }));
  assert.equal(facts.length, RICH.attributes.length - 1);
  assert.equal(facts.find(({ key }: AnyBody) => key === 'Maße').conceptIdName, 'MASSE');
  const main = { id: full.categories[1].categoryId, value: 'Blades', isCategory: true };
  assert.deepEqual(rich, {
    identifier: 'R',
    groupId: 'R',
    sxId: full.id,
    name: 'Saw "blade" ä',
    link: 'https://shop.example/p/r',
    dataPoints: [...facts, { ...main, conceptIdName: 'CATEGORY', key: 'Category', type: 'PASS_ON' }],
    image: 'large',
    images: RICH.images,
    head: true,
    relevance: 999_998,
  });
  assert.deepEqual(last, {
    identifier: 'BARE',
    groupId: 'BARE',
    sxId: bare.id,
    name: 'bare',
    link: '',
    image: '',
    images: [],
    dataPoints: [],
    head: true,
    relevance: 999_997,
  });
  const variants = [low, high].map(({ identifier, groupId, head, relevance }) => [
    identifier,
    groupId,
    head,
    relevance,
  ]);
  assert.deepEqual(variants, [
    ['R-1', 'R', false, 1_000_000],
    ['R-2', 'R', false, 999_999],
  ]);
  const { searchResult, ...relation } = tag.relations[0];
  assert.equal(searchResult.length, 2);
  const head = { name: 'Blades "and" more', id, matchType: 'FIRST_WAY', localization: { names: NAMES } };
  assert.deepEqual({ ...tag, relations: [relation] }, { tag: 'parts', relations: [head] });
  assert.deepEqual(Object.keys(answer), ['S']);
});

test('a single answer is flat and has the best variant of each group with exactly the fields of §2.5 (§12.5 rule 3)', async () => {
  const { catalog, id } = await createRich();
  const ids = Object.fromEntries(
    (await catalog.find('R', 'R-1', 'BARE')).map((product) => [product.identifier, product.id]),
  );
  const answer = await catalog.single({ identifier: 'S', includeTags: [{ tag: 'parts' }] });
  const empty = { brand: '', category: '', image: '', link: '' };
  const best = {
    identifier: 'R-1',
    groupId: 'R',
    sxId: ids['R-1'],
    name: 'R-1',
    ...empty,
    category: 'Parts',
    relevance: 1_000_000,
  };
  const bare = {
    identifier: 'BARE',
    groupId: 'BARE',
    sxId: ids.BARE,
    name: 'bare',
    ...empty,
    relevance: 999_999,
  };
  const relation = { name: 'Blades "and" more', id, matchType: 'FIRST_WAY' };
  assert.deepEqual(answer, {
    tags: [{ tag: 'parts', relations: [{ ...relation, searchResult: [best, bare] }] }],
  });
  const rich = await catalog.relate({ source: under('Source'), target: { identifiers: ['R'] } });
  const [tag] = (await catalog.single({ identifier: 'S', includeRelations: [{ id: rich.id }] })).tags;
  assert.deepEqual(tag.relations[0].searchResult, [
    {
      identifier: 'R',
      groupId: 'R',
      sxId: ids.R,
      name: 'Saw "blade" ä',
      link: 'https://shop.example/p/r',
      brand: 'Äcme',
      category: 'Blades',
      image: 'large',
      relevance: 1_000_000,
    },
  ]);
});

test('without priorities the first category is the main one, and without a LARGE image the first image (§12.5 rules 7 and 8)', async () => {
  const catalog = await createRelationCatalog(service());
  const images = ['SMALL', 'THUMB'].map((type) => ({ url: `${type}.jpg`, type }));
  const categories = [{ path: ['A', 'B'] }, { path: ['C'] }];
  await catalog.load({ identifier: 'S' }, { identifier: 'T', images, categories });
  const { id } = await catalog.relate({ target: { identifiers: ['T'] } });
  const show = async () => {
    const [tag] = (await catalog.single({ identifier: 'S', includeRelations: [{ id }] })).tags;
    const { category, image } = tag.relations[0].searchResult[0];
    return [category, image];
  };
  assert.deepEqual(await show(), ['B', 'SMALL.jpg']);
  await catalog.patch({
    identifier: 'T',
    categories: [{ path: ['A'] }, { path: ['C'], priority: 9 }],
    image: 'front.jpg',
  });
  assert.deepEqual(await show(), ['C', 'front.jpg'], 'a category with a priority precedes one without');
  await catalog.patch({
    identifier: 'T',
    categories: [
      { path: ['A'], priority: 0 },
      { path: ['C'], priority: -1 },
    ],
  });
  assert.deepEqual(await show(), ['C', 'front.jpg']);
});

test('brand is the attribute Brand in any case, or the one that the project names, effective immediately (§12.5 rule 9, §14.2)', async () => {
  const catalog = await createRelationCatalog(service());
  const values = { BRAND: 'Acme', Maker: 'Bolt', 'maker 2': 'no' };
  await catalog.load(product('S', 'A'), product('T', 'B', values));
  const { id } = await catalog.relate({ target: under('B') });
  const brand = async () => {
    const [tag] = (await catalog.single({ identifier: 'S', includeRelations: [{ id }] })).tags;
    return tag.relations[0].searchResult[0].brand;
  };
  const setBrand = async (brandAttribute: string) => {
    const path = `/management/projects/${catalog.projectId}`;
    const { status } = await service().call('PATCH', path, { body: { settings: { brandAttribute } } });
    assert.equal(status, 200);
  };
  assert.equal(await brand(), 'Acme');
  await setBrand('MAKER');
  assert.equal(await brand(), 'Bolt');
  await setBrand('Nothing');
  assert.equal(await brand(), '');
});

test('GET and POST answer the same, packed or not, computed or cached (§4.8 rule 11)', async () => {
  const { catalog } = await createRich();
  const included = { includeTags: [{ tag: 'parts', limitPerRelation: 2 }] };
  const bulk = { identifiers: ['S', 'R', 'never'], ...included };
  const single = { identifier: 'S', ...included };
  for (const [path, body] of [
    [BULK, bulk],
    [SINGLE, single],
  ] as const) {
    const got = await catalog.call('GET', `${path}?${encode(body)}`);
    const packed = await catalog.post(path, gzipSync(JSON.stringify(body)), { 'content-encoding': 'gzip' });
    for (const answer of [got, packed, await catalog.post(path, body), await catalog.post(path, body)]) {
      assert.deepEqual([answer.status, answer.body], [200, got.body]);
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
  }
});

test('keys with read access may read only relations of their own project (§5.1 rules 7 and 8, §5.2, §7.2)', async () => {
  const catalog = await createTools();
  const other = await createRelationCatalog(service());
  await catalog.relate(BITS);
  const makeKey = async (projectId: number, access: string): Promise<string> => {
    const body = { name: 'k', scope: { type: 'project', id: projectId }, access };
    return (await service().call('POST', '/management/api-keys', { body })).body.key;
  };
  const included = { includeTags: [{ tag: 'accessories' }] };
  const paths = [
    `${BULK}?${encode({ identifiers: ['D1'], ...included })}`,
    `${SINGLE}?${encode({ identifier: 'D1', ...included })}`,
  ];
  const [reader, foreign] = [
    await makeKey(catalog.projectId, 'read'),
    await makeKey(other.projectId, 'manage'),
  ];
  for (const path of paths) {
    assert.equal((await catalog.call('GET', path, { key: reader })).status, 200);
    assert.equal((await service().call('GET', path, { key: reader })).status, 200, 'its only project');
    const inUrl = await catalog.call('GET', `${path}&apiKey=${reader}`, { key: null });
    assert.deepEqual([inUrl.status, inUrl.headers.has('deprecation')], [200, true]);
    assertRefused(await catalog.call('GET', path, { key: foreign }), 401, REFUSED);
    assertRefused(await catalog.call('GET', path, { key: 'unknown' }), 401, REFUSED);
    assertRefused(await catalog.call('GET', path, { key: null }), 401, 'No token set');
    assertRefused(await catalog.call('GET', path, { key: '' }), 401, 'No token set');
    assertRefused(await service().call('GET', path), 400, /projectId/);
    assertRefused(await service().call('GET', `${path.split('?')[0]}?projectId=4711`), 401, REFUSED);
    const [empty] = Object.values((await other.call('GET', path)).body);
    assert.deepEqual((empty as AnyBody).tags ?? empty, [], 'a project has its own relations');
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await service().call(method, path, { key: null });
      assertRefused(answer, 405);
      assert.deepEqual(answer.headers.get('allow')?.split(', '), ['GET', 'HEAD', 'POST']);
    }
  }
});
