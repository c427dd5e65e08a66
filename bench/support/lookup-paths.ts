import { startRandom } from './synthetic-products.ts';

/** Requests for random products, the same in every run. */
export interface WantedPaths {
  readonly path: string;
  readonly identifiers: ArrayLike<string>;
  readonly perRequest: number;
  readonly requests: number;
}

/** Enough requests to cover the whole catalog before the first one repeats. */
export const REQUESTS_OF_100 = 4_000;

export function listPaths({ path, identifiers, perRequest, requests }: WantedPaths): string[] {
  const random = startRandom(perRequest);
  const separator = path.includes('?') ? '&' : '?';
  return Array.from({ length: requests }, () => {
    const chosen = Array.from({ length: perRequest }, () => identifiers[random(identifiers.length)]);
    return `${path}${separator}identifiers=${encodeURIComponent(JSON.stringify(chosen))}`;
  });
}

export const lookupPath = (projectId: number) => `/product-service/products-by-sku?projectId=${projectId}`;
