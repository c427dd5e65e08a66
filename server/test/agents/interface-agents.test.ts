// runs: test (not on postgres: a protocol over calls that other tests run on both stores)
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { countTokens } from '../../src/agents/tool.ts';
import { connectAgent } from '../support/agent-client.ts';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService({ settings: { RELATA_MCP_ORIGINS: 'https://agent.example' } });
const clients: Client[] = [];
after(async () => {
  for (const client of clients) await client.close();
});

const value = (key: string, text: string) => ({ key, value: text });
const tyre = (width: number) => ({
  identifier: `T${width}`,
  name: `Tyre ${width}`,
  categories: [{ path: ['Tyres'] }],
  attributes: [value('Tyre width', `${width} mm`), value('Colour', 'black')],
});
const BICYCLE = {
  identifier: 'B1',
  name: 'City bicycle',
  categories: [{ path: ['Bicycles'] }],
  attributes: [value('Maximum tyre width', '50 mm'), value('Colour', 'red')],
};
const RULE = {
  source: { category: ['Bicycles'] },
  target: { category: ['Tyres'] },
  match: [{ target: 'Tyre width', operator: 'lessOrEqual', source: 'Maximum tyre width' }],
};

async function makeShop(
  match: readonly object[] = RULE.match,
): Promise<TestCatalog & { relationId: number }> {
  const catalog = await createCatalog(service());
  await catalog.load(BICYCLE, ...[40, 47, 62].map(tyre));
  const path = `/management/projects/${catalog.projectId}/relations`;
  const { body } = await service().call('POST', path, {
    body: { name: 'Tyres that fit', tag: 'parts', ...RULE, match },
  });
  for (let state = body.state; state !== 'ready'; )
    state = (await service().call('GET', `${path}/${body.id}`)).body.state;
  return { ...catalog, relationId: body.id };
}

async function makeKey(projectId: number, settings: object = {}): Promise<string> {
  const wanted = { name: 'Agent', scope: { type: 'project', id: projectId }, access: 'read', ...settings };
  return (await service().call('POST', '/management/api-keys', { body: wanted })).body.key;
}

async function connect(key: string, query = ''): Promise<Client> {
  const client = await connectAgent(service().address, key, query);
  clients.push(client);
  return client;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
async function ask(client: Client, name: string, input: Record<string, unknown> = {}): Promise<any> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: input });
  const [first] = content as { text: string }[];
  assert.ok(!isError, String(first?.text));
  assert.deepEqual(JSON.parse(first?.text ?? ''), structuredContent);
  const tokens = countTokens(JSON.stringify({ content, structuredContent }));
  assert.ok(tokens < 4_000, `${name}: ${tokens} tokens`);
  return structuredContent;
}

async function askBadly(client: Client, name: string, input: Record<string, unknown>): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: input });
  assert.equal(isError, true, JSON.stringify(content));
  return (content as { text: string }[])[0]?.text ?? '';
}

/** In the locale of the project. */
const WIDTH_ADVICE = [
  'Tyre width müsste höchstens 50 mm sein',
  'Maximum tyre width müsste mindestens 62 mm sein',
];

test('an agent that asks about fit gets each misfit with its reason and each value that is unknown (§12.10, §15)', async () => {
  const shop = await makeShop();
  const path = `/management/projects/${shop.projectId}/relations/${shop.relationId}`;
  await service().call('PUT', path, {
    body: { name: 'Tyres that fit', tag: 'parts', ...RULE, constraint: true },
  });
  await shop.update({ ...tyre(10), attributes: [] });
  const client = await connect(await makeKey(shop.projectId));
  const fit = await ask(client, 'check_fit', {
    items: [
      { identifier: 'B1' },
      { identifier: 'T10', quantity: 2 },
      { identifier: 'T62' },
      { identifier: 'gone' },
    ],
  });
  assert.equal(fit.verdict, 'does_not_fit');
  assert.deepEqual(fit.pairs, [
    {
      source: 'B1',
      target: 'T62',
      relation: 'Tyres that fit',
      verdict: 'does_not_fit',
      why: ['Tyre width 62 mm > Maximum tyre width 50 mm'],
      advice: WIDTH_ADVICE,
      missing: [],
    },
    {
      source: 'B1',
      target: 'T10',
      relation: 'Tyres that fit',
      verdict: 'unknown',
      why: ['Tyre width (no value) ≤? Maximum tyre width 50 mm'],
      missing: ['Tyre width of T10'],
    },
  ]);
  assert.deepEqual([fit.withoutRule, fit.unknownIdentifiers], [[['T10', 'T62']], ['gone']]);
  const width = { attribute: 'Tyre width', times: 0.5 };
  await service().call('POST', path.replace(/[/][0-9]+$/, ''), {
    body: {
      kind: 'total',
      name: 'Widths',
      tag: 'widths',
      source: RULE.source,
      target: RULE.target,
      total: width,
      operator: 'lessOrEqual',
      limit: { attribute: 'Maximum tyre width' },
    },
  });
  const total = await ask(client, 'check_fit', {
    items: [{ identifier: 'B1' }, { identifier: 'T40', quantity: 3 }],
    tags: ['widths'],
  });
  assert.deepEqual(total.totals, [
    {
      source: 'B1',
      relation: 'Widths',
      verdict: 'does_not_fit',
      missing: [],
      why: ['0.5 × sum of Tyre width 120 mm > Maximum tyre width 50 mm'],
    },
  ]);
  const many = Array.from({ length: 100 }, (_, index) => tyre(1_000 + index));
  await shop.update(...many);
  const items = ['B1', ...many.slice(1).map(({ identifier }) => identifier)].map((identifier) => ({
    identifier,
  }));
  const long = await ask(client, 'check_fit', { items });
  assert.ok(long.morePairs > 0 && long.pairs.length + long.morePairs === 99);
  assert.match(await askBadly(client, 'check_fit', { items: [] }), /items/);
});

test('an agent finds products, reads their related products with the reasons, and compares them (§15)', async () => {
  const shop = await makeShop();
  const client = await connect(await makeKey(shop.projectId));
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
    ...['catalog_changes', 'check_fit', 'compare_products', 'explain_relation', 'find_products'],
    ...['get_products', 'list_relations', 'related_products'],
  ]);
  assert.ok(tools.every(({ annotations, outputSchema }) => annotations?.readOnlyHint && outputSchema));

  const products = await ask(client, 'find_products', { query: 'bicycle' });
  assert.deepEqual([products.total, products.products[0].identifier], [1, 'B1']);
  const narrow = await ask(client, 'find_products', {
    filter: 'Tyre width > 45',
    sort: 'Tyre width:desc',
    limit: 1,
  });
  assert.deepEqual([narrow.total, narrow.products[0].identifier], [2, 'T62']);
  const next = await ask(client, 'find_products', {
    filter: 'Tyre width > 45',
    sort: 'Tyre width:desc',
    limit: 1,
    cursor: narrow.nextCursor,
  });
  assert.deepEqual(
    next.products.map(({ identifier }: { identifier: string }) => identifier),
    ['T47'],
  );

  const { relations } = await ask(client, 'related_products', { identifier: 'B1', explain: true });
  assert.equal(relations[0].name, 'Tyres that fit');
  assert.deepEqual(
    relations[0].products.map(({ identifier, why }: { identifier: string; why: string[] }) => [
      identifier,
      ...why,
    ]),
    [
      ['T40', 'Tyre width 40 mm ≤ Maximum tyre width 50 mm'],
      ['T47', 'Tyre width 47 mm ≤ Maximum tyre width 50 mm'],
    ],
  );
  const more = await ask(client, 'related_products', {
    identifier: 'B1',
    tags: ['parts'],
    limit: 1,
    offset: 1,
  });
  assert.equal(more.relations[0].products[0].identifier, 'T47');

  const pair = { relationId: shop.relationId, source: 'B1' };
  assert.equal((await ask(client, 'explain_relation', { ...pair, target: 'T40' })).related, true);
  const tooWide = await ask(client, 'explain_relation', { ...pair, target: 'T62' });
  assert.deepEqual(tooWide.matches, [
    { match: 'Tyre width 62 mm ≤ Maximum tyre width 50 mm', holds: false, advice: WIDTH_ADVICE },
  ]);

  const compared = await ask(client, 'compare_products', { identifiers: ['T40', 'T62'] });
  assert.deepEqual(compared.attributes, [
    { attribute: 'Tyre width', same: false, values: [['40 mm'], ['62 mm']] },
    { attribute: 'Colour', same: true, values: [['black'], ['black']] },
  ]);
  const twice = await ask(client, 'compare_products', { identifiers: ['T40', 'T62', 'T40'] });
  assert.deepEqual(twice, compared, 'a repeated identifier counts once');
  assert.match(
    await askBadly(client, 'compare_products', { identifiers: ['T40', 'T40'] }),
    /\/identifiers .*2 different/,
  );
  const read = await ask(client, 'get_products', { identifiers: ['T40', 'gone'] });
  assert.deepEqual(read.unknown, ['gone']);
  assert.deepEqual(read.products[0].attributes[0], { attribute: 'Tyre width', values: ['40 mm'] });
  assert.equal((await ask(client, 'list_relations')).relations[0].tag, 'parts');
  assert.ok(
    (await ask(client, 'catalog_changes')).changes.some(({ created }: { created: number }) => created === 4),
  );
});

test('an agent gets the alternatives that fit, and all candidates if none fits (§15)', async () => {
  const colour = { target: 'Colour', operator: 'equals', source: 'Colour' };
  const shop = await makeShop([{ any: [colour, ...RULE.match] }]);
  const client = await connect(await makeKey(shop.projectId));
  const { relations } = await ask(client, 'related_products', { identifier: 'B1', explain: true });
  assert.deepEqual(relations[0].products[0].why, ['Tyre width 40 mm ≤ Maximum tyre width 50 mm']);
  const pair = { relationId: shop.relationId, source: 'B1', target: 'T62' };
  assert.deepEqual((await ask(client, 'explain_relation', pair)).matches, [
    {
      match: 'Colour black = Colour red or Tyre width 62 mm ≤ Maximum tyre width 50 mm',
      holds: false,
      advice: ['Colour müsste red sein', 'Colour müsste black sein', ...WIDTH_ADVICE],
    },
  ]);
});

test('an agent with write access tries a rule without storing it (§15 rule 3)', async () => {
  const shop = await makeShop();
  const client = await connect(await makeKey(shop.projectId, { access: 'write' }));
  const tried = await ask(client, 'preview_relation', { ...RULE });
  assert.deepEqual([tried.sourceProducts, tried.targetProducts, tried.shareWithResults], [1, 3, 1]);
  assert.match(
    await askBadly(client, 'preview_relation', { ...RULE, source: { near: 1 } }),
    /\/source must be one of/,
  );
  assert.equal((await ask(client, 'list_relations')).total, 1);
});

test('scope and rate limit of a key apply to an agent (§15 rule 2)', async () => {
  const [firstShop, other] = [await makeShop(), await makeShop()];
  const key = await makeKey(firstShop.projectId, { rateLimit: { requestsPerMinute: 6 } });
  await assert.rejects(connect(key, `?projectId=${other.projectId}`), /401|not allowed/);
  await assert.rejects(connect('wrong'), /401|not allowed/);
  const post = (body: unknown, headers = {}) =>
    service().call('POST', '/mcp', {
      key,
      body,
      headers: { accept: 'application/json, text/event-stream', ...headers },
    });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  assertRefused(await post([list, list]), 400);
  for (let left = 6; left > 0; left -= 1) await post(list);
  assertRefused(await post(list), 429);
  assertRefused(await service().call('GET', '/mcp'), 405);
  const listen = await connect(await makeKey(firstShop.projectId));
  await assert.rejects(
    listen.listen({ toolsListChanged: true }),
    /[Ss]ubscription|not support|Method not found/,
  );
});

test('an invalid call of an agent is refused with an explanation, and answers stay small (§15 rules 4 and 5)', async () => {
  const catalog = await createCatalog(service());
  const text = (length: number) => '長'.repeat(length);
  const attributes = Array.from({ length: 150 }, (_, index) =>
    value(`Key ${index} ${text(100)}`, text(2_000)),
  );
  await catalog.load(
    ...['A', 'B', 'C'].map((identifier) => ({
      identifier,
      name: text(1_000),
      attributes,
      productUrl: `https://x.example/${'u'.repeat(4_000)}`,
    })),
  );
  const client = await connect(await makeKey(catalog.projectId));
  await ask(client, 'find_products', { query: text(1) });
  const first = await ask(client, 'get_products', { identifiers: ['A', 'B', 'C'] });
  const seen = new Set(
    [...first.products, ...first.notShown].map((product) => product.identifier ?? product),
  );
  assert.equal(seen.size, 3);
  const { nextOffset } = await ask(client, 'compare_products', { identifiers: ['A', 'B', 'C'] });
  assert.ok(nextOffset > 0);
  assert.match(await askBadly(client, 'compare_products', { identifiers: ['A', 'gone'] }), /no product gone/);
  assert.match(await askBadly(client, 'related_products', { identifier: 'gone' }), /no product "gone"/);
  assert.match(await askBadly(client, 'find_products', { filter: 'Weight > 1' }), /no attribute "Weight"/);
  assert.match(await askBadly(client, 'find_products', { query: 'w '.repeat(100) }), /100 words/);
  assert.match(await askBadly(client, 'find_products', { limit: 1_000 }), /limit|20/);
  assert.match(await askBadly(client, 'find_products', { sql: "'; drop table product" }), /sql|additional/);
  assert.match(
    await askBadly(client, 'explain_relation', { relationId: 9, source: 'A', target: 'B' }),
    /Not Found/,
  );
  await assert.rejects(
    client.callTool({ name: 'delete_products', arguments: { identifiers: ['A'] } }),
    /delete_products/,
  );
});

test('pages of foreign origins and foreign host names of this machine are refused (§15 rule 6)', async () => {
  const key = await makeKey((await makeShop()).projectId);
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
  };
  const send = (headers: Record<string, string>) => {
    const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
    const accept = 'application/json, text/event-stream';
    const sending = request(`${service().address}/mcp`, { method: 'POST', headers: { ...sent, accept } });
    sending.end(JSON.stringify(initialize));
    return new Promise<{ status: number; body: string }>((resolve, reject) => {
      sending.once('error', reject);
      sending.once('response', async (response) => {
        let body = '';
        for await (const chunk of response) body += chunk;
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
  };
  const own = await send({});
  assert.equal(own.status, 200);
  assert.match(own.body, /"listChanged":false/, 'nothing is announced');
  assert.equal(
    (await send({ origin: 'https://agent.example' })).status,
    200,
    'an origin of RELATA_MCP_ORIGINS',
  );
  for (const [headers, reason] of [
    [{ origin: 'https://evil.example' }, 'origin_refused'],
    [{ host: 'evil.example' }, 'host_refused'],
  ] as const) {
    const { status, body } = await send(headers);
    assert.deepEqual([status, JSON.parse(body).reason], [403, reason]);
  }
  assert.equal((await send({ host: 'localhost:1234' })).status, 200);
});

test('facets that cover only some of the hits state how many hits they cover (§15 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...Array.from({ length: 250 }, (_, index) => tyre(index + 1)));
  const client = await connect(await makeKey(catalog.projectId));
  const broad = await ask(client, 'find_products', { query: 'tyre' });
  assert.deepEqual([broad.total, broad.facetsOf], [250, 200]);
  assert.ok(broad.facets.length > 0);
  const narrow = await ask(client, 'find_products', { query: 'tyre', filter: 'Tyre width <= 100' });
  assert.deepEqual([narrow.total, narrow.facetsOf], [100, undefined]);
});
