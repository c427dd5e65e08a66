import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresServer, query, startPostgres } from '../postgres/postgres-server.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { type ServiceProcess, startProcess } from '../service-process.ts';
import { postgresStoreOn, type TestStore } from '../test-store.ts';
import type { Cluster } from './play-history.ts';

/** Three processes on their own database, which they reach through a proxy, with all possible faults. */

const PROCESSES = 3;
/** A cut occurs within this many bytes on each connection. */
const CUT_WITHIN_BYTES = 4_000;

/** Forwards connections to a database, and cuts them at any byte. */
class CuttingProxy {
  cuts = 0;
  port = 0;
  private readonly server: Server;
  private readonly links = new Set<{ left: number; cut: () => void }>();

  constructor() {
    this.server = createServer((socket) => this.pass(socket));
  }

  async listen(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.server.listen(0, '127.0.0.1', resolve);
    await promise;
    return `${(this.server.address() as { port: number }).port}`;
  }

  /** Cuts every open connection in the middle of its traffic. */
  cut(random: () => number): void {
    for (const link of this.links) link.left = Math.floor(random() * CUT_WITHIN_BYTES);
  }

  cutNow(): void {
    for (const link of this.links) link.cut();
  }

  close(): void {
    this.cutNow();
    this.server.close();
  }

  private pass(socket: Socket): void {
    const target = connect(this.port, '127.0.0.1');
    const link = {
      left: Number.POSITIVE_INFINITY,
      cut: () => {
        this.links.delete(link);
        socket.destroy();
        target.destroy();
      },
    };
    this.links.add(link);
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      from.on('data', (bytes: Buffer) => this.carry(link, to, bytes));
      from.on('error', link.cut).on('close', link.cut);
    }
  }

  private carry(link: { left: number; cut: () => void }, to: Socket, bytes: Buffer): void {
    if (bytes.length <= link.left) {
      link.left -= bytes.length;
      to.write(bytes);
      return;
    }
    this.cuts += 1;
    to.write(bytes.subarray(0, link.left), link.cut);
  }
}

const portOf = ({ url }: PostgresServer) => Number(new URL(url).port);

interface ClusterParts {
  readonly primary: PostgresServer;
  readonly proxy: CuttingProxy;
  readonly store: TestStore;
  readonly random: () => number;
}

/** More failures in a row are not a coincidence. */
const STARTS = 10;

/** A pause longer than a lease (15 s), after which other processes take over running work. */
const LONG_PAUSE_MS = 20_000;

export class HistoryCluster implements Cluster {
  readonly counts = { kills: 0, pauses: 0, restarts: 0, failovers: 0, cuts: 0 };
  private readonly alive: ServiceProcess[] = [];
  private replacing: Promise<void> = Promise.resolve();
  private readonly proxy: CuttingProxy;
  private readonly random: () => number;
  private primary: PostgresServer;
  private standby: PostgresServer | undefined;
  private readonly first: PostgresServer;
  private readonly store: TestStore;

  private constructor({ primary, proxy, store, random }: ClusterParts) {
    this.primary = primary;
    this.first = primary;
    this.proxy = proxy;
    this.store = store;
    this.random = random;
  }

  static async start(random: () => number): Promise<HistoryCluster> {
    const primary = await startPostgres({ isDurable: true });
    const { url } = await createDatabase(primary.url);
    const proxy = new CuttingProxy();
    proxy.port = portOf(primary);
    const through = Object.assign(new URL(url), { port: await proxy.listen() }).href;
    const dataDir = await mkdtemp(join(tmpdir(), 'relata-history-'));
    const store = postgresStoreOn({ url: through, drop: async () => {} }, dataDir);
    const cluster = new HistoryCluster({ primary, proxy, store, random });
    const started = Array.from({ length: PROCESSES }, () => startProcess(cluster.store));
    cluster.alive.push(...(await Promise.all(started)));
    return cluster;
  }

  pick(): ServiceProcess | undefined {
    return this.alive[Math.floor(this.random() * this.alive.length)];
  }

  pickReader() {
    return { process: this.pick(), behindMs: 0 };
  }

  listFaults(isLong: boolean) {
    return [
      () => this.kill(),
      () => this.cut(),
      () => this.pause(isLong && this.random() < 0.3 ? LONG_PAUSE_MS : 500 + this.random() * 2_000),
      () => this.restart(),
    ];
  }

  private async kill(): Promise<void> {
    await this.replacing;
    const [victim] = this.alive.splice(Math.floor(this.random() * this.alive.length), 1);
    await victim?.kill();
    this.counts.kills += 1;
    this.replacing = this.replace();
  }

  /** A start fails if its connections are cut. A supervisor then starts the service again. */
  private async replace(): Promise<void> {
    for (let start = 1; ; start += 1) {
      const started = await startProcess(this.store).catch((error: Error) => error);
      if (!(started instanceof Error)) return void this.alive.push(started);
      if (start === STARTS) throw started;
    }
  }

  /** Waits until the last killed process has a successor. */
  async complete(): Promise<void> {
    await this.replacing;
  }

  /** @param ms may be longer than a lease */
  private async pause(ms: number): Promise<void> {
    const victim = this.pick();
    victim?.pause();
    await delay(ms);
    victim?.continue();
    this.counts.pauses += 1;
  }

  private cut(): void {
    this.proxy.cut(this.random);
    this.counts.cuts = this.proxy.cuts;
  }

  /** Immediate mode: sessions end without finishing, and the database recovers from its log. */
  private async restart(): Promise<void> {
    await this.primary.halt();
    await this.primary.start();
    this.counts.restarts += 1;
  }

  /** Makes a standby that has each commit before the commit is answered. */
  async prepareFailover(): Promise<void> {
    this.standby = await this.primary.startReplica();
    await query(this.primary.url, "alter system set synchronous_standby_names = '*'");
    await query(this.primary.url, 'select pg_reload_conf()');
    const waiting = "select from pg_stat_replication where sync_state = 'sync'";
    while ((await query(this.primary.url, waiting)).length === 0) await delay(50);
  }

  async failOver(): Promise<undefined> {
    const { standby } = this;
    if (standby === undefined) return undefined;
    this.standby = undefined;
    await this.primary.halt('crash');
    this.proxy.cutNow();
    await standby.promote();
    this.primary = standby;
    this.proxy.port = portOf(standby);
    this.counts.failovers += 1;
    return undefined;
  }

  async stop(): Promise<void> {
    await this.replacing.catch(() => {});
    for (const process of this.alive) {
      process.continue();
      await process.kill();
    }
    this.counts.cuts = this.proxy.cuts;
    this.proxy.close();
    await this.first.stop();
    await rm(this.store.dataDir, { recursive: true, force: true });
  }
}
