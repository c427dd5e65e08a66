import assert from 'node:assert/strict';
import {
  CatalogModel,
  type Change,
  describeDifferences,
  type ModelProduct,
  readProduct,
  toBody,
} from '../catalogs/catalog-model.ts';
import type { ProcessAnswer, ServiceProcess } from '../service-process.ts';

/** Refusals of a failing disk, by status. */
const REFUSALS: Readonly<Record<number, { reason: string; message: string }>> = {
  503: {
    reason: 'storage_failed',
    message: 'The disk reports errors, so nothing of this request was stored',
  },
  507: { reason: 'storage_full', message: 'The disk is full, so nothing of this request was stored' },
};

/**
 * Writes of all kinds to one project, one after another, on a failing disk. Each is refused with one code, or accepted.
 */
export class DiskWriter {
  service: ServiceProcess;
  readonly projectId: number;
  /** The number of answers by call and status. */
  readonly statuses: Record<string, number> = {};
  private readonly model = new CatalogModel(1);
  private readonly accepted: string[] = [];
  private session: { products: ModelProduct[]; isLastFailed: boolean } | undefined;
  private version = 0;

  constructor(service: ServiceProcess, projectId: number) {
    this.service = service;
    this.projectId = projectId;
  }

  /** @returns whether the update was accepted */
  async update(count: number): Promise<boolean> {
    const products = this.makeProducts(count);
    return this.note(await this.call('POST', '/products', toBody(products)), { kind: 'update', products });
  }

  async delete(): Promise<boolean> {
    const identifiers = [...this.model.catalog.keys()].slice(0, 3);
    return this.note(await this.call('DELETE', '/products', { identifiers }), {
      kind: 'delete',
      identifiers,
    });
  }

  async initiate(): Promise<boolean> {
    const isOpen = (await this.call('POST', '/products/batch/initiate')).status === 200;
    if (isOpen) this.session = { products: [], isLastFailed: false };
    return isOpen;
  }

  async upload(count = 120): Promise<boolean> {
    if (this.session === undefined) return false;
    const products = this.makeProducts(count);
    const { status } = await this.call('POST', '/products/batch/upload', toBody(products));
    this.session.isLastFailed = status !== 200;
    if (status === 200) this.session.products.push(...products);
    return status === 200;
  }

  async start(): Promise<boolean> {
    if (this.session === undefined) return false;
    const { products, isLastFailed } = this.session;
    const answer = await this.call('POST', '/products/batch/start');
    if (isLastFailed) assert.notEqual(answer.status, 200, 'a failed batch blocks the commit');
    if (answer.status === 200) this.session = undefined;
    return this.note(answer, {
      kind: 'commit',
      products: new Map(products.map((product) => [product.identifier, product])),
    });
  }

  /** Looks up enough products for a compressed answer. */
  async lookUp(): Promise<ProcessAnswer> {
    const body = { identifiers: Array.from({ length: 100 }, (_, index) => `P${index}`) };
    const path = `/product-service/products-by-sku?projectId=${this.projectId}`;
    return this.service.call('POST', path, { body });
  }

  async hasUnfinished(): Promise<boolean> {
    for (const id of this.accepted) {
      const { body } = await this.service.call('GET', `/tasks/${id}`);
      if (body.task?.finishTime === undefined) return true;
    }
    return false;
  }

  /** After the disk has recovered: all accepted writes took effect, and nothing else. */
  async settle(): Promise<void> {
    for (const id of this.accepted.splice(0)) {
      const { body } = await this.service.call('GET', `/tasks/${id}?wait=60`);
      assert.equal(body.task.taskStatus, 'FINISHED', JSON.stringify(body.task));
    }
    const path = `/management/projects/${this.projectId}/products?format=ndjson`;
    const lines = (await this.service.call('GET', path)).text.split('\n').filter((line) => line !== '');
    const products = lines.map((line) => readProduct(JSON.parse(line)));
    assert.deepEqual(
      describeDifferences(
        new Map(products.map((product) => [product.identifier, product])),
        this.model.catalog,
      ),
      [],
      'exactly the accepted writes are stored',
    );
  }

  private async call(method: string, path: string, body?: unknown): Promise<ProcessAnswer> {
    const answer = await this.service.call(method, `${path}?projectId=${this.projectId}`, { body });
    const { status, text } = answer;
    const key = `${method} ${path} ${status}`;
    this.statuses[key] = (this.statuses[key] ?? 0) + 1;
    if (status === 200 || (status === 400 && path.endsWith('/start'))) return answer;
    const { reason, message } = REFUSALS[status] ?? {};
    assert.ok(reason !== undefined, `${method} ${path}: ${text}`);
    assert.deepEqual([answer.body.reason, answer.body.message], [reason, message]);
    return answer;
  }

  /** @returns products of about 450 bytes */
  private makeProducts(count: number): ModelProduct[] {
    this.version += 1;
    return Array.from({ length: count }, (_, index) => ({
      identifier: `P${(this.version * 7 + index) % 500}`,
      name: `${this.version}`,
      colour: `${'x'.repeat(400)}${this.version}`,
    }));
  }

  private note({ status, body }: ProcessAnswer, change: Change): boolean {
    if (status !== 200) return false;
    this.accepted.push((body.data ?? body).task.id);
    this.model.apply(change);
    return true;
  }
}
