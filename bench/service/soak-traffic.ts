import { createRandom } from '../../server/test/support/catalogs/catalog-model.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate, type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { describeProduct, identifierOf } from '../support/synthetic-products.ts';

const PRODUCTS = 2_000;
const BATCH = 500;
const FEW = 20;
const CALLERS = 4;
const SEED = Number(process.env.BENCH_SEED ?? 1);
const TAGS = encodeURIComponent('[{"tag":"brand","limitPerRelation":5}]');
/**
 * A pipeline has one run at a time, and callers share it. The index of search follows the catalog. Source:
 * docs/interface §7.7.
 */
const IS_BUSY = /pipeline_running|pipeline_busy|search_not_ready/;

/** @returns a project with products, a relation and a pipeline, and its traffic */
export async function openTraffic(service: BenchService): Promise<Traffic> {
  const projectId = await service.createProject('Soak');
  const place = `/management/projects/${projectId}`;
  const both = { source: { all: [] }, target: { all: [] } };
  const match = [{ target: 'Brand', operator: 'equals', source: 'Brand' }];
  const pipeline = await service.succeed<{ id: number }>('POST', `${place}/pipelines`, {
    name: 'Files',
    source: { type: 'upload' },
    format: { type: 'csv' },
    mode: 'partial',
    mapping: { identifier: 'sku', attributes: { Price: 'price' } },
    trigger: { type: 'manual' },
  });
  const traffic = new Traffic(service, projectId, pipeline.id);
  await traffic.fullUpdate();
  await service.succeed('POST', `${place}/relations`, { name: 'Same brand', tag: 'brand', ...both, match });
  return traffic;
}

/** The daily requests of shops, feeds and people, in parallel and in random order. */
export class Traffic {
  requests = 0;
  /** Unsuccessful answers. */
  readonly faults: string[] = [];
  private readonly service: BenchService;
  private readonly projectId: number;
  private readonly pipelineId: number;
  private readonly random = createRandom(SEED);
  private times: number[] = [];
  private version = 1;
  private isStopped = false;
  /** Kinds of requests with their shares. */
  private readonly work: readonly (readonly [number, () => Promise<void>])[] = [
    [0.6, () => this.lookUp()],
    [0.1, () => this.ask('/search/relations/result', `&includeTags=${TAGS}&identifier=${this.pick(1)}`)],
    [0.08, () => this.ask('/search/products', '&q=drills')],
    [0.06, () => this.write('POST', '', this.describe(this.pickIndexes()))],
    [0.05, () => this.write('POST', '&partial=true', this.describePartly())],
    [0.03, () => this.write('DELETE', '', { identifiers: [...this.pick(FEW), identifierOf(PRODUCTS - 1)] })],
    [0.03, () => this.follow()],
    [0.02, () => this.runPipeline()],
    [0.03, () => this.export()],
  ];

  constructor(service: BenchService, projectId: number, pipelineId: number) {
    this.service = service;
    this.projectId = projectId;
    this.pipelineId = pipelineId;
  }

  /**
   * Runs until it is stopped. Only one caller sends full updates, because each would discard the session of another.
   */
  async run(): Promise<void> {
    const repeat = async (choose: () => () => Promise<void>) => {
      for (; !this.isStopped; this.requests += 1)
        await choose()().catch((error: Error) => void this.faults.push(error.message));
    };
    const callers = Array.from({ length: CALLERS }, () => repeat(() => this.choose()));
    await Promise.all([repeat(() => () => this.fullUpdate()), ...callers]);
  }

  stop(): void {
    this.isStopped = true;
  }

  /** @returns the times of lookups since the last call, in ms */
  takeLookupTimes(): number[] {
    const taken = this.times;
    this.times = [];
    return taken;
  }

  async fullUpdate(): Promise<void> {
    const all = Array.from({ length: PRODUCTS }, (_, index) => index);
    const starts = all.filter((index) => index % BATCH === 0);
    const bodies = starts.map((from) => this.describe(all.slice(from, from + BATCH)));
    await runFullUpdate(this.service, this.projectId, { bodies });
  }

  private choose(): () => Promise<void> {
    let dice = this.random();
    const found = this.work.find(([share]) => {
      dice -= share;
      return dice < 0;
    });
    return found?.[1] ?? (() => this.lookUp());
  }

  private async lookUp(): Promise<void> {
    const start = performance.now();
    const path = `/product-service/products-by-sku?projectId=${this.projectId}`;
    await this.service.succeed('POST', path, { identifiers: this.pick(FEW) });
    this.times.push(performance.now() - start);
  }

  private async write(method: string, query: string, body: Uint8Array | object): Promise<void> {
    const path = `/products?projectId=${this.projectId}${query}`;
    const { task } = await this.service.succeed<TaskAnswer>(method, path, body);
    await waitUntilFinished(this.service, task.id);
  }

  private async follow(): Promise<void> {
    const path = `/products?projectId=${this.projectId}`;
    const body = this.describe(this.pickIndexes());
    const { task } = await this.service.succeed<TaskAnswer>('POST', path, body);
    await this.expect('GET', `/tasks/${task.id}/events`);
  }

  private ask = (path: string, query: string) =>
    this.expect('GET', `${path}?projectId=${this.projectId}${query}`);

  private export = () => this.expect('GET', `/management/projects/${this.projectId}/products?format=ndjson`);

  private runPipeline(): Promise<void> {
    const rows = this.pick(FEW).map((identifier) => `${identifier},${this.version}`);
    const path = `/management/projects/${this.projectId}/pipelines/${this.pipelineId}/upload?name=a.csv`;
    return this.expect('POST', path, Buffer.from(`sku,price\n${rows.join('\n')}\n`));
  }

  private async expect(method: string, path: string, body?: Uint8Array): Promise<void> {
    const { status, text } = await this.service.call(method, path, body);
    if (status >= 300 && !IS_BUSY.test(text))
      throw new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`);
  }

  private describe(indexes: readonly number[]): Buffer {
    this.version += 1;
    const version = { version: this.version, every: 1 };
    return Buffer.from(`{"products":[${indexes.map((index) => describeProduct(index, version)).join()}]}`);
  }

  private describePartly(): object {
    // Products that were deleted in between are skipped, with a line in the report.
    const attributes = { Stock: String(this.version) };
    return { products: this.pick(FEW).map((identifier) => ({ identifier, attributes })) };
  }

  private pickIndexes = (count = FEW): number[] =>
    Array.from({ length: count }, () => Math.floor(this.random() * PRODUCTS));

  private pick = (count: number): string[] => this.pickIndexes(count).map(identifierOf);
}
