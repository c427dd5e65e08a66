/** A unit of work that ends by itself, such as a test file in a process of its own. */
export interface Job {
  /** `computes`: keeps a core busy; `waits`: mostly for leases, clocks and other processes; `alone`: runs after all others. */
  readonly kind: 'computes' | 'waits' | 'alone';
  /** The usual duration: the longest jobs start first. */
  readonly seconds: number;
  /** Jobs that have to end before. */
  readonly after?: readonly Job[];
  run(): Promise<void>;
}

export interface Slots {
  readonly computes: number;
  /** In addition to the computing ones. */
  readonly waits: number;
}

/** Runs all jobs. A slot without jobs of its own kind takes others: waiting jobs also run in computing slots. */
export async function runJobs(jobs: readonly Job[], slots: Slots): Promise<void> {
  const open = [...jobs].sort((a, b) => b.seconds - a.seconds);
  const ended = new Set<Job>();
  let running = 0;
  let changed = Promise.withResolvers<void>();

  const isReady = ({ kind, after = [] }: Job) =>
    after.every((job) => ended.has(job)) &&
    (kind !== 'alone' || (running === 0 && open.every((job) => job.kind === 'alone')));

  function take(kinds: readonly Job['kind'][]): Job | undefined {
    for (const kind of kinds) {
      const at = open.findIndex((job) => job.kind === kind && isReady(job));
      if (at >= 0) return open.splice(at, 1)[0];
    }
    return undefined;
  }

  async function work(kinds: readonly Job['kind'][]): Promise<void> {
    while (open.some(({ kind }) => kinds.includes(kind))) {
      const job = take(kinds);
      if (job === undefined) {
        await changed.promise;
        continue;
      }
      running += 1;
      await job.run();
      running -= 1;
      ended.add(job);
      changed.resolve();
      changed = Promise.withResolvers();
    }
  }

  await Promise.all([
    ...Array.from({ length: slots.computes }, () => work(['computes', 'waits', 'alone'])),
    ...Array.from({ length: slots.waits }, () => work(['waits'])),
  ]);
}
