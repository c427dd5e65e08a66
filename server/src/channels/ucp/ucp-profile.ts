/** How a channel describes itself. Source: Universal Commerce Protocol, release 2026-04-08. */

const UCP_VERSION = '2026-04-08';
const CAPABILITIES = {
  search: 'dev.ucp.shopping.catalog.search',
  lookup: 'dev.ucp.shopping.catalog.lookup',
} as const;
/** Our own name, until the protocol has one. */
const EXTENSION = 'dev.relata.shopping.compatibility';

export type Capability = keyof typeof CAPABILITIES;

/** @returns the description of itself that an answer of a capability contains */
export function describeAnswer(capability: Capability) {
  const named = capability === 'lookup' ? [CAPABILITIES.lookup, EXTENSION] : [CAPABILITIES[capability]];
  const capabilities = Object.fromEntries(named.map((name) => [name, [{ version: UCP_VERSION }]]));
  return { version: UCP_VERSION, status: 'success', capabilities };
}

const SPEC = `https://ucp.dev/${UCP_VERSION}`;

const describeCapability = (page: string, schema: string) => [
  {
    version: UCP_VERSION,
    spec: `${SPEC}/specification/catalog/${page}`,
    schema: `${SPEC}/schemas/shopping/${schema}.json`,
  },
];

/** @param endpoint the address of the channel, which a shop may hide behind its own address */
export const describeProfile = (endpoint: string) => ({
  ucp: {
    version: UCP_VERSION,
    services: {
      'dev.ucp.shopping': [
        {
          version: UCP_VERSION,
          spec: `${SPEC}/specification/overview`,
          transport: 'rest',
          schema: `${SPEC}/services/shopping/rest.openapi.json`,
          endpoint,
        },
      ],
    },
    capabilities: {
      [CAPABILITIES.search]: describeCapability('search', 'catalog_search'),
      [CAPABILITIES.lookup]: describeCapability('lookup', 'catalog_lookup'),
      [EXTENSION]: [
        {
          version: UCP_VERSION,
          spec: 'https://github.com/Universal-Commerce-Protocol/ucp/issues/385',
          schema: `${endpoint}/compatibility.json`,
          extends: CAPABILITIES.lookup,
        },
      ],
    },
    payment_handlers: {},
  },
});
