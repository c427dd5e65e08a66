// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRelata } from '@relata/client';
import { operations } from '../src/wire.ts';

/** Operations without a method of their own, with the reason. */
const BY_ANOTHER: Readonly<Record<string, string>> = {
  getProductServiceProductsBySku: 'lookUp sends a POST, which has no URL limit',
  postSearchRelationsResult: 'relatedTo sends a GET',
  getSearchRelationsBulkResults: 'relatedToMany sends a POST, which has no URL limit',
  getSearch: 'shop.search sends a POST, which has no URL limit',
  getDocsApi: 'a page for people',
  postManagementSessionPasskey:
    'signIn sends it once an authenticator has signed: see console/test/session.test.ts',
  postManagementSessionPasskeys: 'addPasskey sends it once an authenticator has signed',
  get: 'leads people to the console or the documentation',
  postMcp: 'used by agents, through their own protocol',
  getChannelsByTokenByFileName: 'used by every holder of the address, without a key',
  postChannelsByTokenUcpCatalogSearch:
    'used by agents, through the address of a channel and without a key, like the following',
  postChannelsByTokenUcpCatalogLookup: '',
  postChannelsByTokenUcpCatalogProduct: '',
  getChannelsByTokenUcpProfile: '',
  getChannelsByTokenUcpCompatibilityJson: '',
  putProducts: 'replace sends a POST',
  putProductsBatchUpload: 'a full update sends a POST',
  postProductsDelete: 'delete sends a DELETE',
  postContent: 'used only by shop connectors, and stored nowhere, like the following',
  putContent: '',
  deleteContent: '',
  postContentBatchInitiate: '',
  postContentBatchUpload: '',
  putContentBatchUpload: '',
  postContentBatchStart: '',
  postEtlTriggersWebhookByTriggerId: 'called by other systems, through the URL that a pipeline answers',
};

/** A task that has ended, so that the test does not wait. */
const ENDED = '{"taskStatus":"FINISHED","finishTime":1}';

/** Lists of arguments. Each method is called with every list, and rejects most of them. */
const ARGUMENTS: readonly (readonly unknown[])[] = [
  [1, 1, {}],
  [
    { projectId: 1, relationId: 1 },
    { source: 'a', target: 'b' },
  ],
  [{ projectId: 1, pipelineId: 1 }, new Blob(['a'])],
  [{ projectId: 1, channelId: 1 }, {}],
  [{ projectId: 1, commitId: 1 }, {}],
  [['a'], { projectId: 1 }],
  [1, { name: 'a' }],
  ['a', 'b', {}],
  [{}, {}, {}],
];

test('every operation of the document has its own method', async () => {
  const asked = new Set<string>();
  const recording = async (input: unknown, init?: RequestInit) => {
    asked.add(nameOf(init?.method ?? 'GET', new URL(String(input)).pathname));
    const isStream = String(input).endsWith('/events');
    return new Response(isStream ? `event: task\ndata: ${ENDED}\n\n` : `{"task":${ENDED}}`, {
      headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    });
  };
  const relata = createRelata({ url: 'http://service', key: 'k', fetch: recording as typeof fetch });
  const { call: _, ...groups } = relata;
  for (const method of Object.values(groups).flatMap(listMethods)) {
    for (const given of ARGUMENTS) await tryOut(method as (...all: unknown[]) => unknown, given);
  }
  const missing = Object.keys(operations).filter((name) => !(name in BY_ANOTHER) && !asked.has(name));
  assert.deepEqual(missing, []);
});

/** Includes those of a group within a group. */
const listMethods = (group: object): unknown[] =>
  Object.values(group).flatMap((one) => (typeof one === 'function' ? [one] : listMethods(one)));

/** Waits for the first answer, or for a moment. */
async function tryOut(method: (...given: unknown[]) => unknown, given: readonly unknown[]): Promise<void> {
  const until = AbortSignal.timeout(20);
  const signalled = given.map((one) => (isEmpty(one) ? { signal: until } : one));
  try {
    const result = method(...signalled);
    const isStream = typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
    const first = isStream ? (result as AsyncGenerator).next() : result;
    const late = new Promise((resolve) => until.addEventListener('abort', resolve));
    await Promise.race([first, late]);
  } catch {
    // These arguments do not fit this method.
  }
}

const isEmpty = (one: unknown) => typeof one === 'object' && one !== null && Object.keys(one).length === 0;

/** @returns the name of the operation with the longest matching path, because `/import` is not an id */
function nameOf(method: string, path: string): string {
  const fitting = Object.entries(operations).filter(
    ([, [verb, template]]) =>
      verb === method && new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return fitting.sort(([, [, a]], [, [, b]]) => fixed(b) - fixed(a))[0]?.[0] ?? path;
}

const fixed = (template: string) => template.replace(/\{\w+\}/g, '').length;
