import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadDemoCatalog } from '../src/cli/demo.ts';
import { generateDemoCatalog } from '../src/cli/demo-catalog/demo-catalog.ts';
import { startTestService, type TestService } from './test-service.ts';

test('each relation of the demo leads somewhere, those that are two-way lead back (§4.8, §12)', async (t) => {
  const service = await startTestService(t);
  const projectId = await loadDemoCatalog(service.address, service.key);
  const { body } = await service.call('GET', `/management/projects/${projectId}/relations`);
  const relations: { id: number; name: string; state: string; twoWay: boolean }[] = body.items;
  assert.ok(relations.length >= 6);
  assert.ok(
    relations.every(({ state }) => state === 'ready'),
    JSON.stringify(relations),
  );
  assert.ok(relations.filter(({ twoWay }) => twoWay).length >= 2);

  const ways = new Map<string, Set<string>>();
  for (const { name, matchType, searchResult } of await askAll(service, projectId, relations)) {
    if (searchResult.length > 0) ways.set(name, (ways.get(name) ?? new Set()).add(matchType));
  }
  for (const { name, twoWay } of relations) {
    const expected = twoWay ? ['FIRST_WAY', 'SECOND_WAY'] : ['FIRST_WAY'];
    assert.deepEqual([...(ways.get(name) ?? [])].sort(), expected, name);
  }
});

/** @returns every relation for every product */
async function askAll(
  service: TestService,
  projectId: number,
  relations: readonly { id: number }[],
): Promise<Answered[]> {
  const found: Answered[] = [];
  const identifiers = generateDemoCatalog().map(({ identifier }) => identifier);
  const includeRelations = relations.map(({ id }) => ({ id, limit: 1 }));
  for (let at = 0; at < identifiers.length; at += 1_000) {
    const asked = { identifiers: identifiers.slice(at, at + 1_000), includeRelations };
    const path = `/search/relations/bulk-results?projectId=${projectId}`;
    const { status, body } = await service.call('POST', path, { body: asked });
    assert.equal(status, 200, JSON.stringify(body));
    const products = Object.values(body) as { tags: { relations: Answered[] }[] }[];
    found.push(...products.flatMap(({ tags }) => tags.flatMap((tag) => tag.relations)));
  }
  return found;
}

interface Answered {
  readonly name: string;
  readonly matchType: string;
  readonly searchResult: readonly unknown[];
}
