// runs: deep (not on postgres: the products and pipelines of the demo, which serves the embedded store)
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  createDemoPipelines,
  describeDemo,
  loadDemoCatalog,
  readDemoCatalog,
} from '../../src/cli/demo/demo.ts';
import { shareService } from '../support/shared-service.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const root = new URL('../../../', import.meta.url);
let projectId = 0;
/** A service with the demo catalog, for all tests that only read it or follow the tutorial. */
const demo = shareService({}, async ({ address, key }) => {
  projectId = await loadDemoCatalog(address, key);
});

test('each relation of the demo has results, and two-way relations also lead back (§4.8, §12)', async () => {
  const service = demo();
  const { body } = await service.call('GET', `/management/projects/${projectId}/relations`);
  const defined: { id: number; name: string; state: string; twoWay: boolean; kind?: string }[] = body.items;
  const relations = defined.filter(({ kind }) => kind !== 'total');
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

test('the demo has a pipeline for each trigger (§13)', async (t) => {
  const importDir = await mkdtemp(join(tmpdir(), 'relata-import-'));
  t.after(() => rm(importDir, { recursive: true, force: true }));
  const service = await startTestService(t, { settings: { RELATA_IMPORT_DIR: importDir } });
  const [first, second] = readDemoCatalog();
  assert.ok(first && second);
  await service.loadCatalog([{ ...first }, { ...second }]);
  const feeds = await createDemoPipelines(service, importDir);
  const run = async (path: string, body?: string) => {
    const answer = await service.call('POST', path, { body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return service.ended(answer.body.task.id);
  };
  const byHand = await run(feeds.uploadPath, `sku;price\n${first.identifier};899,00\n`);
  const byWebhook = await run(new URL(feeds.webhookUrl).pathname);
  const { body } = await service.call('GET', `/management/projects/${service.projectId}/pipelines`);
  const scheduled = body.items.find(
    ({ trigger }: { trigger: { type: string } }) => trigger.type === 'schedule',
  );
  const byNight = await run(`/management/projects/${service.projectId}/pipelines/${scheduled.id}/run`);
  for (const task of [byHand, byWebhook, byNight])
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const [arrived, priced] = await service.lookUp(['NEW-0001', second.identifier]);
  assert.equal(arrived.name, 'Bicycle bell, brass');
  const price = priced.facts.find(({ attribute }: { attribute: string }) => attribute === 'Price');
  assert.equal(price.value, '1001.00 EUR');
});

const withCurl = { skip: spawnSync('curl', ['--version']).error !== undefined && 'there is no curl' };

test(
  'the webhook calls can be pasted, and the last one finds the imported products (§4.9)',
  withCurl,
  async (t) => {
    const importDir = await mkdtemp(join(tmpdir(), 'relata-import-'));
    t.after(() => rm(importDir, { recursive: true, force: true }));
    const service = await startTestService(t, { settings: { RELATA_IMPORT_DIR: importDir } });
    const [first] = readDemoCatalog();
    await service.loadCatalog([{ ...first, identifier: 'A' }]);
    const feeds = await createDemoPipelines({ ...service }, importDir);
    assert.ok(feeds.webhookUrl);
    const text = readFileSync(new URL('docs/tutorial.md', root), 'utf8');
    const [, calls = ''] = /Start a pipeline by webhook.*?\n```shell\n(.*?)^```/ms.exec(text) ?? [];
    const { address: RELATA_URL, key: RELATA_API_KEY, projectId: id } = service;
    const env = { PATH: process.env.PATH, RELATA_URL, RELATA_API_KEY, RELATA_PROJECT: `${id}` };
    const { stdout } = await promisify(execFile)('sh', ['-c', calls], { env });
    assert.match(stdout, /"taskStatus":"FINISHED".*"name":"Bicycle bell, brass"/s, `${calls}\n${stdout}`);
  },
);

test('the demo prints a sign-up link and a question that can be pasted', () => {
  const consoleLink = 'http://127.0.0.1:1/console/#/welcome/token';
  const text = describeDemo({
    address: 'http://127.0.0.1:1',
    key: 'key',
    projectId: 1,
    consoleLink,
    pageKey: 'page',
  });
  assert.match(text, /^ {3}http:\/\/127\.0\.0\.1:1\/console\/#\/welcome\/token$/m);
  assert.match(text, /^ {3}export RELATA_URL=http:\/\/127\.0\.0\.1:1 RELATA_API_KEY=key RELATA_PROJECT=1$/m);
  assert.match(text, /^ {3}.*relata.* related BIKE-0001$/m);
  assert.match(
    text,
    /:1\/demo\/shop\/shop\.html\?\S*key=page&project=1\S*&product=BIKE-0001&with=TYRE-\S+$/m,
  );
  assert.ok(text.trim().split('\n').length <= 12, 'it fits on a small screen');
});

const main = fileURLToPath(new URL('server/src/main.ts', root));
/** Works like `npm run -s relata --` in a clone, from any folder. */
const NPM = `npm() { shift 4; '${process.execPath}' --conditions=relata-source '${main}' "$@"; }\n`;

/** @returns the output of a page's blocks, in order. Each block and each task succeeds. */
const PAGES: Readonly<Record<string, RegExp>> = {
  'docs/tutorial.md':
    /Maximum tyre width: 60 mm.*TYRE-0111.*\(reverse\).*CASS-0023.*"related":false.*pushed 1 product.*CASS-0024.*accessory:id:CASS-0024/s,
  'docs/how-to/load-a-catalog.md': /pushed 2 products.*Voltage: 18 V.*"taskStatus":"FINISHED"/s,
  'docs/how-to/import-a-file.md': /"suggestion".*"taskStatus":"FINISHED".*"value":"19.90 EUR"/s,
  'docs/how-to/exchange-etim.md': /PIPE-16 +Pipe, 16 mm.*listed by PIPE-16/s,
  'docs/how-to/import-bmecat.md': /Voltage: 18 V.*listed by DRILL-18/s,
  'docs/how-to/publish-to-google.md':
    /"missing".*"taskStatus":"FINISHED".*^CAM-0001.*accessory:id:LENS-.*required_part:id:BATT-/ms,
  'docs/how-to/check-whether-parts-fit.md':
    /CHAIN-0013 +fits.*\nfits\n.*CHAIN-0003 +does_not_fit.*\ndoes_not_fit\nexit code 1\n.*"insteadOf":"TYRE-0001-62-622-WIRED","products":\[\{.*CASS-0005 +fits.*sum of Weight 5773 g ≤ Maximum load 9 kg\n.*\nfits\n.*Maximum load 3.6 kg\n.*\ndoes_not_fit\nexit code 1\n.*PACK-0003 has no Maximum load\nunknown\nexit code 4\n.*does_not_fit\nexit code 1\n/s,
  'docs/how-to/connect-magento.md': /"key":".*"onInvalid":"skip".*FINISHED/s,
};

for (const [page, printed] of Object.entries(PAGES)) {
  test(`the commands of ${page} work when pasted`, withCurl, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'relata-page-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const text = readFileSync(new URL(page, root), 'utf8');
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block);
    const { address: RELATA_URL, key: RELATA_API_KEY } = demo();
    const { stdout, stderr } = await promisify(execFile)('sh', ['-e', '-c', NPM + blocks.join('')], {
      cwd: folder,
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('RELATA_'))),
        RELATA_URL,
        RELATA_API_KEY,
        RELATA_PROJECT: `${projectId}`,
        XDG_STATE_HOME: folder,
      },
    });
    assert.match(stdout, printed, stderr);
    assert.doesNotMatch(stdout, /"status":"failure"|"taskStatus":"FAILED"/);
  });
}

/** @returns every relation for every product */
async function askAll(
  service: TestService,
  projectId: number,
  relations: readonly { id: number }[],
): Promise<Answered[]> {
  const answers: Answered[] = [];
  const identifiers = readDemoCatalog().map(({ identifier }) => identifier);
  const includeRelations = relations.map(({ id }) => ({ id, limit: 1 }));
  for (let index = 0; index < identifiers.length; index += 1_000) {
    const request = { identifiers: identifiers.slice(index, index + 1_000), includeRelations };
    const path = `/search/relations/bulk-results?projectId=${projectId}`;
    const { status, body } = await service.call('POST', path, { body: request });
    assert.equal(status, 200, JSON.stringify(body));
    const products = Object.values(body) as { tags: { relations: Answered[] }[] }[];
    answers.push(...products.flatMap(({ tags }) => tags.flatMap((tag) => tag.relations)));
  }
  return answers;
}

interface Answered {
  readonly name: string;
  readonly matchType: string;
  readonly searchResult: readonly unknown[];
}
