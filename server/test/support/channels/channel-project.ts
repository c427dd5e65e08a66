import assert from 'node:assert/strict';
import { createCatalog, type TestCatalog } from '../shared-service.ts';
import type { Answer, CallOptions, TestProduct, TestService } from '../test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** A project with the calls of its channels. */
export interface ChannelProject extends TestCatalog {
  manage(method: string, path?: string, options?: CallOptions): Promise<Answer<AnyBody>>;
  /** @returns the channel of the answer */
  create(definition: object): Promise<AnyBody>;
  read(channel: { id: number }): Promise<AnyBody>;
  /** @returns the finished task of a build that must be accepted */
  build(channel: { id: number }): Promise<AnyBody>;
  /** @returns the file published at an address, without a key */
  fetch(url: string, headers?: Record<string, string>): Promise<Response>;
  /** Creates a relation by rule, and waits for its index. */
  relate(tag: string, definition: object): Promise<AnyBody>;
}

export async function createChannelProject(service: TestService): Promise<ChannelProject> {
  const catalog = await createCatalog(service);
  const root = `/management/projects/${catalog.projectId}`;
  const manage: ChannelProject['manage'] = (method, path = '', options = {}) =>
    service.call(method, `${root}/channels${path}`, options);
  return {
    ...catalog,
    manage,
    async create(definition) {
      const { status, body } = await manage('POST', '', { body: definition });
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    },
    async read({ id }) {
      const { status, body } = await manage('GET', `/${id}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    build: async ({ id }) => catalog.done(await manage('POST', `/${id}/build`)),
    // Tests configure the port 0, so the address in the answer has the wrong port.
    fetch: (url, headers = {}) => fetch(new URL(new URL(url).pathname, service.address), { headers }),
    async relate(tag, definition) {
      const body = { name: tag, tag, ...definition };
      const { status, body: relation } = await service.call('POST', `${root}/relations`, { body });
      assert.equal(status, 201, JSON.stringify(relation));
      for (;;) {
        const answer = await service.call('GET', `${root}/relations/${relation.id}`);
        assert.notEqual(answer.body.state, 'misconfigured', JSON.stringify(answer.body));
        if (answer.body.state === 'ready') return answer.body;
        const open = (await catalog.tasks()).find(({ finishTime }) => finishTime === null);
        if (open) await service.ended(open.id);
      }
    },
  };
}

const attributes = (values: Record<string, string>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));

/** A product with everything that most formats require. */
export function sold(
  identifier: string,
  values: Record<string, string> = {},
  more: object = {},
): TestProduct {
  const usual = { Brand: 'Bosch', Price: '19.99 EUR', Availability: 'in_stock', Description: 'A good one' };
  return {
    identifier,
    name: `Product ${identifier}`,
    productUrl: `https://shop.test/p/${identifier}`,
    image: `https://shop.test/i/${identifier}.jpg`,
    categories: [{ path: ['Tools', 'Drills'] }],
    attributes: attributes({ ...usual, ...values }),
    ...more,
  };
}

/** Drills lead to bits of their system. */
export const FITS = {
  source: { attribute: 'Kind', operator: 'equals', value: 'drill' },
  target: { attribute: 'Kind', operator: 'equals', value: 'bit' },
  match: [{ target: 'System', operator: 'equals', source: 'System' }],
};
