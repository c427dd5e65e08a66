import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../catalogs/catalog-model.ts';
import { PROCESS_KEY, type ServiceProcess } from '../service-process.ts';
import { checkHistory, type Read, type TaskLook, type Write } from './check-history.ts';

/** Clients of several projects write, read and check tasks while processes, connections and the database fail. */

const PROJECTS = 2;
const PRODUCTS = ['P0', 'P1', 'P2', 'P3', 'P4'];
const ANSWER_MS = 15_000;
/** The time for recovery: leases expire and databases recover. */
const SETTLE_MS = 180_000;
/** At least one failover. */
const FAIL_OVER_EVERY_S = 60;

export interface PlayedHistory {
  readonly violations: readonly string[];
  /** The number of events of each kind. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The service that the clients use, and the faults that can happen to it. */
export interface Cluster {
  readonly counts: Readonly<Record<string, number>>;
  /** A process that accepts changes, if it works. */
  pick(): ServiceProcess | undefined;
  /** `behindMs`: the largest age of the state in its answers. */
  pickReader(): { readonly process: ServiceProcess | undefined; readonly behindMs: number };
  /** The faults, caused in turn. */
  listFaults(isLong: boolean): readonly (() => unknown)[];
  prepareFailover(): Promise<void>;
  /** @returns the time from which answers may be lost, in ms of this process; undefined: none are */
  failOver(): Promise<number | undefined>;
  /** Waits until every killed process has a successor. */
  complete(): Promise<void>;
  stop(): Promise<void>;
}

/** A shorter history has no room for many long pauses. */
const LONG_S = 60;

/** @param start  makes the cluster and gets its source of random choices */
export async function playHistory(
  start: (random: () => number) => Promise<Cluster>,
  seconds: number,
  seed: number,
): Promise<PlayedHistory> {
  const random = createRandom(seed);
  const cluster = await start(random);
  try {
    const recorder = new Recorder(cluster, random);
    const projects = await recorder.createProjects();
    await cluster.prepareFailover();
    const until = performance.now() + seconds * 1_000;
    await Promise.all([
      fail(cluster, recorder, { seconds, until, random }),
      ...projects.flatMap((project) => [
        recorder.repeat(until, () => recorder.update(project)),
        recorder.repeat(until, () => recorder.update(project)),
        recorder.repeat(until, () => recorder.commit(project)),
        recorder.repeat(until, () => recorder.read(project)),
        recorder.repeat(until, () => recorder.read(project)),
        recorder.repeat(until, () => recorder.look()),
      ]),
    ]);
    await cluster.complete();
    await recorder.settle(projects);
    const violations = [...checkHistory(recorder), ...recorder.surprises];
    const { writes, reads, looks } = recorder;
    const accepted = writes.filter(({ outcome }) => outcome === 'accepted').length;
    const unknown = writes.filter(({ outcome }) => outcome === 'unknown').length;
    await cluster.stop();
    return {
      violations,
      counts: { accepted, unknown, reads: reads.length, looks: looks.length, ...cluster.counts },
    };
  } finally {
    await cluster.stop();
  }
}

interface Failing {
  readonly seconds: number;
  readonly until: number;
  readonly random: () => number;
}

async function fail(
  cluster: Cluster,
  recorder: Recorder,
  { seconds, until, random }: Failing,
): Promise<void> {
  const faults = cluster.listFaults(seconds >= LONG_S);
  const failOverEveryMs = Math.min(FAIL_OVER_EVERY_S, seconds / 2) * 1_000;
  let failOverAt = performance.now() + failOverEveryMs;
  for (let index = 0; performance.now() < until; index += 1) {
    await delay(200 + random() * 1_000);
    await faults[index % faults.length]?.();
    if (performance.now() < failOverAt) continue;
    const lostSince = await cluster.failOver();
    if (lostSince !== undefined) recorder.forget(lostSince);
    failOverAt = performance.now() + failOverEveryMs;
    if (failOverAt < until) await cluster.prepareFailover();
  }
}

interface Call {
  readonly body?: object | undefined;
  readonly key?: string;
  /** Default: a process that accepts changes. */
  readonly process?: ServiceProcess | undefined;
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: clients read answers field by field.
  readonly body: any;
}

class Recorder {
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  readonly looks: TaskLook[] = [];
  /** Answers that no fault explains. */
  readonly surprises: string[] = [];
  private readonly cluster: Cluster;
  private readonly random: () => number;
  private readonly open = new Map<string, number>();
  private count = 0;
  private losses = 0;
  private giveUpAt = Number.POSITIVE_INFINITY;

  constructor(cluster: Cluster, random: () => number) {
    this.cluster = cluster;
    this.random = random;
  }

  async repeat(until: number, act: () => Promise<unknown>): Promise<void> {
    this.giveUpAt = until + SETTLE_MS;
    for (; performance.now() < until; await delay(20 + this.random() * 60)) await act();
  }

  async createProjects(): Promise<number[]> {
    const made = async (path: string, body: object) => (await this.insist('POST', path, { body }))?.body.id;
    const projectGroupId = await made('/management/project-groups', { name: 'Group' });
    return Promise.all(
      Array.from({ length: PROJECTS }, (_, index) =>
        made('/management/projects', { name: `Project ${index}`, projectGroupId, locale: 'de-DE' }),
      ),
    );
  }

  update(project: number): Promise<void> {
    return this.write(project, { path: '/products', body: (value) => productsOf(PRODUCTS, value) });
  }

  /** Sends two batches in parallel, because a read that shows only one of them shows half a version. */
  async commit(project: number): Promise<void> {
    const batches = `/products/batch/upload?projectId=${project}`;
    this.count += 1;
    const [value, key] = [`commit ${this.count}`, `batches ${this.count}`];
    const initiate = `/products/batch/initiate?projectId=${project}`;
    if ((await this.insist('POST', initiate, { key: `${key} 0` }))?.status !== 200) return;
    const parts = [PRODUCTS.slice(0, 2), PRODUCTS.slice(2)];
    const sent = parts.map((part, index) =>
      this.insist('POST', batches, { body: productsOf(part, value), key: `${key} ${index + 1}` }),
    );
    if ((await Promise.all(sent)).some((answer) => answer?.status !== 200)) return;
    await this.write(project, { path: '/products/batch/start?batches=2', value });
  }

  /** Answers since then may be lost, with everything that they showed. */
  forget(since: number): void {
    this.losses += 1;
    for (const write of this.writes.filter(({ endedAt }) => endedAt > since)) {
      for (const taskId of write.taskIds) this.open.delete(taskId);
      Object.assign(write, { outcome: 'unknown', endedAt: Number.POSITIVE_INFINITY, taskIds: [] });
    }
    for (const seen of [this.reads, this.looks]) dropEndedAfter(since, seen);
  }

  async read(project: number): Promise<void> {
    const { process, behindMs } = this.cluster.pickReader();
    const begunAt = performance.now() - behindMs;
    const { losses } = this;
    const path = `/product-service/products-by-sku?projectId=${project}`;
    const answer = await this.ask('POST', path, { process, body: { identifiers: PRODUCTS } });
    if (answer?.status !== 200 || losses !== this.losses) return;
    const names = new Map(
      answer.body.products.map((product: { identifier: string; name: string }) => [
        product.identifier,
        product.name,
      ]),
    );
    const values =
      names.size === 0 ? [] : PRODUCTS.map((identifier) => `${names.get(identifier) ?? 'nothing'}`);
    this.reads.push({ project, begunAt, endedAt: performance.now(), values });
  }

  /** Reads an open task, or an ended one again. */
  async look(): Promise<void> {
    const written = this.writes.filter(({ taskIds }) => taskIds.length > 0);
    const old = written[Math.floor(this.random() * written.length)];
    const [open] = this.open;
    const [taskId, project] = open && this.random() < 0.8 ? open : [old?.taskIds[0], old?.project];
    if (taskId !== undefined && project !== undefined) await this.lookAt(taskId, project);
  }

  /** After the last fault: every accepted task ends, and every process shows its result. */
  async settle(projects: readonly number[]): Promise<void> {
    await this.untilTasksEnded();
    for (let round = 0; round < 10; round += 1) for (const project of projects) await this.read(project);
    for (const { taskIds, project } of this.writes.slice(-100))
      for (const taskId of taskIds) await this.lookAt(taskId, project);
  }

  /** A slow machine may still have many tasks to run, so progress counts. */
  private async untilTasksEnded(): Promise<void> {
    let left = this.open.size;
    for (let since = performance.now(); left > 0 && performance.now() - since < SETTLE_MS; await delay(100)) {
      for (const [taskId, project] of [...this.open].slice(0, 20)) await this.lookAt(taskId, project);
      if (this.open.size < left) since = performance.now();
      left = this.open.size;
    }
  }

  private async lookAt(taskId: string, project: number): Promise<void> {
    const begunAt = performance.now();
    const { losses } = this;
    const answer = await this.ask('GET', `/tasks/${taskId}`);
    if (answer === undefined || answer.status === 503 || losses !== this.losses) return;
    const { taskStatus, finishTime, error } = answer.body.task ?? {};
    const status = taskStatus ?? `answered ${answer.status}`;
    const outcome = { status, ...(error && { error: JSON.stringify(error) }) };
    this.looks.push({ project, taskId, begunAt, endedAt: performance.now(), ...outcome });
    if (finishTime) this.open.delete(taskId);
  }

  private async write(
    project: number,
    { path, value = '', body }: { path: string; value?: string; body?: (value: string) => object },
  ): Promise<void> {
    this.count += 1;
    const named = value || `update ${this.count}`;
    const key = `write ${this.count}`;
    const projectPath = `${path}${path.includes('?') ? '&' : '?'}projectId=${project}`;
    const begunAt = performance.now();
    const { losses } = this;
    const send = () => this.insist('POST', projectPath, { body: body?.(named), key });
    const answers = [await send()];
    const answeredAt = performance.now();
    // Repeating a write yields the first answer again.
    if (answers[0]?.status === 200 && this.random() < 0.2) answers.push(await send());
    // If something was lost since the answer, its write may be lost as well.
    const verdict = losses === this.losses ? judge(answers) : UNKNOWN;
    const endedAt = verdict === UNKNOWN ? Number.POSITIVE_INFINITY : answeredAt;
    const { taskIds } = verdict;
    this.writes.push({ project, value: named, begunAt, endedAt, ...verdict });
    for (const taskId of taskIds) this.open.set(taskId, project);
  }

  /** Calls one process after another until one answers. @returns undefined if none did */
  private async insist(method: string, path: string, call: Call) {
    for (; performance.now() < this.giveUpAt; await delay(20 + this.random() * 100)) {
      const answer = await this.ask(method, path, call);
      if (answer !== undefined && answer.status !== 503) return answer;
    }
    return undefined;
  }

  /** @returns undefined if the connection broke. Some clients do not wait for the answer. */
  private async ask(
    method: string,
    path: string,
    { body, key, process = this.cluster.pick() }: Call = {},
  ): Promise<Answer | undefined> {
    const isHasty = key !== undefined && this.random() < 0.05;
    try {
      const response = await fetch(`${process?.address}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${PROCESS_KEY}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(isHasty ? 1 + Math.floor(this.random() * 40) : ANSWER_MS),
      });
      const answer = { status: response.status, body: await response.json() };
      if (![200, 201, 400, 503].includes(answer.status))
        this.surprises.push(`${method} ${path}: ${JSON.stringify(answer)}`.slice(0, 500));
      return answer;
    } catch {
      return undefined;
    }
  }
}

function dropEndedAfter(since: number, seen: { readonly endedAt: number }[]): void {
  seen.splice(0, seen.length, ...seen.filter(({ endedAt }) => endedAt <= since));
}

const UNKNOWN: Pick<Write, 'outcome' | 'taskIds'> = { outcome: 'unknown', taskIds: [] };

/** @param answers  the answers to a write and its repetition */
function judge(answers: readonly (Answer | undefined)[]): Pick<Write, 'outcome' | 'taskIds'> {
  if (answers[0] === undefined) return UNKNOWN;
  const taskIds = answers.flatMap((answer) =>
    answer?.status === 200 ? [(answer.body.data ?? answer.body).task.id as string] : [],
  );
  return { outcome: answers[0].status === 200 ? 'accepted' : 'refused', taskIds };
}

const productsOf = (identifiers: readonly string[], value: string) => ({
  products: identifiers.map((identifier) => ({ identifier, name: value })),
});
