// runs: deep, postgres deep, own
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { findLongestPause } from '../support/longest-pause.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

/**
 * The serving thread parses neither uploads nor answers of threads. The house lists the places that parse, and this
 * test counts characters.
 */

/**
 * Bodies, definitions and rows of the control database are smaller than this. The smallest product here has ten times
 * as many characters.
 */
const LONGEST = 64 * 1024;
const VALUE = 'long '.repeat(13_000);
const VALUES = 12;
const PRODUCTS = 10;
const ids = Array.from({ length: PRODUCTS }, (_, index) => `F${index}`);
/** 0.78 MB each. */
const FAT = ids.map((identifier) =>
  sold(identifier, {
    Price: '5 EUR',
    ...Object.fromEntries(Array.from({ length: VALUES }, (_, index) => [`Text ${index}`, VALUE])),
  }),
);

/** Makes the calls in a separate thread, because the test runs in the watched thread. */
const CALLER = `
  const { parentPort, workerData } = require('node:worker_threads');
  parentPort.on('message', async ({ path, method = 'POST', body, type = 'application/json', key }) => {
    const headers = { accept: 'application/json, text/event-stream',
      ...(key && { authorization: 'Bearer ' + workerData.key }), ...(body && { 'content-type': type }) };
    const sent = typeof body === 'object' ? JSON.stringify(body) : body;
    const answer = await fetch(workerData.address + path, { method, headers, body: sent });
    const text = await answer.text();
    parentPort.postMessage({ status: answer.status, text: text.slice(0, 2_000) });
  });`;

interface Call {
  readonly path: string;
  /** Default: POST. */
  readonly method?: 'GET' | 'PUT' | 'PATCH' | 'DELETE';
  /** A string is sent unchanged. */
  readonly body?: object | string;
  /** Default: JSON. */
  readonly type?: string;
  /** Default: true. */
  readonly key?: boolean;
}

function openCaller(t: TestContext, { address, key }: TestService) {
  const worker = new Worker(CALLER, { eval: true, workerData: { address, key } });
  t.after(() => worker.terminate());
  return async ({ key: hasKey = true, ...call }: Call): Promise<string> => {
    worker.postMessage({ key: hasKey, ...call });
    const [{ status, text }] = await once(worker, 'message');
    assert.equal(status, 200, `${call.path}: ${text}`);
    assert.doesNotMatch(text, /"isError":true/, `${call.path}: ${text}`);
    return text;
  };
}

/** @returns where this thread parses texts above the limit, as lines of its stack */
async function findLongParses(work: () => Promise<void>): Promise<string[]> {
  const longParses: string[] = [];
  const { parse } = JSON;
  JSON.parse = (text: string, ...others) => {
    if (text.length > LONGEST)
      longParses.push(`${text.length} characters: ${new Error('parsed').stack?.split('\n')[2]?.trim()}`);
    return parse(text, ...others);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return longParses;
}

test('the serving thread parses neither uploads nor answers of threads when large products are requested (§15, §16.9)', async (t) => {
  const service = await startTestService(t);
  const project = await createChannelProject(service);
  await project.load(...FAT);
  await project.update({ ...FAT[0], name: 'Changed' } as (typeof FAT)[number]);
  const everything = { source: { all: [] }, target: { all: [] } };
  const match = [{ target: 'Price', operator: 'equals', source: 'Price' }];
  const relation = await project.relate('fits', { ...everything, match, constraint: true });
  const mapping = { title: { field: 'name' }, price: { attribute: 'Price' } };
  const filter = { attribute: 'Price', operator: 'exists' };
  const relations = [{ tag: 'fits', as: 'accessory' }];
  const { url } = await project.create({ name: 'Agents', format: { type: 'ucp' }, mapping, relations });
  const filtered = await project.create({ name: 'Filtered', format: { type: 'ucp' }, mapping, filter });
  const call = openCaller(t, service);
  const channel = `${new URL(url).pathname}/catalog`;
  const keyless = (path: string, body: object): Call => ({ path, body, key: false });
  const tool = (name: string, input: object): Call => ({
    path: `/mcp?projectId=${project.projectId}`,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
  });
  const root = `/management/projects/${project.projectId}`;
  const works: Readonly<Record<string, Call>> = {
    'a search of UCP': keyless(`${channel}/search`, { query: 'product', pagination: { limit: 50 } }),
    'a search of UCP that finds nothing': keyless(`${channel}/search`, {
      query: 'product',
      filters: { price: { min: 9_000_000 } },
    }),
    'a lookup of UCP': keyless(`${channel}/lookup`, { ids }),
    'compatibility of UCP': keyless(`${channel}/product`, {
      id: 'F0',
      compatibility: { with: ids.slice(1) },
    }),
    'a search of a filtered channel': keyless(`${new URL(filtered.url).pathname}/catalog/search`, {
      query: 'product',
    }),
    find_products: tool('find_products', { query: 'product' }),
    get_products: tool('get_products', { identifiers: ids }),
    compare_products: tool('compare_products', { identifiers: ids.slice(0, 5) }),
    related_products: tool('related_products', { identifier: 'F0', explain: true }),
    explain_relation: tool('explain_relation', { relationId: relation.id, source: 'F0', target: 'F1' }),
    check_fit: tool('check_fit', { items: [{ identifier: 'F0' }, { identifier: 'Product F1' }] }),
    'a lookup': {
      method: 'GET',
      path: `/product-service/products-by-sku?projectId=${project.projectId}&identifiers=${encodeURIComponent(JSON.stringify(ids))}`,
    },
    'a page of a product': { method: 'GET', path: `${root}/products/F1` },
    'a list of products': { method: 'GET', path: `${root}/products?limit=100` },
    'a search of a shop': { method: 'GET', path: `/search?projectId=${project.projectId}&query=product` },
    'the commits of a product': { method: 'GET', path: `${root}/products/F0/commits` },
    'the products of a commit': {
      method: 'GET',
      path: `${root}/commits/${(await lastCommit(service, root)) ?? 0}/products`,
    },
  };
  const long: string[] = [];
  for (const [name, work] of Object.entries(works)) {
    const ms = await findLongestPause(async () => {
      long.push(
        ...(await findLongParses(async () => void (await call(work)))).map((parse) => `${name}: ${parse}`),
      );
    });
    t.diagnostic(`${name}: longest piece ${ms.toFixed(1)} ms`);
  }
  assert.deepEqual(long, []);
});

async function lastCommit(service: TestService, root: string): Promise<number | undefined> {
  const { body } = await service.call('GET', `${root}/commits`);
  return body.items[0]?.id;
}

/** 10,000 identifiers of 100 characters. */
const MANY = Array.from({ length: 10_000 }, (_, index) => `${index}`.padEnd(100, 'i'));
/** Together these products have 3,000 attributes that no ontology has. */
const STRANGE = ['M', 'N'].map((identifier) => ({
  identifier,
  name: identifier,
  attributes: Array.from({ length: 1_500 }, (_, index) => ({
    key: `New ${identifier} ${index}`.padEnd(60, 'n'),
    value: '5 mm',
  })),
}));
const LINES = MANY.map(
  (source, index) => `${JSON.stringify({ source, targets: [MANY[index + 1] ?? 'last'] })}\n`,
).join('');

/** A project whose calls are watched. */
async function openWatched(t: TestContext) {
  const service = await startTestService(t);
  const project = await createChannelProject(service);
  await project.load({ identifier: 'A', name: 'A' });
  const call = openCaller(t, service);
  return {
    service,
    project,
    at: (path: string) => `${path}?projectId=${project.projectId}`,
    /** Sends the calls one after another. @returns the long parses until the task of the last call has ended */
    findLongParsesOf: (...calls: readonly Call[]) =>
      findLongParses(async () => {
        let answer = '';
        for (const work of calls) answer = await call(work);
        await service.ended(/"id":"([0-9a-f]+)"/.exec(answer)?.[1] ?? answer);
      }),
  };
}

test('the serving thread does not parse a list of 10,000 identifiers to delete (§4.6)', async (t) => {
  const { service, project, at, findLongParsesOf } = await openWatched(t);
  const body = ['A', ...MANY.slice(1)];
  assert.deepEqual(await findLongParsesOf({ method: 'DELETE', path: at('/products'), body }), []);
  assert.deepEqual(await project.list(), []);
  const [task] = await project.tasks();
  const unknown = (await project.report(task)).map(({ identifier }) => identifier);
  assert.deepEqual(unknown.sort(), MANY.slice(1).sort());
  assert.deepEqual(await service.store.listBodies(), [], 'the list is removed with its task');
});

test('the serving thread does not parse the stored lines of a batch that brings 3,000 attributes (§4.4)', async (t) => {
  const { at, findLongParsesOf } = await openWatched(t);
  const long = await findLongParsesOf(
    { path: at('/products/batch/initiate') },
    { path: at('/products/batch/upload'), body: { products: STRANGE } },
    { path: at('/products/batch/start') },
  );
  assert.deepEqual(long, []);
});

test('the serving thread does not parse a large product in the form of an old plug-in (§4.3)', async (t) => {
  const { at, findLongParsesOf } = await openWatched(t);
  const item = { articleNumber: 'L', name: 'L', description: VALUE, attributes: { Long: VALUE } };
  const body = `productsJsonArray=${JSON.stringify([item])}&full=false`;
  assert.deepEqual(await findLongParsesOf({ method: 'PUT', path: at('/products'), body }), []);
});

test('the serving thread does not parse a list of 10,000 links (§12.8)', async (t) => {
  const { service, project, findLongParsesOf } = await openWatched(t);
  const relations = `/management/projects/${project.projectId}/relations`;
  const definition = { name: 'Goes with', tag: 'cross-sell', kind: 'links' };
  const { body: relation } = await service.call('POST', relations, { body: definition });
  const path = `${relations}/${relation.id}/links`;
  const list = { path, type: 'application/x-ndjson', body: LINES };
  assert.deepEqual(await findLongParsesOf({ method: 'PUT', ...list }), []);
  assert.deepEqual(await findLongParsesOf({ method: 'PATCH', ...list }), []);
});
