// runs: deep (not on postgres: rules on a database of lenses; the oracles cover the statements)
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRelationCatalog, type RelationCatalog } from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

const FOLDER = join(process.env.RELATA_TEST_DATA ?? '../shared/data', 'lensfun');
const isThere = existsSync(FOLDER);

interface Thing {
  readonly identifier: string;
  readonly mounts: readonly string[];
}

const textsOf = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map(([, text = '']) =>
    text.replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&gt;', '>').trim(),
  );
const elementsOf = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(([, inner = '']) => inner);

/** Cameras and lenses with their mounts, and the lens mounts that fit each camera mount, from the database. */
function readDatabase() {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.xml'));
  const xml = files
    .map((name) => readFileSync(join(FOLDER, name), 'utf8').replace(/<!--.*?-->/gs, ''))
    .join('\n');
  const cameras = elementsOf(xml, 'camera').map((element, index): Thing => {
    return { identifier: `camera-${index}`, mounts: textsOf(element, 'mount') };
  });
  const lenses = elementsOf(xml, 'lens').map((element, index): Thing => {
    return { identifier: `lens-${index}`, mounts: textsOf(element, 'mount') };
  });
  const pairs = elementsOf(xml, 'mount').flatMap((element) => {
    const [name = ''] = textsOf(element, 'name');
    return textsOf(element, 'compat').map((compat): [string, string] => [name, compat]);
  });
  return { cameras, lenses, pairs };
}

const toProduct = ({ identifier, mounts }: Thing, category: string) => ({
  identifier,
  name: identifier,
  categories: [{ path: [category] }],
  attributes: mounts.map((value) => ({ key: 'Mount', value })),
});

/** @returns all pairs in the relation's answers, as `camera lens` */
async function listPairs(
  catalog: RelationCatalog,
  id: number,
  cameras: readonly Thing[],
): Promise<Set<string>> {
  const pairs = new Set<string>();
  for (let index = 0; index < cameras.length; index += 10) {
    const identifiers = cameras.slice(index, index + 10).map(({ identifier }) => identifier);
    const answer = await catalog.bulk({ identifiers, includeRelations: [{ id, limit: 100 }] });
    for (const camera of identifiers)
      for (const { searchResult } of answer[camera].tags.flatMap(
        (tag: { relations: object[] }) => tag.relations,
      ))
        for (const { identifier } of searchResult.flat()) pairs.add(`${camera} ${identifier}`);
  }
  return pairs;
}

test('lenses fit cameras with their mount, and cameras whose mount a table pairs with it (§12.3 rule 12, §12.9)', {
  skip: !isThere && 'without the data of cameras and lenses',
}, async () => {
  const { cameras, lenses, pairs } = readDatabase();
  const catalog = await createRelationCatalog(service());
  // A limit counts groups: with one group per mount, all lenses are answered.
  const grouped = lenses.map((lens) => ({
    ...toProduct(lens, 'Lenses'),
    groupIdentifier: `lenses of ${lens.mounts[0]}`,
  }));
  await catalog.putOntology('own', { name: 'Mount', type: 'TEXT_ATTRIBUTE' });
  await catalog.settled();
  await catalog.load(...cameras.map((camera) => toProduct(camera, 'Cameras')), ...grouped);
  const home = `/management/projects/${catalog.projectId}/tables`;
  const table = { name: 'lens-mounts', pairs };
  assert.equal((await service().call('POST', home, { body: table })).status, 201);

  const sides = { source: { category: ['Cameras'] }, target: { category: ['Lenses'] } };
  const match = { target: 'Mount', operator: 'equals', source: 'Mount' };
  for (const [more, count] of [
    [{}, 68_600],
    [{ table: 'lens-mounts' }, 178_200],
  ] as const) {
    const compatible = new Set('table' in more ? pairs.map((pair) => pair.join('\n')) : []);
    const fits = (camera: Thing, lens: Thing) =>
      lens.mounts.some((mount) =>
        camera.mounts.some((own) => mount === own || compatible.has(`${own}\n${mount}`)),
      );
    const truth = new Set(
      cameras.flatMap((camera) =>
        lenses.filter((lens) => fits(camera, lens)).map((lens) => `${camera.identifier} ${lens.identifier}`),
      ),
    );
    assert.ok(Math.abs(truth.size - count) < count / 100, `${truth.size} pairs`);
    const { id, state } = await catalog.relate({ ...sides, match: [{ ...match, ...more }] });
    assert.equal(state, 'ready');
    const related = await listPairs(catalog, id, cameras);
    assert.deepEqual([related.size, [...related].filter((pair) => !truth.has(pair)).length], [truth.size, 0]);
  }
});
