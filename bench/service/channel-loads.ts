import type { TaskAnswer } from '../support/service-client.ts';
import { spreadOf } from '../support/statistics.ts';
import type { Attack, HostileLoad, Sent } from './attack.ts';
import { fatIdentifier, loadFatProducts } from './fat-products.ts';

/** Loads on large products: agents and shops read them through channels, without a key, and by MCP. */

const FAT = { values: 12, count: 400 };
const AT_ONCE = 4;
/** The limit of `compatibility.with`. Source: docs/interface §16.9 rule 7. */
const MOST_COMPATIBLE = 50;
const MOST_TOOL_IDENTIFIERS = 10;
const BUILT_PRODUCTS = 100;
const BUILDS = 3;

const SOLD = [
  { key: 'Price', value: '19.99 EUR' },
  { key: 'Availability', value: 'in_stock' },
];
const MAPPING = {
  title: { field: 'name' },
  description: { attribute: 'Text 0' },
  price: { attribute: 'Price' },
  availability: { attribute: 'Availability' },
};
const CONSTRAINT = {
  name: 'Same price',
  tag: 'fits',
  constraint: true,
  source: { all: [] },
  target: { all: [] },
  match: [{ target: 'Price', operator: 'equals', source: 'Price' }],
};

/** @returns the path of the channel's address, which callers without a key use */
async function createUcpChannel({ service, projectId }: Attack): Promise<string> {
  const definition = { name: 'Agents', format: { type: 'ucp' }, mapping: MAPPING };
  const path = `/management/projects/${projectId}/channels`;
  const { url } = await service.succeed<{ url: string }>('POST', path, definition);
  return new URL(url).pathname;
}

/** A load of requests without a key to a channel of large products. */
function keyless(name: string, title: string, describe: (channel: string) => readonly Sent[]): HostileLoad {
  let requests: readonly Sent[] = [];
  return {
    name,
    title: `${title}, ${FAT.count} products of 0.78 MB, ${AT_ONCE} at once without a key`,
    async prepare(attack) {
      await loadFatProducts({ ...attack, ...FAT, attributes: SOLD });
      await attack.service.succeed('POST', `/management/projects/${attack.projectId}/relations`, CONSTRAINT);
      const channel = await createUcpChannel(attack);
      requests = describe(channel).map((one) => ({ ...one, method: 'POST', key: null }));
      await attack.waitForSearch('product');
    },
    run: (attack) => attack.repeat(AT_ONCE, requests),
  };
}

/** No product has such a price, so a search reads as many groups as one request may read. */
const UNSOLD = { price: { min: 9_000_000 } };

const compatible = Array.from({ length: MOST_COMPATIBLE }, (_, at) => fatIdentifier(at + 1));

const callTool = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
});

/** Builds the channel repeatedly, one build after another, and counts the builds that do not end as FINISHED. */
async function buildChannel(attack: Attack, path: string): Promise<void> {
  const { service, figures } = attack;
  const ends: string[] = [];
  for (let at = 0; at < BUILDS && !attack.isOver; at += 1) {
    const { task } = await service.succeed<TaskAnswer>('POST', path);
    ends.push(await attack.waitForTask(task.id));
  }
  figures.push({
    name: 'the same: builds that did not end FINISHED',
    spread: spreadOf([ends.filter((status) => status !== 'FINISHED').length + (BUILDS - ends.length)]),
    unit: 'faults',
    target: { kind: 'at most', value: 0 },
    absolute: `${BUILDS} builds: ${ends.join(', ')}`,
  });
}

let buildPath = '';

export const CHANNEL_LOADS: readonly HostileLoad[] = [
  keyless('ucp-search', 'searches of a UCP channel that no product satisfies', (channel) => [
    { path: `${channel}/catalog/search`, json: { query: 'product', filters: UNSOLD } },
  ]),
  keyless('ucp-pages', 'searches of a UCP channel for pages of 50', (channel) => [
    { path: `${channel}/catalog/search`, json: { query: 'product', pagination: { limit: 50 } } },
  ]),
  keyless('ucp-compatibility', `compatibility of a product with ${MOST_COMPATIBLE} others`, (channel) => [
    {
      path: `${channel}/catalog/product`,
      json: { id: fatIdentifier(0), compatibility: { with: compatible } },
    },
  ]),
  {
    name: 'mcp-lookup',
    title: `lookups of ${MOST_TOOL_IDENTIFIERS} products of 1.95 MB by MCP, ${AT_ONCE} at once`,
    prepare: ({ service, projectId }) =>
      loadFatProducts({ service, projectId, count: MOST_TOOL_IDENTIFIERS, values: 30 }),
    run: (attack) =>
      attack.repeat(AT_ONCE, [
        {
          path: `/mcp?projectId=${attack.projectId}`,
          method: 'POST',
          json: callTool('get_products', {
            identifiers: Array.from({ length: MOST_TOOL_IDENTIFIERS }, (_, at) => fatIdentifier(at)),
          }),
          headers: { accept: 'application/json, text/event-stream' },
        },
      ]),
  },
  {
    name: 'channel-build',
    title: `builds of a channel of ${BUILT_PRODUCTS} products of 1.95 MB, one after another`,
    async prepare(attack) {
      const { service, projectId } = attack;
      await loadFatProducts({ service, projectId, count: BUILT_PRODUCTS, values: 30 });
      const path = `/management/projects/${projectId}/channels`;
      const texts = Array.from({ length: 30 }, (_, at) => [`text_${at}`, { attribute: `Text ${at}` }]);
      const mapping = { identifier: { field: 'identifier' }, ...Object.fromEntries(texts) };
      const definition = { name: 'Fat', format: { type: 'csv' }, mapping };
      const { id } = await service.succeed<{ id: number }>('POST', path, definition);
      buildPath = `${path}/${id}/build`;
    },
    run: (attack) => buildChannel(attack, buildPath),
  },
];
