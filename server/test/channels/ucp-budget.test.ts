// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';
import { openUcpSchemas } from '../support/ucp/validate.ts';

/** Callers of a channel of the Universal Commerce Protocol need no key, so they share a budget (§16.9 rule 9). */

let service: TestService;
const endpoints: string[] = [];
const ucp = openUcpSchemas();
const LONG = 'long '.repeat(12_000);

shareService({ settings: { RELATA_CHANNEL_MIB: '1' } }, async (started) => {
  service = started;
  const project = await createChannelProject(service);
  const products = Array.from({ length: 10 }, (_, index) =>
    sold(`P${index}`, { Price: '5 EUR', 'Text 1': LONG, 'Text 2': LONG, 'Text 3': LONG }),
  );
  await project.load(...products);
  for (const name of ['Agents', 'Others']) {
    const mapping = { title: { field: 'name' }, price: { attribute: 'Price' } };
    const channel = await project.create({ name, format: { type: 'ucp' }, mapping });
    endpoints.push(new URL(channel.url).pathname);
  }
});

test('a channel whose callers have used up the read budget answers 429 with an error of the protocol (§16.9 rule 9)', async () => {
  const [endpoint = '', other] = endpoints;
  const ids = Array.from({ length: 10 }, (_, index) => `P${index}`);
  const lookUp = (of: string | undefined) =>
    service.call('POST', `${of}/catalog/lookup`, { body: { ids }, key: null });
  const first = await lookUp(endpoint);
  assert.deepEqual([first.status, first.body.products.length], [200, 10]);
  const second = await lookUp(endpoint);
  assert.equal(second.status, 429, JSON.stringify(second.body));
  assert.ok(Number(second.headers.get('retry-after')) >= 1);
  assert.deepEqual(ucp.list('common/types/error_response.json', second.body), []);
  const [message] = second.body.messages;
  assert.deepEqual([message.code, message.severity], ['rate_limited', 'recoverable']);
  assert.match(message.content, /1 MiB/);
  for (const [path, body] of [
    ['search', { query: 'long' }],
    ['product', { id: 'P1' }],
  ] as const)
    assert.equal(
      (await service.call('POST', `${endpoint}/catalog/${path}`, { body, key: null })).status,
      429,
    );
  assert.equal((await lookUp(other)).status, 200);
  assert.equal((await service.call('GET', `${endpoint}/profile`, { key: null })).status, 200);
});
