/** The profile of a channel, and the schema of its extension. Source: Universal Commerce Protocol, release 2026-04-08. */

export const UCP_VERSION = '2026-04-08';
export const CAPABILITIES = {
  search: 'dev.ucp.shopping.catalog.search',
  lookup: 'dev.ucp.shopping.catalog.lookup',
} as const;
/** A name of its own, until the protocol has one for it. */
export const EXTENSION = 'dev.relata.shopping.compatibility';

const SPEC = `https://ucp.dev/${UCP_VERSION}`;
const EXTENSION_SPEC = 'https://github.com/Universal-Commerce-Protocol/ucp/issues/385';

const capability = (page: string, schema: string) => [
  {
    version: UCP_VERSION,
    spec: `${SPEC}/specification/catalog/${page}`,
    schema: `${SPEC}/schemas/shopping/${schema}.json`,
  },
];

/** @param endpoint the address of the channel, which a shop may hide behind its own */
export const describeProfile = (endpoint: string) => ({
  ucp: {
    version: UCP_VERSION,
    services: {
      'dev.ucp.shopping': [
        {
          ...{ version: UCP_VERSION, spec: `${SPEC}/specification/overview`, transport: 'rest' },
          ...{ schema: `${SPEC}/services/shopping/rest.openapi.json`, endpoint },
        },
      ],
    },
    capabilities: {
      [CAPABILITIES.search]: capability('search', 'catalog_search'),
      [CAPABILITIES.lookup]: capability('lookup', 'catalog_lookup'),
      [EXTENSION]: [
        {
          ...{ version: UCP_VERSION, spec: EXTENSION_SPEC, schema: `${endpoint}/compatibility.json` },
          extends: CAPABILITIES.lookup,
        },
      ],
    },
    payment_handlers: {},
  },
});

const CATALOG_LOOKUP = `https://ucp.dev/schemas/shopping/catalog_lookup.json`;
const text = (description: string) => ({ type: 'string', description });
const verdict = (...more: string[]) => ({
  type: 'string',
  enum: ['fits', 'does_not_fit', 'unknown', ...more],
});

/** Source: docs/ucp-compatibility.md. */
export const EXTENSION_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  name: EXTENSION,
  title: 'Compatibility Extension',
  description:
    'Extends Catalog Lookup with products that go with a product, and with a verdict whether it can be used together with others.',
  $defs: {
    related_product: {
      type: 'object',
      required: ['id', 'variant', 'title', 'price'],
      properties: {
        id: text('Product ID.'),
        variant: text('ID of the variant that is meant.'),
        title: text('Product title.'),
        url: { type: 'string', format: 'uri' },
        price: { $ref: 'https://ucp.dev/schemas/common/types/price.json' },
        media: { type: 'array', items: { $ref: 'https://ucp.dev/schemas/common/types/media.json' } },
      },
    },
    related: {
      type: 'object',
      required: ['relation', 'name', 'products'],
      properties: {
        relation: {
          ...text('What the products are to the product. Open vocabulary.'),
          examples: ['accessory', 'required_part', 'substitute', 'often_bought_with', 'part_of_set'],
        },
        name: text('Human-readable name of the relation.'),
        products: { type: 'array', items: { $ref: '#/$defs/related_product' }, minItems: 1 },
      },
    },
    fit: {
      type: 'object',
      required: ['verdict', 'pairs'],
      description:
        'A verdict over the product and those of the request, with one for each pair that a rule judges.',
      properties: {
        verdict: verdict('no_rule'),
        pairs: {
          type: 'array',
          items: {
            type: 'object',
            required: ['source', 'target', 'relation', 'verdict'],
            properties: {
              source: text('Variant ID.'),
              target: text('Variant ID.'),
              relation: text('Human-readable name of the rule.'),
              verdict: verdict(),
              missing: {
                type: 'array',
                description: 'Values without which the verdict is unknown.',
                items: {
                  type: 'object',
                  required: ['identifier', 'attribute'],
                  properties: { identifier: text('Variant ID.'), attribute: text('Name of the attribute.') },
                },
              },
            },
          },
        },
        unknown: { type: 'array', items: { type: 'string' }, description: 'IDs of no product.' },
        receipt: text('Hash of the judgement: the same question on the same catalog has the same.'),
      },
    },
    compatibility: {
      type: 'object',
      properties: {
        related: { type: 'array', items: { $ref: '#/$defs/related' } },
        fit: { $ref: '#/$defs/fit' },
      },
    },
    compatibility_request: {
      type: 'object',
      required: ['with'],
      properties: {
        with: {
          type: 'array',
          items: { type: 'string' },
          description: 'Product or variant IDs that the product is to be used with.',
        },
      },
    },
    [CAPABILITIES.lookup]: {
      title: 'Catalog Lookup with Compatibility',
      $defs: {
        get_product_request: {
          allOf: [
            { $ref: `${CATALOG_LOOKUP}#/$defs/get_product_request` },
            {
              type: 'object',
              properties: { compatibility: { $ref: '#/$defs/compatibility_request' } },
            },
          ],
        },
        get_product_response: {
          allOf: [
            { $ref: `${CATALOG_LOOKUP}#/$defs/get_product_response` },
            {
              type: 'object',
              properties: {
                product: {
                  type: 'object',
                  properties: { compatibility: { $ref: '#/$defs/compatibility' } },
                },
              },
            },
          ],
        },
      },
    },
  },
};
