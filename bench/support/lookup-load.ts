/** The load generator: a separate process that looks up products and reports the times of the answers. */
import { setTimeout as pause } from 'node:timers/promises';
import { answerParent } from './child-process.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { goFirst } from './process-usage.ts';
import { percentile } from './statistics.ts';

export interface LoadOrder {
  readonly address: string;
  readonly key: string;
  /** Requested one after another, repeatedly. */
  readonly paths: readonly string[];
  readonly seconds: number;
  readonly connections: number;
  /** Requests per second, independent of the answers. Undefined: each connection has one after another. */
  readonly rate?: number;
  /** The number of requests, whatever their time. Used only without a rate. */
  readonly requests?: number;
  /** Two products that change together are looked up together, so their versions must be equal. */
  readonly comparesVersions?: boolean;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly longest: number;
  /** Answers with different versions. */
  readonly mixtures: number;
  /** The versions in the answers. */
  readonly versions: readonly string[];
}

const LONGEST_WAIT_MS = 60_000;

/** The parent ends periods of unknown length. */
let isStopped = false;
process.on('SIGUSR2', () => {
  isStopped = true;
});

class Load {
  readonly latencies: number[] = [];
  readonly versions = new Set<string>();
  mixtures = 0;
  private readonly order: LoadOrder;
  private readonly requests: readonly Buffer[];
  private readonly connections: HttpConnection[];
  private readonly fail: (error: Error) => void;
  private readonly due: number[] = [];
  private next = 0;

  constructor(order: LoadOrder, connections: HttpConnection[], fail: (error: Error) => void) {
    this.order = order;
    this.connections = connections;
    this.fail = fail;
    const { host } = new URL(order.address);
    const headers = `HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${order.key}\r\n\r\n`;
    this.requests = order.paths.map((path) => Buffer.from(`GET ${path} ${headers}`));
  }

  /** `since`: the time when the request was due, so a slow answer counts for each request that it delays. */
  ask(connection: HttpConnection, since: number, then: () => void): void {
    const request = this.requests[this.next++ % this.requests.length];
    if (request === undefined) throw new Error('nothing to ask');
    connection.send(request, (status, body) => {
      this.latencies.push(performance.now() - since);
      if (status !== 200) this.fail(new Error(`an answer with status ${status}`));
      if (body !== undefined) this.compareVersions(body);
      then();
    });
  }

  private compareVersions(body: string): void {
    const seen = new Set(Array.from(body.matchAll(/ revision v(\d+)"/g), ([, version = '']) => version));
    for (const version of seen) this.versions.add(version);
    if (seen.size !== 1) this.mixtures += 1;
  }

  /** Closed loop: `requests` requests if set, otherwise as many as are answered in time. */
  async runClosed(until: number): Promise<void> {
    const { requests } = this.order;
    const isOver = (now: number) => (requests === undefined ? now >= until : this.next >= requests);
    const runOne = (connection: HttpConnection) =>
      new Promise<void>((resolve) => {
        const again = () => {
          const now = performance.now();
          if (isOver(now)) resolve();
          else this.ask(connection, now, again);
        };
        again();
      });
    await Promise.all(this.connections.map(runOne));
  }

  /** Open loop: requests are due at fixed instants, and wait for a free connection if necessary. */
  async runOpen(start: number, rate: number): Promise<void> {
    const total = Math.round(this.order.seconds * rate);
    const latest = start + this.order.seconds * 1_000 + LONGEST_WAIT_MS;
    const dueAt = (request: number) => start + (request * 1_000) / rate;
    let planned = 0;
    while (!(isStopped && this.latencies.length === planned) && this.latencies.length < total) {
      const now = performance.now();
      if (now > latest) throw new Error('answers are missing');
      const wanted = isStopped ? planned : total;
      for (; planned < wanted && dueAt(planned) <= now; planned += 1) this.due.push(dueAt(planned));
      this.serveDue();
      await pause(1);
    }
  }

  private serveDue(): void {
    for (const connection of this.connections) {
      if (connection.isBusy) continue;
      const since = this.due.shift();
      if (since === undefined) return;
      this.ask(connection, since, () => this.serveDue());
    }
  }
}

async function run(order: LoadOrder): Promise<LoadResult> {
  isStopped = false;
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const options = { address: order.address, keepsBodies: order.comparesVersions === true, onError: fail };
  const opened = Array.from({ length: order.connections }, () => openConnection(options));
  const connections = await Promise.all(opened);
  const load = new Load(order, connections, fail);
  const start = performance.now();
  const work =
    order.rate === undefined
      ? load.runClosed(start + order.seconds * 1_000)
      : load.runOpen(start, order.rate);
  await Promise.race([work, failed]);
  const seconds = (performance.now() - start) / 1_000;
  for (const connection of connections) connection.close();
  return summarise(load, seconds);
}

function summarise({ latencies, mixtures, versions }: Load, seconds: number): LoadResult {
  const sorted = Float64Array.from(latencies).sort();
  return {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50: percentile(sorted, 50),
    p99: percentile(sorted, 99),
    p999: percentile(sorted, 99.9),
    longest: sorted.at(-1) ?? Number.NaN,
    mixtures,
    versions: [...versions],
  };
}

goFirst();
answerParent<LoadOrder>(run);
