// runs: deep, postgres long, citus long, waits
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CatalogModel,
  type Change,
  createRandom,
  describeDifferences,
  type ModelCatalog,
  type ModelProduct,
  readProduct,
  toBody,
} from '../support/catalogs/catalog-model.ts';
import { HistoryCluster } from '../support/histories/history-cluster.ts';
import { playHistory } from '../support/histories/play-history.ts';
import { type ProcessAnswer, type ServiceProcess, startProcess } from '../support/service-process.ts';
import { makeTestStore, type TestStore, testedStore } from '../support/test-store.ts';

/**
 * Three processes serve one database and are killed one after another while callers write. Every answered call takes
 * effect once and in order, whichever process accepted or ran it (docs/interface §3.3, §7.5). RELATA_TEST_CHAOS_S sets
 * the duration, and RELATA_TEST_SEED repeats the choices of the callers. Then the test records a history of clients
 * while the database fails as well, for RELATA_TEST_HISTORY_S. `npm run bench -- histories` plays longer histories.
 */

const CHAOS_S = Number(process.env.RELATA_TEST_CHAOS_S ?? 12);
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const HISTORY_S = Number(process.env.RELATA_TEST_HISTORY_S ?? 25);
const PROCESSES = 3;
const CALLERS = 3;
const KILL_EVERY_MS = 5_000;
const IDENTIFIERS = 800;
/** The maximum of unfinished tasks per caller, because callers are faster than the service. */
const UNFINISHED = 20;
const GIVE_UP_MS = 60_000;

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

/** The processes as a load balancer sees them. */
class Fleet {
  kills = 0;
  private readonly store: TestStore;
  private readonly alive: ServiceProcess[];
  private readonly random: () => number;

  constructor(store: TestStore, alive: ServiceProcess[], random: () => number) {
    this.store = store;
    this.alive = alive;
    this.random = random;
  }

  /** Calls one process after another until one answers. Calls with the same `key` are done once. */
  async call(
    method: string,
    path: string,
    { body, key }: { body?: unknown; key?: string } = {},
  ): Promise<ProcessAnswer> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    for (const until = performance.now() + GIVE_UP_MS; ; ) {
      const process = this.alive[Math.floor(this.random() * this.alive.length)];
      const answer = await process?.call(method, path, { body, headers }).catch(() => undefined);
      if (answer !== undefined && answer.status !== 503) return answer;
      assert.ok(performance.now() < until, `${method} ${path}: no process answers`);
      await delay(20);
    }
  }

  /** Kills one process and starts another in its place. */
  async replaceOne(): Promise<void> {
    const [victim] = this.alive.splice(Math.floor(this.random() * this.alive.length), 1);
    await victim?.kill();
    this.kills += 1;
    this.alive.push(await startProcess(this.store));
  }

  async stop(): Promise<void> {
    for (const process of this.alive) await process.kill();
  }
}

interface WriteCall {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
}

/** The only writer of a project, which therefore knows the content of its catalog. */
class Caller {
  readonly model = new CatalogModel(1);
  accepted = 0;
  private readonly fleet: Fleet;
  private readonly projectId: number;
  private readonly random: () => number;
  private readonly taskIds: string[] = [];
  private calls = 0;

  constructor(fleet: Fleet, projectId: number, random: () => number) {
    this.fleet = fleet;
    this.projectId = projectId;
    this.random = random;
  }

  async run(until: number): Promise<void> {
    await this.commit();
    while (performance.now() < until) {
      const dice = this.random();
      if (dice < 0.15) await this.commit();
      else if (dice < 0.6) await this.update();
      else if (dice < 0.85) await this.partial();
      else await this.delete();
      const old = this.taskIds.at(-UNFINISHED);
      if (old !== undefined) await this.ended(old);
    }
  }

  /** Every accepted task succeeded, and the catalog is their result. */
  async check(): Promise<void> {
    for (const id of this.taskIds) assert.equal((await this.ended(id)).taskStatus, 'FINISHED', id);
    const path = `/management/projects/${this.projectId}/products?format=ndjson`;
    const { text, status } = await this.fleet.call('GET', path);
    assert.equal(status, 200, text);
    const lines = text.split('\n').filter((line) => line !== '');
    const products = lines.map((line) => readProduct(JSON.parse(line)));
    const catalog: ModelCatalog = new Map(products.map((product) => [product.identifier, product]));
    assert.deepEqual(describeDifferences(catalog, this.model.catalog), []);
  }

  private async commit(): Promise<void> {
    // Parallel batches have no products in common, because answers do not reveal the order of acceptance.
    const pairs = Array.from({ length: 1 + Math.floor(this.random() * 3) }, () => {
      const products = this.makeProducts(300);
      const end = Math.floor(this.random() * 301);
      return [products.slice(0, end), products.slice(end)].filter(({ length }) => length > 0);
    });
    await this.write('POST', '/products/batch/initiate');
    for (const pair of pairs)
      await Promise.all(pair.map((batch) => this.write('POST', '/products/batch/upload', toBody(batch))));
    const products = new Map(pairs.flat(2).map((product) => [product.identifier, product]));
    const path = `/products/batch/start?batches=${pairs.flat().length}`;
    await this.change({ kind: 'commit', products }, { path });
  }

  private async update(): Promise<void> {
    const products = this.makeProducts(1 + Math.floor(this.random() * 200));
    await this.change({ kind: 'update', products }, { path: '/products', body: toBody(products) });
  }

  private async partial(): Promise<void> {
    const products = this.makeProducts(1 + Math.floor(this.random() * 50));
    const colours = new Map(products.map(({ identifier, name }) => [identifier, `colour ${name}`]));
    const body = {
      products: [...colours].map(([identifier, Colour]) => ({ identifier, attributes: { Colour } })),
    };
    await this.change({ kind: 'partial', colours }, { path: '/products?partial=true', body });
  }

  private async delete(): Promise<void> {
    const identifiers = [...this.model.catalog.keys()].filter(() => this.random() < 0.02);
    if (identifiers.length === 0) return;
    const body = { identifiers };
    await this.change({ kind: 'delete', identifiers }, { method: 'DELETE', path: '/products', body });
  }

  private async change(change: Change, { method = 'POST', path, body }: WriteCall): Promise<void> {
    const answer = await this.write(method, path, body);
    this.taskIds.push((answer.data?.task ?? answer.task).id);
    this.accepted += 1;
    this.model.apply(change);
  }

  private async write(method: string, path: string, body?: unknown) {
    this.calls += 1;
    const projectPath = `${path}${path.includes('?') ? '&' : '?'}projectId=${this.projectId}`;
    const key = `${this.projectId} ${this.calls}`;
    const answer = await this.fleet.call(method, projectPath, { body, key });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  private async ended(taskId: string): Promise<{ taskStatus: string }> {
    const { body, text } = await this.fleet.call('GET', `/tasks/${taskId}?wait=50`);
    assert.ok(body?.task?.finishTime, `the task did not end: ${text}`);
    return body.task;
  }

  private makeProducts(count: number): ModelProduct[] {
    this.calls += 1;
    const first = Math.floor(this.random() * IDENTIFIERS);
    return Array.from({ length: count }, (_, index) => {
      const identifier = `P${(first + index) % IDENTIFIERS}`;
      return { identifier, name: `${identifier} of ${this.calls}`, colour: 'red' };
    });
  }
}

async function startFleet(t: TestContext): Promise<Fleet> {
  const store = await makeTestStore();
  const processes: ServiceProcess[] = [];
  const fleet = new Fleet(store, processes, createRandom(SEED));
  t.after(async () => {
    await fleet.stop();
    await store.remove();
  });
  const started = Array.from({ length: PROCESSES }, () => startProcess(store));
  processes.push(...(await Promise.all(started)));
  return fleet;
}

test(
  `no accepted task is lost while processes die for ${CHAOS_S} s (seed ${SEED})`,
  onlyShared,
  async (t) => {
    const fleet = await startFleet(t);
    const group = await fleet.call('POST', '/management/project-groups', { body: { name: 'Group' } });
    const callers: Caller[] = [];
    for (let index = 1; index <= CALLERS; index += 1) {
      const body = { name: `Project ${index}`, projectGroupId: group.body.id, locale: 'de-DE' };
      const { body: project } = await fleet.call('POST', '/management/projects', { body });
      callers.push(new Caller(fleet, project.id, createRandom(SEED + index)));
    }

    const until = performance.now() + CHAOS_S * 1_000;
    const running = Promise.all(callers.map((caller) => caller.run(until)));
    const killing = (async () => {
      for (; performance.now() + KILL_EVERY_MS < until; await delay(KILL_EVERY_MS)) await fleet.replaceOne();
    })();
    await Promise.all([running, killing]);

    for (const caller of callers) await caller.check();
    const accepted = callers.reduce((sum, caller) => sum + caller.accepted, 0);
    t.diagnostic(`${accepted} accepted changes, ${fleet.kills} processes killed`);
    assert.ok(accepted > 0 && fleet.kills > 0);
  },
);

test(
  `all reads keep every promise while processes, connections and the database fail for ${HISTORY_S} s (seed ${SEED})`,
  onlyShared,
  async (t) => {
    const { violations, counts } = await playHistory(HistoryCluster.start, HISTORY_S, SEED);
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(violations, []);
    const { accepted = 0, reads = 0, failovers } = counts;
    assert.ok(accepted > 0 && reads > 0 && failovers === 1);
  },
);
