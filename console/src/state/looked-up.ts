import type { Product, Relata } from '@relata/client';
import { useOfProject } from './project.ts';

/** What comes into sight together is asked for in one call. */
const GATHER_MS = 40;
const MOST_AT_ONCE = 200;

interface LookUp {
  /** Another one when the product may have changed. */
  readonly version?: number;
  readonly isEnabled?: boolean;
}

/** @returns a product as it is answered, null where there is none; undefined until it has come */
export function useLookedUp(
  identifier: string,
  { version = 0, isEnabled = true }: LookUp = {},
): Product | null | undefined {
  return useOfProject(
    ['looked-up', identifier, version],
    ({ relata, projectId, signal }) => gather(relata, projectId).read(identifier, signal),
    { enabled: isEnabled, refetchOnWindowFocus: false, staleTime: 60_000, gcTime: 60_000 },
  ).data;
}

type Gatherer = ReturnType<typeof createGatherer>;
const gatherers = new WeakMap<Relata, Map<number, Gatherer>>();

function gather(relata: Relata, projectId: number): Gatherer {
  const known = gatherers.get(relata) ?? new Map<number, Gatherer>();
  const found = known.get(projectId) ?? createGatherer(relata, projectId);
  gatherers.set(relata, known.set(projectId, found));
  return found;
}

interface Waiting {
  resolve(product: Product | null): void;
  reject(reason: unknown): void;
}

function createGatherer(relata: Relata, projectId: number) {
  let waiting = new Map<string, Waiting>();

  async function send(batch: ReadonlyMap<string, Waiting>): Promise<void> {
    const products = await relata.products.lookUp([...batch.keys()], { projectId });
    const found = new Map(products.map((product) => [product.identifier, product]));
    for (const [identifier, { resolve }] of batch) resolve(found.get(identifier) ?? null);
  }

  function flush(): void {
    const all = [...waiting];
    waiting = new Map();
    for (let at = 0; at < all.length; at += MOST_AT_ONCE) {
      const batch = new Map(all.slice(at, at + MOST_AT_ONCE));
      send(batch).catch((reason: unknown) => {
        for (const { reject } of batch.values()) reject(reason);
      });
    }
  }

  return {
    /** A row that leaves the sight before it was asked for is not. */
    read: (identifier: string, signal: AbortSignal): Promise<Product | null> =>
      new Promise((resolve, reject) => {
        if (waiting.size === 0) setTimeout(flush, GATHER_MS);
        waiting.set(identifier, { resolve, reject });
        signal.addEventListener('abort', () => {
          if (waiting.delete(identifier)) reject(signal.reason);
        });
      }),
  };
}
