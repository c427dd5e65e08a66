import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createDemoPipelines, describeDemo, loadDemoCatalog } from '../../src/cli/demo/demo.ts';
import { generateDemoCatalog } from '../../src/cli/demo/demo-catalog.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

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

test('a pipeline of each trigger feeds the demo (§13)', async (t) => {
  const importDir = await mkdtemp(join(tmpdir(), 'relata-import-'));
  t.after(() => rm(importDir, { recursive: true, force: true }));
  const service = await startTestService(t, { settings: { RELATA_IMPORT_DIR: importDir } });
  const [first, second] = generateDemoCatalog();
  assert.ok(first && second);
  await service.loadCatalog([{ ...first }, { ...second }]);
  const { projectId } = service;
  const feeds = await createDemoPipelines({ ...service, projectId }, importDir);
  const run = async (path: string, body?: string) => {
    const answer = await service.call('POST', path, { body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return service.ended(answer.body.task.id);
  };
  const byHand = await run(feeds.uploadPath, `sku;price\n${first.identifier};899,00\n`);
  const byWebhook = await run(new URL(feeds.webhookUrl).pathname);
  const { body } = await service.call('GET', `/management/projects/${projectId}/pipelines`);
  const scheduled = body.items.find(
    ({ trigger }: { trigger: { type: string } }) => trigger.type === 'schedule',
  );
  const byNight = await run(`/management/projects/${projectId}/pipelines/${scheduled.id}/run`);
  for (const task of [byHand, byWebhook, byNight])
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const [arrived, priced] = await service.lookUp(['NEW-0001', second.identifier]);
  assert.equal(arrived.name, 'Bicycle bell, brass');
  const price = priced.facts.find(({ attribute }: { attribute: string }) => attribute === 'Price');
  assert.equal(price.value, '1001.00 EUR');
});

const withCurl = { skip: spawnSync('curl', ['--version']).error !== undefined && 'there is no curl' };

test(
  'the calls of the webhook can be pasted, and the last one finds what it brought (§4.9)',
  withCurl,
  async (t) => {
    const importDir = await mkdtemp(join(tmpdir(), 'relata-import-'));
    t.after(() => rm(importDir, { recursive: true, force: true }));
    const service = await startTestService(t, { settings: { RELATA_IMPORT_DIR: importDir } });
    const [first] = generateDemoCatalog();
    await service.loadCatalog([{ ...first, identifier: 'A' }]);
    const feeds = await createDemoPipelines({ ...service }, importDir);
    const webhookUrl = `${service.address}${new URL(feeds.webhookUrl).pathname}`;
    const text = describeDemo({ ...service, ...feeds, webhookUrl, consoleLink: '' });
    const [, calls = ''] = /^7\..*\n((?: {3}.*\n)+)/m.exec(text) ?? [];
    const { stdout } = await promisify(execFile)('sh', ['-c', calls]);
    assert.match(stdout, /"taskStatus":"FINISHED".*"name":"Bicycle bell, brass"/s, `${calls}\n${stdout}`);
  },
);

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
