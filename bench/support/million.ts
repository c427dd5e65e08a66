import { PRODUCTS_PER_BATCH, streamBodies } from './catalogs.ts';
import type { Bench } from './measurement.ts';
import { type Memory, readMemory, waitUntilQuiet } from './process-usage.ts';
import type { BenchService } from './service.ts';
import { type FullUpdateTime, runFullUpdate } from './service-client.ts';
import { FIRST_VERSION, identifierOf } from './synthetic-products.ts';

/** A service with a large and a small catalog, loaded once for all measurements that use it. */
export interface MillionCatalog {
  readonly service: BenchService;
  readonly projectId: number;
  readonly smallProjectId: number;
  readonly count: number;
  readonly smallCount: number;
  /** The memory of a newly started process while it loads the large catalog. */
  readonly loading: LoadingMemory;
}

export interface LoadingMemory {
  /** The peak until the tenth batch was accepted. */
  readonly afterTen: Memory;
  readonly afterAll: Memory;
  readonly afterCommit: Memory;
  readonly time: FullUpdateTime;
}

const EARLY_BATCHES = 10;

export function openMillion(bench: Bench): Promise<MillionCatalog> {
  return bench.share('million', async () => {
    const count = bench.sizes.million;
    const service = await bench.startService('million');
    const projectId = await service.createProject('Million');
    bench.say(`loading ${count} products`);
    const loading = await loadMillion(service, projectId, count);
    const smallProjectId = await service.createProject('Small');
    const smallCount = PRODUCTS_PER_BATCH;
    await runFullUpdate(service, smallProjectId, { bodies: streamBodies(smallCount, FIRST_VERSION) });
    await waitUntilQuiet(service.pid);
    return { service, projectId, smallProjectId, count, smallCount, loading };
  });
}

async function loadMillion(service: BenchService, projectId: number, count: number): Promise<LoadingMemory> {
  let afterTen = readMemory(service.pid);
  let afterAll = afterTen;
  const early = Math.min(EARLY_BATCHES, Math.ceil(count / PRODUCTS_PER_BATCH / 2));
  const time = await runFullUpdate(service, projectId, {
    bodies: streamBodies(count, FIRST_VERSION),
    hooks: {
      onUploaded(batches) {
        if (batches === early) afterTen = readMemory(service.pid);
      },
      onStart() {
        afterAll = readMemory(service.pid);
      },
    },
  });
  await waitUntilQuiet(service.pid);
  return { afterTen, afterAll, afterCommit: readMemory(service.pid), time };
}

/** The identifiers of a synthetic catalog, without a list in memory. */
export function identifiersBelow(count: number, every = 1): ArrayLike<string> {
  return new Proxy({ length: Math.ceil(count / every) } as ArrayLike<string>, {
    get: (target, name) => (name === 'length' ? target.length : identifierOf(Number(name) * every)),
  });
}
