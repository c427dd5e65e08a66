import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessAnswer, ServiceProcess } from '../service-process.ts';
import type { TestStore } from '../test-store.ts';
import {
  CatalogModel,
  type Change,
  describeDifferences,
  type ModelCatalog,
  type ModelProduct,
  readProduct,
  toBody,
} from './catalog-model.ts';

/** A caller of a service that is killed during writes, and the checks after each start. */

const KEPT_COMMITS = 2;
const PROBED = 400;
const NAMES: Record<Change['kind'] | 'upload', string> = {
  upload: '',
  commit: 'Api triggered full update',
  update: 'incremental partial update',
  partial: 'incremental partial update',
  delete: 'delete products',
  restore: 'restore',
};

/** Parallel batches end at these shares of all products. */
const ENDS = [[1], [1 / 3, 1], [1 / 6, 1 / 2, 1]];
/** Refusals of a commit sent next to its batches: some are missing or still arriving (§3.1 rule 10). */
const TOO_EARLY = ['full_update_arriving', 'full_update_incomplete', 'full_update_empty'];

/** A call that may take effect even if its answer never came. */
export type Wish =
  | Change
  | { readonly kind: 'initiate' }
  | { readonly kind: 'upload'; readonly products: readonly ModelProduct[] };

interface Call {
  readonly wish: Wish;
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The `Idempotency-Key` header; undefined: none. */
  readonly key: string | undefined;
}

type UploadCall = Call & { readonly wish: Extract<Wish, { kind: 'upload' }> };

const uploadedBy = ({ wish }: Call): readonly ModelProduct[] => (wish.kind === 'upload' ? wish.products : []);

interface Upload {
  readonly taskId: string;
  readonly products: readonly ModelProduct[];
}

interface CallerOptions {
  readonly projectId: number;
  readonly random: () => number;
  readonly identifiers?: number;
}

/** A caller that remembers all answers and therefore knows what the service must contain. */
export class Caller {
  service: ServiceProcess;
  readonly projectId: number;
  readonly counts = {
    calls: 0,
    answered: 0,
    unanswered: 0,
    unansweredAccepted: 0,
    repeated: 0,
    commits: 0,
    probes: 0,
  };
  private readonly random: () => number;
  private readonly model = new CatalogModel(KEPT_COMMITS);
  /** The accepted batches of the open full update; undefined: none is open. */
  private session: Upload[] | undefined;
  private readonly contentByIdentifier = new Map<string, string>();
  /** Changes accepted since all earlier ones ended, in order. */
  private pending: { taskId: string; change: Change }[] = [];
  /** Calls sent together without an answer: a single call, or parallel batches with or without their commit. */
  private inFlight: readonly Call[] = [];
  /** The last batch may have been refused, so the commit needs another accepted batch first (§3.1 rule 10). */
  private isBatchMissing = false;
  private version = 0;
  /** The tasks of calls whose answers never came. */
  private lastAccepted: readonly string[] = [];
  /** Accepted calls and kills in order, one line each, for failure messages. */
  readonly history: string[] = [];

  /** The largest number of products in the catalog; it limits batches too. */
  private readonly identifiers: number;
  /** Makes the idempotency keys of two runs different. */
  private readonly run: number;

  constructor(service: ServiceProcess, { projectId, random, identifiers = 1_500 }: CallerOptions) {
    this.service = service;
    this.projectId = projectId;
    this.random = random;
    this.identifiers = identifiers;
    this.run = random();
  }

  /** Makes calls until the process dies, with batches in parallel. `aim`: called when the moment to kill has come. */
  async burst(aim: (answered: Wish['kind']) => void): Promise<void> {
    for (;;) {
      const calls = this.chooseCalls();
      try {
        if (calls.length === 0) await this.probe();
        else await this.send(calls, aim);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  }

  /** After a start: the visible state is not a mixture, even before the service resumes work. */
  async recover(service: ServiceProcess): Promise<void> {
    this.service = service;
    await this.learnUnanswered();
    await this.probe();
    await this.settle();
    if (this.random() < 0.5) for (const call of this.inFlight) await this.repeat(call);
    this.inFlight = [];
    await this.waitForArriving();
  }

  /** Ends the open full update, waits until all tasks have ended and compares everything. */
  async settle(): Promise<void> {
    await this.waitUntilEnded();
    for (const { taskId, change } of this.pending) this.expect(taskId, this.model.apply(change));
    this.pending = [];
    for (const { taskId } of this.session ?? []) this.expect(taskId, 'PENDING');
    await this.checkTasks();
    const differences = describeDifferences(await this.export(), this.model.catalog);
    if (differences.length === 0) return;
    const description = [...differences, ...this.history, ...(await this.listLogs())].join('\n');
    assert.fail(`the catalog is not what the accepted changes make, in order of acceptance:\n${description}`);
  }

  async finish(): Promise<void> {
    await this.send([this.initiate()]);
    await this.send([this.update(3)]);
    await this.settle();
  }

  /** @returns an empty list for a lookup */
  private chooseCalls(): readonly Call[] {
    const uploads = this.session?.length;
    const choices: [weight: number, choose: () => readonly Call[]][] = [
      [uploads === undefined ? 8 : 0.3, () => [this.initiate()]],
      [uploads === undefined ? 0 : 6, () => this.upload()],
      [this.isBatchMissing ? 0 : (uploads ?? 0), () => [this.start([])]],
      [3, () => [this.update(this.pick(1, this.identifiers / 5))]],
      [1, () => [this.partial()]],
      [1, () => [this.delete()]],
      [0.7, () => [this.restore()]],
      [0.7, () => []],
    ];
    let dice = this.random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    const chosen = choices.find(([weight]) => {
      dice -= weight;
      return dice < 0;
    });
    return chosen?.[1]() ?? [];
  }

  private call(wish: Wish, method: Call['method'], rest: Pick<Call, 'path' | 'body'>): Call {
    this.version += 1;
    return {
      wish,
      method,
      ...rest,
      key: this.random() < 0.5 ? `call ${this.run} ${this.version}` : undefined,
    };
  }

  private initiate(): Call {
    return this.call({ kind: 'initiate' }, 'POST', { path: '/products/batch/initiate' });
  }

  /**
   * Up to three parallel batches. They have no products in common, because answers do not reveal the order of
   * acceptance. Their sizes differ, so the sum of the session shows which of them it has. Some are sent with their
   * commit.
   */
  private upload(): readonly Call[] {
    const all = this.makeProducts(this.pick(this.identifiers / 15, this.identifiers / 2));
    const ends = (ENDS[this.pick(1, ENDS.length) - 1] ?? []).map((end) => Math.floor(end * all.length));
    const uploads = ends.map((end, index) => {
      const products = all.slice(ends[index - 1] ?? 0, end);
      const rest = { path: '/products/batch/upload', body: toBody(products) };
      return this.call({ kind: 'upload', products }, 'POST', rest);
    });
    const isCommitted = uploads.length > 1 && !this.isBatchMissing && this.random() < 0.3;
    return isCommitted ? [...uploads, this.start(uploads.map(uploadedBy))] : uploads;
  }

  /** @param beside batches that are sent in parallel */
  private start(beside: readonly (readonly ModelProduct[])[]): Call {
    const sent = [...(this.session ?? []).map(({ products }) => products), ...beside];
    const products = new Map(sent.flat().map((product) => [product.identifier, product]));
    // A count, because the full update may have lost a process.
    const path = `/products/batch/start?batches=${sent.length}`;
    return this.call({ kind: 'commit', products }, 'POST', { path });
  }

  private update(count: number): Call {
    const products = this.makeProducts(count);
    return this.call({ kind: 'update', products }, 'POST', { path: '/products', body: toBody(products) });
  }

  private partial(): Call {
    const colours = new Map(
      this.makeProducts(this.pick(1, this.identifiers / 15)).map(({ identifier, name }) => [
        identifier,
        `colour ${name}`,
      ]),
    );
    const products = [...colours].map(([identifier, Colour]) => ({ identifier, attributes: { Colour } }));
    return this.call({ kind: 'partial', colours }, 'POST', {
      path: '/products?partial=true',
      body: { products },
    });
  }

  private delete(): Call {
    const identifiers = this.makeProducts(this.pick(1, this.identifiers / 8)).map(
      ({ identifier }) => identifier,
    );
    return this.call({ kind: 'delete', identifiers }, 'DELETE', { path: '/products', body: { identifiers } });
  }

  private restore(): Call {
    return this.call({ kind: 'restore' }, 'POST', { path: '/products/batch/restore' });
  }

  /** Half of the products equal those of the catalog, as in the nightly update of a connector. */
  private makeProducts(count: number): ModelProduct[] {
    this.version += 1;
    const first = this.pick(0, this.identifiers - 1);
    return Array.from({ length: count }, (_, index) => {
      const identifier = `P${(first + index) % this.identifiers}`;
      const present = this.model.catalog.get(identifier);
      if (present !== undefined && this.random() < 0.5) return present;
      return { identifier, name: `${identifier} of ${this.version}`, colour: 'red' };
    });
  }

  private pick(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  /** @throws if the process died */
  private async send(
    calls: readonly Call[],
    aim: (answered: Wish['kind']) => void = () => {},
  ): Promise<void> {
    this.counts.calls += calls.length;
    const sent = calls.map(async (call) => {
      const answer = await this.request(call);
      this.counts.answered += 1;
      aim(call.wish.kind);
      return answer;
    });
    const results = await Promise.allSettled(sent);
    const unanswered = calls.filter((_, index) => results[index]?.status === 'rejected');
    // With an unanswered batch, the tasks show the outcome of the commit, which follows the batch in the model.
    this.inFlight =
      unanswered.length === 0
        ? []
        : calls.filter((call) => unanswered.includes(call) || call.wish.kind === 'commit');
    for (const [position, result] of results.entries()) {
      const call = calls[position] as Call;
      if (result.status === 'fulfilled' && !this.inFlight.includes(call))
        this.note(call.wish, result.value, calls.length > 1);
    }
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  private request({ method, path, body, key }: Call): Promise<ProcessAnswer> {
    const projectPath = `${path}${path.includes('?') ? '&' : '?'}projectId=${this.projectId}`;
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return this.service.call(method, projectPath, { body, headers });
  }

  private note(wish: Wish, { status, body, text }: ProcessAnswer, isParallel = false): void {
    if (wish.kind === 'commit' && isParallel && TOO_EARLY.includes(body.reason)) return;
    const mayBeRefused = wish.kind === 'delete' || wish.kind === 'restore';
    if (
      status === 400 &&
      mayBeRefused &&
      this.pending.every(({ taskId }) => this.contentByIdentifier.has(taskId))
    )
      return;
    assert.equal(status, 200, `${wish.kind}: ${text}`);
    if (wish.kind === 'initiate') this.open();
    else this.accept(wish, (body.data?.task ?? body.task).id);
  }

  private open(): void {
    for (const { taskId } of this.session ?? []) this.expect(taskId, 'CANCELLED');
    this.history.push('initiate');
    this.session = [];
    this.isBatchMissing = false;
  }

  private accept(wish: Exclude<Wish, { kind: 'initiate' }>, taskId: string): void {
    this.contentByIdentifier.set(taskId, 'accepted');
    this.history.push(`${taskId} ${wish.kind} ${wish.kind === 'restore' ? '' : describeProducts(wish)}`);
    if (wish.kind === 'upload') {
      this.session?.push({ taskId, products: wish.products });
      this.isBatchMissing = false;
      return;
    }
    if (wish.kind === 'commit') {
      this.counts.commits += 1;
      for (const upload of this.session ?? []) this.expect(upload.taskId, 'FINISHED');
      this.session = undefined;
    }
    this.pending.push({ taskId, change: wish });
  }

  private expect(taskId: string, status: string): void {
    this.contentByIdentifier.set(taskId, status);
  }

  /** Each unanswered call was accepted completely or not at all. The list of tasks shows which. */
  private async learnUnanswered(): Promise<void> {
    const tasks = (await this.listTasks()).filter(({ id }) => !this.contentByIdentifier.has(id));
    this.lastAccepted = tasks.map(({ id }) => id);
    this.counts.unanswered += this.inFlight.length;
    this.counts.unansweredAccepted += tasks.length;
    assert.ok(tasks.length <= this.inFlight.length, `no call explains these tasks: ${JSON.stringify(tasks)}`);
    const ofUploads = tasks.filter(({ name }) => name === NAMES.upload);
    const uploads = await this.findAccepted(ofUploads.length, tasks.length > ofUploads.length);
    for (const [index, { wish }] of uploads.entries()) this.accept(wish, ofUploads[index]?.id as string);
    const [other] = this.inFlight.filter(({ wish }) => wish.kind !== 'upload');
    const [task] = tasks.filter(({ name }) => name !== NAMES.upload);
    if (other?.wish.kind === 'initiate') {
      assert.equal(task, undefined, 'initiate makes no task');
      if (await this.hasBegunAnew()) this.open();
    } else if (task !== undefined) {
      assert.ok(other !== undefined, 'the unanswered call made it');
      assert.equal(task.name, NAMES[other.wish.kind], 'the task is that of the unanswered call');
      this.accept(other.wish, task.id);
    }
    this.isBatchMissing ||= this.inFlight.some(
      (call) => call.wish.kind === 'upload' && !uploads.some((upload) => upload === call),
    );
  }

  /** @returns the unanswered batches that were accepted: `count` of them, or all if they were committed */
  private async findAccepted(count: number, isCommitted: boolean): Promise<readonly UploadCall[]> {
    const uploads = this.inFlight.filter((call): call is UploadCall => call.wish.kind === 'upload');
    if (count === 0 || count === uploads.length) return uploads.slice(0, count);
    assert.ok(!isCommitted, 'a commit has every batch that its count includes');
    const path = `/products/batch?projectId=${this.projectId}`;
    const { products } = (await this.service.call('GET', path)).body;
    const sumOf = (lists: readonly { length: number }[]) =>
      lists.reduce((sum, { length }) => sum + length, 0);
    const left = products - sumOf((this.session ?? []).map((upload) => upload.products));
    const subsets = uploads.map((call) => (count === 1 ? [call] : uploads.filter((other) => other !== call)));
    const fitting = subsets.filter((subset) => sumOf(subset.map(uploadedBy)) === left);
    assert.equal(fitting.length, 1, `${count} batches have ${left} products`);
    return fitting[0] as readonly UploadCall[];
  }

  /** Whether an unanswered initiate took effect. Two sessions without a batch are indistinguishable. */
  private async hasBegunAnew(): Promise<boolean> {
    if (this.session === undefined) return this.isOpen();
    const [first] = this.session;
    return first !== undefined && (await this.findTask(first.taskId)).taskStatus === 'CANCELLED';
  }

  private async isOpen(): Promise<boolean> {
    const call = {
      method: 'POST',
      path: '/products/batch/preview',
      key: undefined,
      wish: { kind: 'initiate' },
    } as const;
    return (await this.request(call)).status === 200;
  }

  /** A connector repeats unanswered calls. With the same key they are done once (§7.5). */
  private async repeat(call: Call): Promise<void> {
    const { kind } = call.wish;
    if (call.key === undefined || kind === 'initiate' || kind === 'delete' || kind === 'restore') return;
    // The process may have been killed before it read all batches that were sent with the commit.
    if (kind === 'commit' && this.isBatchMissing) return;
    this.counts.repeated += 1;
    const { status, body, text } = await this.request(call);
    if (this.mayBeRefused(kind, body.reason)) return;
    assert.equal(status, 200, `${kind} again: ${text}`);
    const { id } = body.data?.task ?? body.task;
    if (!this.contentByIdentifier.has(id)) this.accept(call.wish, id);
    else assert.ok(this.lastAccepted.includes(id), 'the first answer is repeated');
  }

  /** Whether a repetition is refused although the first call was sent correctly. */
  private mayBeRefused(kind: Wish['kind'], reason: string): boolean {
    if (kind === 'commit') return TOO_EARLY.includes(reason);
    // The commit that was sent beside the batch took effect. A repetition in the next full update would be lost (§7.5 rule 14).
    return kind === 'upload' && this.session === undefined && reason === 'full_update_ended';
  }

  /** A batch of a killed process counts as arriving until other processes notice its end (§3.1 rule 11). */
  private async waitForArriving(): Promise<void> {
    const path = `/products/batch?projectId=${this.projectId}`;
    while ((await this.service.call('GET', path)).body.arriving > 0) await delay(25);
  }

  /** A lookup shows one moment: the catalog after some of the accepted changes, and never a state in between. */
  private async probe(): Promise<void> {
    this.counts.probes += 1;
    const count = Math.min(PROBED, this.identifiers);
    const first = this.pick(0, this.identifiers - count);
    const identifiers = Array.from({ length: count }, (_, index) => `P${first + index}`);
    const path = `/product-service/products-by-sku?projectId=${this.projectId}`;
    const { status, body, text } = await this.service.call('POST', path, { body: { identifiers } });
    assert.equal(status, 200, text);
    const products = (body.products as { identifier: string; name: string }[]).map(({ identifier, name }) => [
      identifier,
      name,
    ]);
    const seen = new Map(products as [string, string][]);
    const states = this.possibleStates();
    const isOne = states.some((state) =>
      identifiers.every((identifier) => state.get(identifier)?.name === seen.get(identifier)),
    );
    assert.ok(isOne, `a lookup answered a mixture: none of ${states.length} states matches`);
  }

  private possibleStates(): ModelCatalog[] {
    const copy = this.model.clone();
    const states = [copy.catalog];
    for (const { change } of this.pending) {
      copy.apply(change);
      states.push(copy.catalog);
    }
    return states;
  }

  private async waitUntilEnded(): Promise<void> {
    for (const { taskId } of this.pending) {
      const { body } = await this.service.call('GET', `/tasks/${taskId}?wait=60`);
      assert.notEqual(
        body.task.finishTime,
        null,
        `the task ${taskId} ${body.task.name} did not end within 60 s`,
      );
    }
    await this.waitForUploads();
  }

  /** A discarded session is closed after the answer. After a crash in between, the next start closes it. */
  private async waitForUploads(): Promise<void> {
    for (let attempt = 0; attempt < 2_400; attempt += 1) {
      const open = (await this.listTasks()).filter(({ finishTime }) => finishTime === null);
      if (open.every(({ id }) => this.session?.some(({ taskId }) => taskId === id))) return;
      await delay(25);
    }
  }

  private async checkTasks(): Promise<void> {
    const tasks = await this.listTasks();
    const actual = tasks
      .map(({ id, taskStatus }) => [id, taskStatus] as const)
      .filter(([id]) => this.contentByIdentifier.has(id));
    const expected = actual.map(([id]) => [id, this.contentByIdentifier.get(id)] as const);
    assert.deepEqual(actual, expected, 'every task ended as its kind requires');
    assert.equal(actual.length, tasks.length, 'every task has a call');
    assert.equal(tasks.length, this.contentByIdentifier.size, 'every accepted task exists');
  }

  /** @returns all tasks of this caller, newest first */
  private async listTasks(): Promise<
    { id: string; name: string; taskStatus: string; finishTime: number | null }[]
  > {
    const tasks = [];
    for (let cursor = ''; ; ) {
      const path = `/tasks?projectId=${this.projectId}&limit=1000${cursor}`;
      const { body, status, text } = await this.service.call('GET', path);
      assert.equal(status, 200, text);
      tasks.push(...body.tasks);
      if (body.nextCursor === null) return tasks.filter(({ name }) => name !== 'relation build');
      cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
    }
  }

  /** @returns the logs of the last tasks, one line each */
  private async listLogs(): Promise<string[]> {
    const tasks = (await this.listTasks()).slice(0, 20);
    const logs = tasks.map(async ({ id, name, taskStatus }) => {
      const { body } = await this.service.call('GET', `/tasks/${id}/log`);
      return `${id} ${name} ${taskStatus}: ${JSON.stringify(body.log)}`;
    });
    return Promise.all(logs);
  }

  private async findTask(taskId: string): Promise<{ taskStatus: string }> {
    return (await this.service.call('GET', `/tasks/${taskId}`)).body.task;
  }

  private async export(): Promise<ModelCatalog> {
    const { text, status } = await this.service.call(
      'GET',
      `/management/projects/${this.projectId}/products?format=ndjson`,
    );
    assert.equal(status, 200, text);
    const lines = text.split('\n').filter((line) => line !== '');
    return new Map(
      lines.map((line) => readProduct(JSON.parse(line))).map((product) => [product.identifier, product]),
    );
  }
}

/** @returns the products of a change, which are consecutive */
function describeProducts(wish: Exclude<Wish, { kind: 'initiate' | 'restore' }>): string {
  if (wish.kind === 'delete') return wish.identifiers.join();
  const named =
    wish.kind === 'partial'
      ? [...wish.colours.keys()]
      : Array.from(wish.products.values(), ({ identifier, name }) =>
          name.startsWith(identifier) ? name : identifier,
        );
  return `${named.length}: ${named.join().slice(0, 2_000)}`;
}

export async function createProject(service: ServiceProcess): Promise<number> {
  const group = await service.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const body = {
    name: 'Project',
    projectGroupId: group.body.id,
    locale: 'de-DE',
    settings: { keptCommits: KEPT_COMMITS },
  };
  const { body: project, text } = await service.call('POST', '/management/projects', { body });
  assert.ok(project.id, text);
  // Every product is on both sides, so that each document has an entry in the join index.
  const relation = { name: 'Same name', tag: 'crash', source: { all: [] }, target: { all: [] } };
  const path = `/management/projects/${project.id}/relations`;
  assert.equal((await service.call('POST', path, { body: relation })).status, 201);
  return project.id;
}

const OF_NO_DOCUMENT = 'document_id not in (select id from document)';
const DUE = 'at_rank is not null or (changed > 64 and changed * 4 > size)';
const UNNOTED = `(select count(*) from relation_entry where ${OF_NO_DOCUMENT})
  > (select coalesce(sum(changed), 0) from relation_list)`;

/** Data in the store that is no longer used. It is empty once the upkeep is done. */
async function listLeftovers(store: TestStore, projectId: number): Promise<string[]> {
  const list = async (what: string, sql: string) => {
    const [row] = await store.readCatalog<{ count: number }>(
      projectId,
      `select count(*) as count from ${sql}`,
    );
    return Number(row?.count) === 0 ? [] : [`${row?.count} ${what}`];
  };
  const needed = `select document_id from product
    union select document_before from undo_change where document_before is not null`;
  return [
    ...(await store.listBodies()).map((name) => `the body ${name} of a task that ended`),
    ...(await list('staged batches', 'staged_batch')),
    ...(await list('documents that nothing points to', `document where id not in (${needed})`)),
    ...(store.kind === 'embedded'
      ? [
          ...(await list('lists to be merged', `relation_list where ${DUE}`)),
          ...(await list('members of no document that are not noted', `(select 1 where ${UNNOTED}) m`)),
        ]
      : await list('members of no document', `relation_member where ${OF_NO_DOCUMENT}`)),
  ];
}

/** Cleaning up continues after the answers, at the speed of the machine. */
export async function waitUntilTidy(store: TestStore, projectId: number): Promise<void> {
  let leftovers = await listLeftovers(store, projectId);
  for (let attempt = 0; attempt < 600 && leftovers.length > 0; attempt += 1) {
    await delay(100);
    leftovers = await listLeftovers(store, projectId);
  }
  assert.deepEqual(leftovers, []);
}

/** Checks the store itself, once the service has stopped. */
export async function checkStore(store: TestStore, projectId: number): Promise<void> {
  if (store.kind === 'embedded') {
    const findings = await store.readCatalog<{ integrity_check: string }>(
      projectId,
      'pragma integrity_check',
    );
    assert.deepEqual(
      findings.map((row) => row.integrity_check),
      ['ok'],
    );
  }
  const list = (sql: string) => store.readCatalog(projectId, `select p.id from product p where ${sql}`);
  const dangling = 'document_id not in (select id from document)';
  assert.deepEqual(await list(dangling), [], 'every product has its document');
  const members = store.kind === 'embedded' ? 'relation_entry' : 'relation_member';
  const unplaced = `p.id not in (select m.product_id from ${members} m
    join product o on o.id = m.product_id and o.document_id = m.document_id group by m.product_id having count(*) = 2)`;
  assert.deepEqual(await list(unplaced), [], 'every product is on both sides of the relation');
}

/** Some kills come right after an answer, when the service has just made a promise. */
export function aimAt(dice: number): Wish['kind'] | undefined {
  if (dice < 0.2) return 'commit';
  if (dice < 0.3) return 'upload';
  if (dice < 0.35) return 'initiate';
  return undefined;
}
