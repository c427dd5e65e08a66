import type { ServiceClient } from '../support/service-client.ts';
import { runFullUpdate } from '../support/service-client.ts';

/** A catalog of few products, each of which reaches the limits of docs/interface §8. */
export interface FatCatalog {
  readonly service: ServiceClient;
  readonly projectId: number;
  readonly count: number;
  /** The number of values of a product, each of 65,000 characters. */
  readonly values: number;
  /** The words that make up the values. Default: always the same word. */
  word?(at: number): string;
  /** Attributes of each product in addition to its values. */
  readonly attributes?: readonly { readonly key: string; readonly value: string }[];
}

const VALUE_CHARACTERS = 65_000;
const PRODUCTS_PER_BODY = 10;
const PATH = ['Fat products'];

export const fatIdentifier = (at: number) => `long-${at}`;

export async function loadFatProducts(catalog: FatCatalog): Promise<void> {
  await runFullUpdate(catalog.service, catalog.projectId, { bodies: describeFatProducts(catalog) });
}

function* describeFatProducts({ count, values, word = () => 'long', attributes = [] }: FatCatalog) {
  let words = 0;
  function describeValue(): string {
    let value = '';
    while (value.length < VALUE_CHARACTERS) value += `${word(words++)} `;
    return value.slice(0, VALUE_CHARACTERS).trim();
  }
  for (let from = 0; from < count; from += PRODUCTS_PER_BODY) {
    const length = Math.min(PRODUCTS_PER_BODY, count - from);
    const products = Array.from({ length }, (_, at) => ({
      identifier: fatIdentifier(from + at),
      name: `Long product ${from + at}`,
      categories: [{ path: PATH }],
      attributes: [
        ...attributes,
        ...Array.from({ length: values }, (__, value) => ({ key: `Text ${value}`, value: describeValue() })),
      ],
    }));
    yield Buffer.from(JSON.stringify({ products }));
  }
}
