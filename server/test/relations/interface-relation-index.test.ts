// runs: deep, postgres long, citus long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createRelationCatalog,
  describeTags,
  product,
  type RelationCatalog,
  rule,
  under,
} from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const numbered = (count: number, letter: string) =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(4, '0')}`);

/** @returns the related identifiers of a product by group, or undefined if the relation is left out */
async function groupsOf(catalog: RelationCatalog, identifier: string, { id }: { id: number }) {
  return (await catalog.related(identifier, id))?.groups;
}

/** @returns the related identifiers of a product in order */
const listOf = async (catalog: RelationCatalog, identifier: string, relation: { id: number }) =>
  (await groupsOf(catalog, identifier, relation))?.flat();

const remove = async (catalog: RelationCatalog, ...identifiers: string[]) =>
  catalog.done(await catalog.call('DELETE', '/products', { body: identifiers }));
const restore = async (catalog: RelationCatalog) =>
  catalog.done(await catalog.post('/products/batch/restore'));
const commit = async (catalog: RelationCatalog) => catalog.done(await catalog.post('/products/batch/start'));

async function stage(catalog: RelationCatalog, ...products: object[]): Promise<void> {
  assert.equal((await catalog.post('/products/batch/initiate')).status, 200);
  assert.equal((await catalog.post('/products/batch/upload', { products })).status, 200);
}

const FITS = {
  source: under('Drills'),
  target: under('Bits'),
  match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
  sort: [{ attribute: 'Length', direction: 'asc' }],
};
const numeric = (name: string, unitName?: string) => ({
  name,
  type: 'NUMERIC_ATTRIBUTE',
  ...(unitName !== undefined && { unitName }),
});
const text = (name: string) => ({ name, type: 'TEXT_ATTRIBUTE' });
const DRILL = product('D', 'Drills', { Chuck: 'SDS' });
const bit = (identifier: string, length: string, more: Record<string, string> = {}) =>
  product(identifier, 'Bits', { Shank: 'SDS', Length: length, ...more });

/** A drill with three bits, the shortest first, with an ontology in the mode own. */
async function createDrill(): Promise<{ catalog: RelationCatalog; fits: AnyBody }> {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', text('Chuck'), text('Shank'), numeric('Length', 'in'));
  await catalog.load(DRILL, bit('B3', '3 in'), bit('B1', '1 in'), bit('B2', '2 in'));
  return { catalog, fits: await catalog.relate(FITS) };
}

test('an incremental update adds products to answers, moves them and removes them (§3.3)', async () => {
  const { catalog, fits } = await createDrill();
  const bits = () => groupsOf(catalog, 'D', fits);
  assert.deepEqual(await bits(), [['B1'], ['B2'], ['B3']]);
  await catalog.update(bit('B0', '0.5 in'), bit('B1', '9 in'));
  assert.deepEqual(await bits(), [['B0'], ['B2'], ['B3'], ['B1']], 'a new product, and another place');
  await catalog.update(bit('B0', '0.5 in', { group: 'G' }), bit('B3', '3 in', { group: 'G' }));
  assert.deepEqual(await bits(), [['B0', 'B3'], ['B2'], ['B1']], 'in a group');
  await catalog.update(product('B2', 'Bits'), product('B0', 'Saws', { Shank: 'SDS', group: 'G' }));
  assert.deepEqual(await bits(), [['B3'], ['B1']], 'without the attribute, in another category');
  await catalog.update(product('D', 'Drills', { Chuck: 'HEX' }));
  assert.deepEqual(await bits(), []);
  await catalog.update(DRILL, bit('B2', '2'));
  assert.deepEqual(await bits(), [['B3'], ['B1'], ['B2']], 'a value without its unit does not count (§11.3)');
});

test('a partial update moves products according to the attributes that it sends (§3.3)', async () => {
  const { catalog, fits } = await createDrill();
  const bits = () => listOf(catalog, 'D', fits);
  await catalog.patch({ identifier: 'B1', attributes: { Length: '9 in' } });
  assert.deepEqual(await bits(), ['B2', 'B3', 'B1']);
  await catalog.patch({ identifier: 'B3', attributes: { Length: null } });
  assert.deepEqual(await bits(), ['B2', 'B1', 'B3']);
  await catalog.patch({ identifier: 'B2', attributes: { Shank: null } });
  assert.deepEqual(await bits(), ['B1', 'B3']);
  await catalog.patch({ identifier: 'B2', attributes: { Shank: ['HEX', 'SDS'], Length: ['7 in', '99 in'] } });
  assert.deepEqual(await bits(), ['B2', 'B1', 'B3']);
  await catalog.patch({ identifier: 'B1', categories: [{ path: ['Saws'] }] });
  await catalog.patch({ identifier: 'B3', groupIdentifier: 'D' });
  assert.deepEqual(await bits(), ['B2'], 'not its own group (§12.3 rule 2)');
  await catalog.patch({ identifier: 'never', attributes: { Shank: 'SDS' } });
  assert.deepEqual(await bits(), ['B2']);
});

test('a full update appears in answers exactly at its commit, and deleted products disappear (§3.3 rule 2)', async () => {
  const { catalog, fits } = await createDrill();
  const bits = () => listOf(catalog, 'D', fits);
  await stage(catalog, DRILL, bit('B3', '3 in'), bit('B2', '7 in'), bit('B4', '4 in'));
  assert.deepEqual(await bits(), ['B1', 'B2', 'B3']);
  const late = await catalog.relate({ ...FITS, name: 'made between upload and commit' });
  await commit(catalog);
  assert.deepEqual(await bits(), ['B3', 'B4', 'B2']);
  assert.deepEqual(await listOf(catalog, 'D', late), ['B3', 'B4', 'B2']);
  await restore(catalog);
  for (const relation of [fits, late])
    assert.deepEqual(await listOf(catalog, 'D', relation), ['B1', 'B2', 'B3']);
  await stage(catalog, product('other', 'Other'));
  await commit(catalog);
  assert.equal(await bits(), undefined, 'the target side is empty (§4.8 rule 5)');
  await restore(catalog);
  assert.deepEqual(await bits(), ['B1', 'B2', 'B3']);
});

test('a product written by other calls between upload and commit is answered once, with its id (§2.2 rule 2)', async () => {
  const { catalog, fits } = await createDrill();
  await stage(catalog, DRILL, bit('B1', '1 in'), bit('B2', '2 in'), bit('NEW', '5 in'));
  await remove(catalog, 'B1');
  await catalog.update(bit('NEW', '0.1 in'), bit('B2', '8 in'), bit('B3', '4 in'));
  await commit(catalog);
  assert.deepEqual(await groupsOf(catalog, 'D', fits), [['B1'], ['B2'], ['NEW']]);
  const [tag] = (await catalog.single({ identifier: 'D', includeRelations: [{ id: fits.id }] })).tags;
  const products = await catalog.find('B1', 'B2', 'NEW');
  assert.deepEqual(
    tag.relations[0].searchResult.map(({ sxId }: AnyBody) => sxId),
    products.map(({ id }) => id),
  );
});

test('deleted products leave answers and return with a restore, even in relations created in between (§3.3)', async () => {
  const { catalog, fits } = await createDrill();
  await remove(catalog, 'B1', 'B2');
  assert.deepEqual(await listOf(catalog, 'D', fits), ['B3']);
  const late = await catalog.relate({ ...FITS, sort: [{ attribute: 'Length', direction: 'desc' }] });
  assert.deepEqual(await listOf(catalog, 'D', late), ['B3']);
  await restore(catalog);
  assert.deepEqual(await listOf(catalog, 'D', fits), ['B1', 'B2', 'B3']);
  assert.deepEqual(await listOf(catalog, 'D', late), ['B3', 'B2', 'B1']);
  await remove(catalog, 'D');
  assert.deepEqual(await listOf(catalog, 'D', fits), [], 'of a product that is gone');
  await catalog.update(DRILL);
  assert.deepEqual(await listOf(catalog, 'D', fits), ['B1', 'B2', 'B3']);
});

test('answers follow a changed reading of values once the re-extraction is FINISHED (§11.5 rule 4, §12.4 rule 3)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', text('Chuck'), text('Shank'), numeric('Length', 'in'));
  const others = numbered(5_000, 'X').map((identifier) => product(identifier, 'Other'));
  const lengths = ['9 in', '10 in', '1 cm', '2 cm', '5'].map((value) => bit(`B ${value}`, value));
  await catalog.load(DRILL, ...lengths, ...others);
  const fits = await catalog.relate(FITS);
  const long = await catalog.relate({ ...FITS, target: { attribute: 'Length', operator: 'exists' } });
  const show = async () => [await listOf(catalog, 'D', fits), await listOf(catalog, 'D', long)];
  const rest = (...none: string[]) => none.map((value) => `B ${value}`);
  const states: readonly [object, readonly string[], readonly string[]][] = [
    [numeric('Length', 'in'), rest('9 in', '10 in'), rest('1 cm', '2 cm', '5')],
    [numeric('Length', 'cm'), rest('1 cm', '2 cm'), rest('10 in', '5', '9 in')],
    [numeric('Length'), rest('5'), rest('1 cm', '10 in', '2 cm', '9 in')],
    [text('Length'), rest('1 cm', '10 in', '2 cm', '5', '9 in'), []],
  ];
  const expected = states.map(([, first, last]) => [new Set([...first, ...last]), first] as const);
  for (const [index, [length, first, last]] of states.entries()) {
    if (index > 0) {
      const before = await show();
      const { release } = await catalog.holdBack(() =>
        catalog.putOntology('own', text('Chuck'), text('Shank'), length),
      );
      assert.deepEqual(await show(), before, 'while the extraction is under way');
      await release();
      await catalog.settled();
    }
    const [all = [], some = []] = await show();
    assert.deepEqual(new Set(all), expected[index]?.[0]);
    assert.deepEqual(all.slice(0, first.length), first);
    assert.deepEqual(
      all.slice(first.length).toSorted(),
      last.toSorted(),
      'products without a value come last',
    );
    assert.deepEqual(some, first);
  }
});

test('synonyms and decimals of an attribute count in relations as they do in facts (§11.1 rule 7, §11.3 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  const length = numeric('Length', 'cm');
  await catalog.putOntology('own', text('Chuck'), text('Shank'), length);
  await catalog.load(
    DRILL,
    bit('A', '2,5 cm'),
    bit('B', '2.4 cm'),
    product('C', 'Bits', { Shank: 'SDS', Länge: '2,6 cm' }),
  );
  const fits = await catalog.relate({
    ...FITS,
    target: { attribute: 'Length', operator: 'greater', value: 1 },
  });
  assert.deepEqual(await listOf(catalog, 'D', fits), ['B']);
  await catalog.putOntology('own', text('Chuck'), text('Shank'), {
    ...length,
    decimal: 'comma',
    synonyms: ['Länge'],
  });
  await catalog.settled();
  assert.deepEqual(await listOf(catalog, 'D', fits), ['A', 'C']);
  await catalog.update(product('C', 'Bits', { Shank: 'SDS', Länge: '1,1 cm' }));
  assert.deepEqual(await listOf(catalog, 'D', fits), ['C', 'A']);
});

test('projects do not share catalogs or relations, even with equal identifiers and ids (§4.10)', async () => {
  const [mine, theirs] = [await createDrill(), await createDrill()];
  assert.equal(mine.fits.id, theirs.fits.id);
  await mine.catalog.update(bit('B1', '9 in'));
  await theirs.catalog.update(bit('OTHER', '9 in'));
  assert.deepEqual(await listOf(mine.catalog, 'D', mine.fits), ['B2', 'B3', 'B1']);
  assert.deepEqual(await listOf(theirs.catalog, 'D', theirs.fits), ['B1', 'B2', 'B3', 'OTHER']);
  await mine.catalog.manage('DELETE', `/${mine.fits.id}`);
  await theirs.catalog.update(bit('B1', '10 in'));
  assert.equal(await listOf(mine.catalog, 'D', mine.fits), undefined);
  assert.deepEqual(await listOf(theirs.catalog, 'D', theirs.fits), ['B2', 'B3', 'OTHER', 'B1']);
});

test('the first answer after a task is FINISHED shows its effect although answers are cached (§3.2)', async () => {
  const { catalog, fits } = await createDrill();
  const others = numbered(60, 'X').map((identifier) => product(identifier, 'Other'));
  for (let round = 1; round <= 20; round += 1) {
    const length = `${(round * 7) % 20}.5 in`;
    const changed = `B${1 + (round % 3)}`;
    await (round % 2 === 0
      ? catalog.update(bit(changed, length), ...others)
      : catalog.patch({ identifier: changed, attributes: { Length: length } }));
    const answers = [await catalog.related('D', fits.id), await catalog.related('D', fits.id)];
    const bits = await Promise.all(['B1', 'B2', 'B3'].map((identifier) => catalog.stored(identifier)));
    const sizeOf = ({ attributes }: AnyBody) =>
      Number.parseFloat(attributes.find(({ key }: AnyBody) => key === 'Length').value);
    const sorted = bits.toSorted((a, b) => sizeOf(a) - sizeOf(b)).map(({ identifier }) => identifier);
    for (const answer of answers) assert.deepEqual(answer?.groups.flat(), sorted);
  }
});

const TARGETS = numbered(20, 'T');
const KEPT = TARGETS.slice(5);
const SOURCES = numbered(4, 'S');

/** Every product has the version in its name and in an attribute. */
const versioned = (version: number) =>
  [...SOURCES, ...TARGETS].map((identifier) => ({
    ...product(identifier, identifier.startsWith('S') ? 'Sources' : 'Targets', { Version: `${version}` }),
    name: `${identifier} v${version}`,
  }));

/** Brings the whole catalog to `version`, or deletes some products and brings them back. */
async function write(catalog: RelationCatalog, version: number): Promise<void> {
  const products = versioned(version);
  const patches = products.map(({ identifier, name }) => ({
    identifier,
    name,
    attributes: { Version: `${version}` },
  }));
  const ways = [
    () => catalog.update(...products),
    () => catalog.patch(...patches),
    () => catalog.load(...products),
    () => remove(catalog, ...TARGETS.slice(0, 5)),
    () => restore(catalog),
  ];
  const task = await ways[version % ways.length]?.();
  assert.equal(task.taskStatus, 'FINISHED');
}

/** Makes one request and compares the answer with lookups before and after. @returns the version of the answer */
async function watch(catalog: RelationCatalog, relation: { id: number }): Promise<number> {
  const versionOf = ({ name }: { name: string }) => Number(name.split(' v')[1]);
  const readVersion = async () => versionOf((await catalog.find('S0000'))[0]);
  const before = await readVersion();
  const answer = await catalog.bulk({
    identifiers: ['S0000', 'T0019', 'S0003'],
    includeRelations: [{ id: relation.id, limit: 100 }],
  });
  const after = await readVersion();
  const versions = ['S0000', 'T0019', 'S0003'].map((requested) => {
    const [{ matchType, searchResult }] = answer[requested].tags[0].relations;
    const items: AnyBody[] = searchResult.flat();
    const [version = -1, ...others] = new Set(items.map(versionOf));
    assert.deepEqual(others, [], 'an answer shows one moment');
    assert.ok(before <= version && version <= after, `${before} <= ${version} <= ${after}`);
    for (const { identifier, name, dataPoints } of items) {
      assert.equal(name, `${identifier} v${version}`);
      assert.equal(dataPoints.find(({ key }: AnyBody) => key === 'Version').value, `${version}`);
    }
    const identifiers = items.map(({ identifier }) => identifier);
    if (requested.startsWith('T')) {
      assert.deepEqual([matchType, identifiers], ['SECOND_WAY', SOURCES]);
    } else {
      // Only answers of a full update (`version % 5` is 2) may lack products, because the next change deletes
      // some.
      const isWhole = identifiers.length === TARGETS.length || version % 5 !== 2;
      assert.deepEqual([matchType, identifiers], ['FIRST_WAY', isWhole ? TARGETS : KEPT]);
    }
    return version;
  });
  return Math.max(...versions);
}

test('during updates, deletes and restores every answer shows one state of the catalog (§3.3 rule 2, §12.3 rule 1)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(...versioned(0));
  const relation = await catalog.relate({
    source: under('Sources'),
    target: under('Targets'),
    twoWay: true,
    match: [{ target: 'Version', operator: 'equals', source: 'Version' }],
  });
  let isWriting = true;
  const seen = new Set<number>();
  const readers = Array.from({ length: 3 }, async () => {
    while (isWriting) seen.add(await watch(catalog, relation));
  });
  const writer = (async () => {
    try {
      for (let version = 1; version < 30; version += 1) await write(catalog, version);
    } finally {
      isWriting = false;
    }
  })();
  await Promise.all([writer, ...readers]);
  assert.ok(seen.size > 5, `${seen.size} versions were seen`);
  assert.equal(await watch(catalog, relation), 27);
});

test('answers of 1,000 products and several relations are complete (§4.8 rule 17)', async () => {
  const catalog = await createRelationCatalog(service());
  const sources = numbered(1_000, 'S');
  const targets = numbered(40, 'T').map((identifier, index) =>
    product(identifier, 'Target', { Size: `${index % 2}`, Text: 'ä'.repeat(99) }),
  );
  await catalog.load(
    ...sources.map((source, index) => product(source, 'Source', { Size: `${index % 2}` })),
    ...targets,
  );
  const made: AnyBody[] = [];
  const match = [{ target: 'Size', operator: 'equals', source: 'Size' }];
  for (const twoWay of [false, true, false])
    made.push(await catalog.relate({ source: under('Source'), target: under('Target'), match, twoWay }));
  const included = { includeTags: [{ tag: 'accessories', limitPerRelation: 20 }] };
  const expected = [0, 1].map((rest) =>
    targets.flatMap(({ identifier }, index) => (index % 2 === rest ? [[identifier]] : [])),
  );
  for (let again = 0; again < 2; again += 1) {
    const answer = await catalog.bulk({ identifiers: sources, ...included });
    assert.deepEqual(Object.keys(answer), sources);
    for (const [position, source] of sources.entries())
      assert.deepEqual(
        describeTags(answer[source]),
        made.map(({ id }) => ({ id, matchType: 'FIRST_WAY', groups: expected[position % 2] })),
      );
    assert.deepEqual(
      answer.S0008.tags,
      (await catalog.bulk({ identifiers: ['S0008'], ...included })).S0008.tags,
    );
  }
});
test('updates take effect during many changes of relations, and every relation includes them (§3.2 rule 6)', async () => {
  const { catalog } = await createDrill();
  let isImporting = true;
  const imports = (async () => {
    for (const count of [40, 1, 40])
      await catalog.manage('POST', '/import', {
        relations: numbered(count, 'R').map((name) => rule({ ...FITS, name, tag: name })),
      });
    isImporting = false;
  })();
  let last = 0;
  for (; isImporting; last += 1) {
    const { taskStatus } = await catalog.update(
      bit('B1', `${10 + (last % 50)} in`),
      bit(`N${last}`, '99 in'),
    );
    assert.equal(taskStatus, 'FINISHED');
  }
  await imports;
  await catalog.settled();
  const { body } = await catalog.manage('GET');
  assert.equal(body.items.length, 40);
  const expected = ['B2', 'B3', 'B1', ...Array.from({ length: last }, (_, index) => `N${index}`)].slice(
    0,
    100,
  );
  for (const relation of body.items.slice(0, 20)) {
    const related = await listOf(catalog, 'D', relation);
    assert.deepEqual(new Set(related), new Set(expected));
  }
});
