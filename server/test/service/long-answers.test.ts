// runs: long, slow (not on postgres: how long answers are sent; interface-lookup.test.ts covers rows)
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Browser, PASSWORD } from '../support/browser.ts';
import { findLongestPause } from '../support/longest-pause.ts';
import { addUser } from '../support/people.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

/** Answers that take long, or are never read: docs/interface §5.1 and §8. */

const service = shareService();

/** Sends a request. @returns the socket once the answer has begun */
async function begin(t: TestContext, path: string, credentials: string): Promise<Socket> {
  const socket = connect(Number(new URL(service().address).port), '127.0.0.1').on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${credentials}\r\n\r\n`);
  const [head] = await once(socket, 'data');
  socket.pause();
  assert.match(String(head), /^HTTP\/1.1 200/);
  return socket;
}

/** More of these answers than sockets buffer. */
const LONG = [{ key: 'Text', value: 'x'.repeat(60_000) }];

const ended = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

test('events and exports end within seconds once their key or session loses its access (§5.1 rule 12)', async (t) => {
  const [account] = await service().app.projects.findAccounts();
  const token = await service().app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const browser = new Browser(service().address);
  await browser.succeed('POST', '/management/owner', {
    token,
    email: 'ada@shop.example',
    name: 'Ada',
    password: PASSWORD,
  });
  const elsewhere = new Browser(service().address);
  await elsewhere.succeed('POST', '/management/session', { email: 'ada@shop.example', password: PASSWORD });
  const given = { name: 'Doomed', scope: { type: 'account' } };
  const key = (await service().call('POST', '/management/api-keys', { body: given })).body;
  const catalog = await createCatalog(service());
  await catalog.load(
    ...Array.from({ length: 400 }, (_, index) => ({ identifier: `P${index}`, attributes: LONG })),
  );
  const release = await catalog.hold();
  const [task] = await catalog.tasks();
  const events = `/tasks/${task.id}/events`;
  const withKey = `Authorization: Bearer ${key.key}`;
  const lines = `/management/projects/${catalog.projectId}/products?format=ndjson`;
  const part = await addUser({ browser }, 'viewer');
  const setRole = async (role: string, id: number) => {
    const roles = [{ scope: { type: 'project', id }, role: 'viewer' }];
    await browser.succeed('PATCH', `/management/users/${part.id}`, { role, roles });
  };
  await setRole('none', catalog.projectId);
  const held = await Promise.all([
    begin(t, events, `Cookie: ${part.browser.cookie}`),
    begin(t, lines, `Cookie: ${part.browser.cookie}`),
    begin(t, events, withKey),
    begin(t, events, `Cookie: ${browser.cookie}`),
    begin(t, events, `Cookie: ${elsewhere.cookie}`),
    begin(t, lines, withKey),
  ]);
  const allowed = await begin(t, events, `Authorization: Bearer ${service().key}`);
  const allEnded = Promise.all(held.map(ended));
  await setRole('none', service().projectId);
  await service().call('DELETE', `/management/api-keys/${key.id}`);
  await browser.succeed('DELETE', '/management/sessions?others=true');
  await browser.succeed('DELETE', '/management/session');
  while (
    service().log.filter((line) => /the caller lost access while its answer was sent/.test(line)).length <
    held.length
  )
    await delay(50);
  for (const socket of held) socket.resume();
  await allEnded;
  const received = once(allowed.resume(), 'data');
  await release();
  assert.match(String(await received), /FINISHED/, 'a caller that keeps its access receives the rest');
});

const WITH_VALUES = (identifier: string, characters: number) => ({
  identifier,
  attributes: Array.from({ length: 1_900 }, (_, index) => {
    return { key: `Key ${index}`, value: `${index} `.repeat(characters) };
  }),
});

/** 1.9 MB, or a few KB when compressed. */
const LARGE = (identifier: string) => WITH_VALUES(identifier, 200);

/** Large pages take 5 to 18 ms. A product page of 9 MB that the serving thread made itself blocked it for 166 ms. */
const LONGEST_PAUSE_MS = 100;

/** @returns the answer, the total time, and the longest block of the serving thread */
async function measure(path: string, headers: Record<string, string> = {}) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const began = performance.now();
  const answer = await fetch(`${service().address}${path}`, {
    headers: { authorization: `Bearer ${service().key}`, ...headers },
  });
  const parts: Uint8Array[] = [];
  for await (const part of answer.body ?? []) parts.push(part);
  delays.disable();
  const text = Buffer.concat(parts).toString();
  return { status: answer.status, text, ms: performance.now() - began, longestMs: delays.max / 1e6 };
}

const LARGE_ONES = Array.from({ length: 30 }, (_, index) => `Q${String(index).padStart(2, '0')}`);
let loaded: ReturnType<typeof loadLarge> | undefined;

async function loadLarge() {
  const catalog = await createCatalog(service());
  const categories = [{ path: ['Large'] }];
  await catalog.load(...LARGE_ONES.map((identifier) => ({ ...LARGE(identifier), categories })));
  return catalog;
}

/** One service for all tests that only read: 57 MB, whose index of search takes hundreds of MB. */
const openLarge = () => (loaded ??= loadLarge());

test('while a long answer is made and sent, the serving thread answers others (§8)', async () => {
  const catalog = await openLarge();
  const identifiers = LARGE_ONES.slice(0, 12);
  const list = encodeURIComponent(JSON.stringify(identifiers));
  const lookup = `/product-service/products-by-sku?projectId=${catalog.projectId}&identifiers=${list}`;
  for (const path of [lookup]) {
    const { status, text, ms, longestMs } = await measure(path);
    assert.equal(status, 200, path);
    const { products } = JSON.parse(text);
    assert.deepEqual(
      products.map(({ identifier }: { identifier: string }) => identifier),
      identifiers,
    );
    assert.ok(longestMs < ms / 4, `${path}: ${longestMs} of ${ms} ms`);
  }
});

test('lookups of large products return exactly the uploads, whatever their length and compression (§4.2)', async () => {
  const catalog = await createCatalog(service());
  const attributes = [
    { name: 'Text', type: 'TEXT_ATTRIBUTE' },
    { name: 'Number', type: 'NUMERIC_ATTRIBUTE' },
  ];
  const ontology = `/management/projects/${catalog.projectId}/ontology`;
  await service().call('PUT', ontology, { body: { mode: 'own', attributes } });
  const values = (key: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ key, value: `${index} ${'é'.repeat(29_000)}` }));
  // Of 700 KB and 900 KB. A value that is not a number makes no fact, so the second answer has 60 KB.
  const uploads = { S: values('Text', 12), W: [...values('Text', 1), ...values('Number', 15)] };
  const facts = { S: 12, W: 1 };
  await catalog.load(
    ...Object.entries(uploads).map(([identifier, attributes]) => ({ identifier, attributes })),
    { identifier: 'O' },
  );
  const read = async (path: string, encoding: string) => {
    const headers = { authorization: `Bearer ${service().key}`, 'accept-encoding': encoding };
    const url = `${service().address}/product-service/${path}&projectId=${catalog.projectId}`;
    const answer = await fetch(url, { headers });
    assert.equal(answer.status, 200, path);
    return answer.text();
  };
  for (const [identifier, count] of Object.entries(facts)) {
    const alone = `product-by-sku?identifier=${identifier}`;
    const listed = `products-by-sku?identifiers=${encodeURIComponent(JSON.stringify([identifier, 'O']))}`;
    const [made = '', ...others] = await Promise.all(
      ['identity', 'gzip', 'br', 'zstd'].map((encoding) => read(alone, encoding)),
    );
    const product = JSON.parse(made);
    assert.deepEqual([product.identifier, product.facts?.length], [identifier, count], made.slice(0, 200));
    assert.equal(product.facts[0].value, values('Text', 1)[0]?.value);
    assert.ok(others.every((other) => other === made));
    for (const encoding of ['identity', 'gzip', 'br', 'zstd']) {
      const text = await read(listed, encoding);
      assert.ok(
        text.startsWith(`{"products":[${made},{"id":`),
        `${identifier}, ${encoding}: ${text.slice(0, 200)}`,
      );
    }
  }
});

/** Reads answers to their end without storing them. */
async function readAll(paths: readonly string[]): Promise<void> {
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${service().key}`, 'accept-encoding': 'identity' };
    const { status, body } = await fetch(`${service().address}${path}`, { headers });
    assert.equal(status, 200, path);
    for await (const _ of body ?? []);
  };
  await Promise.all(paths.map(read));
}

/**
 * Measures again if the limit is exceeded, because garbage collection may add to the time. @returns the longest work of
 * the serving thread, in ms
 */
async function findPauseOf(paths: readonly string[]): Promise<number> {
  const identifiers: number[] = [];
  do identifiers.push(await findLongestPause(() => readAll(paths)));
  while (Math.min(...identifiers) >= LONGEST_PAUSE_MS && identifiers.length < 3);
  return Math.min(...identifiers);
}

test('the page of a large product has the same form as any other and does not delay other callers (§14.3 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const small = { identifier: 'A', name: 'A', attributes: [{ key: 'Key 7', value: '5' }] };
  const large = { ...WITH_VALUES('B', 1_000), name: 'B' };
  const task = await catalog.load(small, large);
  const path = `/management/projects/${catalog.projectId}/products`;
  for (const { identifier, attributes } of [small, large]) {
    const { status, body } = await service().call('GET', `${path}/${identifier}`);
    assert.equal(status, 200);
    const [product] = await catalog.find(identifier);
    assert.deepEqual(body.product, product);
    assert.deepEqual(body.upload.attributes, attributes);
    assert.equal(body.values.length, attributes.length);
    assert.deepEqual(body.values[0].fact.attributeId, product.facts[0].attributeId);
    assert.deepEqual(body.notExtracted, []);
    assert.deepEqual(body.lastChange, { at: product.lastUpdateTs, task });
  }
  assert.equal((await service().call('GET', `${path}/${encodeURIComponent('\u0000')}`)).status, 404);
  const pause = await findPauseOf([`${path}/B`, `${path}/B`]);
  assert.ok(pause < LONGEST_PAUSE_MS, `no other caller was served for ${pause} ms`);
});

test('pages of lists and exports read a limited number of bytes and continue where they ended (§14.3)', async () => {
  const catalog = await openLarge();
  const path = `/management/projects/${catalog.projectId}/products`;
  // A list with words is refused while a busy machine makes the index.
  while ((await catalog.call('GET', '/search/products?q=q')).body.partial) await delay(100);
  const filters = ['', '&category=["Large"]', '&q=Q', '&category=["Large"]&q=Q'];
  for (const query of filters.flatMap((filter) => [filter, `${filter}&format=table`])) {
    const identifiers: string[] = [];
    let pages = 0;
    for (let cursor = ''; ; pages += 1) {
      const { text, status } = await measure(`${path}?limit=100${query}${cursor}`);
      assert.equal(status, 200, text);
      assert.ok(text.length < 8 * 1024 * 1024, `${query}: a page of ${text.length} characters`);
      const page = JSON.parse(text);
      identifiers.push(...page.items.map(({ identifier }: { identifier: string }) => identifier));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.deepEqual(identifiers.toSorted(), LARGE_ONES, query);
    if (!query.includes('table')) assert.ok(pages >= 5, `${query}: ${pages} pages before the last one`);
  }
  const { text } = await measure(`${path}?format=ndjson`);
  assert.equal(text.split('\n').length, 31);
  for (const query of [...filters, '&format=table', '&category=["Large"]&format=table', '&format=ndjson']) {
    const pause = await findPauseOf([`${path}?limit=100${query}`]);
    assert.ok(pause < LONGEST_PAUSE_MS, `${query}: no other caller was served for ${pause} ms`);
  }
});

test('a search of large products reads a limited number of bytes for facets and finds all products (§4.13)', async () => {
  const catalog = await openLarge();
  const search = async (query: string) => {
    for (;;) {
      const answer = await catalog.call('GET', `/search/products?${query}`);
      if (!answer.body.partial) return answer.body;
    }
  };
  const identifiers: string[] = [];
  for (let cursor = ''; ; ) {
    const body = await search(`q=q&limit=12${cursor}`);
    assert.equal(body.total, 30, JSON.stringify(body).slice(0, 500));
    assert.ok(body.facetsOf >= 2 && body.facetsOf <= 8, `facets of ${body.facetsOf} hits`);
    for (const { count, values } of body.facets) {
      assert.equal(count, body.facetsOf);
      assert.deepEqual(values, [], 'texts of 400 characters and more are counted, not listed');
    }
    identifiers.push(...body.items.map(({ identifier }: { identifier: string }) => identifier));
    if (body.nextCursor === null) break;
    assert.equal(body.items.length, 12);
    cursor = `&cursor=${body.nextCursor}`;
  }
  assert.deepEqual(identifiers.toSorted(), LARGE_ONES);
});

test('a shop search returns as much of large products as an answer may contain (§4.14, §8)', async () => {
  const catalog = await openLarge();
  const path = `/search?projectId=${catalog.projectId}&query=*`;
  while ((await measure(path)).text.includes('"partial":true')) await delay(100);
  assertRefused(await catalog.call('GET', '/search?query=*'), 400, /larger than 32 MiB/);
  const few: { text?: string } = {};
  const pause = await findLongestPause(async () => {
    few.text = (await measure(`${path}&limit=3`)).text;
  });
  assert.equal(JSON.parse(few.text ?? '').searchResults[0].results.length, 3);
  assert.ok(pause < LONGEST_PAUSE_MS, `no other caller was served for ${pause} ms`);
});

test('the memory of long answers is reused once they are sent (§8)', async () => {
  const catalog = await openLarge();
  const list = encodeURIComponent(JSON.stringify(LARGE_ONES.slice(0, 12)));
  const path = `/product-service/products-by-sku?projectId=${catalog.projectId}&identifiers=${list}`;
  const readTimes = async (times: number) => {
    for (let time = 0; time < times; time += 1) await readAll([path]);
    return process.memoryUsage().rss / 2 ** 20;
  };
  const [before, after] = [await readTimes(4), await readTimes(24)];
  assert.ok(after - before < 250, `24 answers of 24 MB left ${after - before} MiB behind`);
});

test('an answer of over 32 MiB is refused before it is made, except for a single product (§8)', async () => {
  const catalog = await openLarge();
  const path = '/product-service/products-by-sku';
  const refused = await catalog.post(path, { identifiers: LARGE_ONES.slice(0, 18) });
  assertRefused(refused, 400, 'The answer would be larger than 32 MiB: request fewer products at a time');
  const few = await catalog.post(path, { identifiers: LARGE_ONES.slice(0, 9) });
  assert.equal(few.body.products.length, 9);
  const value = 'x'.repeat(18_000);
  const attributes = Array.from({ length: 1_900 }, (_, index) => ({ key: `Key ${index}`, value }));
  await catalog.update({ identifier: 'Huge', name: 'Huge', attributes });
  const alone = await catalog.call('GET', '/product-service/product-by-sku?identifier=Huge');
  assert.equal(alone.body.facts.length, 1_900);
});
