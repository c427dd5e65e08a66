import assert from 'node:assert/strict';
import type { ServiceProcess } from '../service-process.ts';

/** A caller that creates and deletes keys and pipelines one by one and remembers the answers. */
export class DefinitionsCaller {
  private service: ServiceProcess;
  private readonly random: () => number;
  private readonly collections: readonly Collection[];
  private count = 0;
  /** The call whose answer was lost. */
  private inFlight: { readonly collection: Collection; readonly name: string } | undefined;

  constructor(service: ServiceProcess, projectId: number, random: () => number) {
    this.service = service;
    this.random = random;
    const source = {
      type: 'http',
      url: 'https://shop.example/products.csv',
      headers: { 'X-Token': 'secret' },
    };
    this.collections = [
      {
        path: '/management/api-keys',
        body: { scope: { type: 'project', id: projectId }, access: 'read' },
        stored: new Map(),
      },
      {
        path: `/management/projects/${projectId}/pipelines`,
        body: {
          source,
          format: { type: 'csv' },
          mode: 'full',
          trigger: { type: 'manual' },
          mapping: { identifier: 'sku', name: 'title' },
        },
        stored: new Map(),
      },
    ];
  }

  /** Makes calls until the process dies. */
  async burst(): Promise<void> {
    for (;;) {
      try {
        await this.act();
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  }

  async act(): Promise<void> {
    const collection = this.collections[this.count % this.collections.length];
    assert.ok(collection);
    const { path, body, stored } = collection;
    this.count += 1;
    const [oldest] = stored.size > 3 && this.random() < 0.5 ? stored : [];
    const name = oldest?.[0] ?? `Definition ${this.count}`;
    this.inFlight = { collection, name };
    if (oldest !== undefined) {
      const { status, text } = await this.service.call('DELETE', `${path}/${oldest[1].id}`);
      assert.equal(status, 200, text);
      stored.delete(name);
    } else {
      const { status, body: made, text } = await this.service.call('POST', path, { body: { ...body, name } });
      assert.equal(status, 201, text);
      stored.set(name, made);
    }
    this.inFlight = undefined;
  }

  /** After a start: everything that was answered exists, and nothing else except the unanswered call. */
  async recover(service: ServiceProcess): Promise<void> {
    this.service = service;
    for (const collection of this.collections) await this.compare(collection);
    this.inFlight = undefined;
  }

  private async compare(collection: Collection): Promise<void> {
    const { path, stored } = collection;
    const { body, status, text } = await this.service.call('GET', `${path}?limit=1000`);
    assert.equal(status, 200, text);
    const items = (body.items as Definition[]).filter(({ name }) => name.startsWith('Definition '));
    const unsure = this.inFlight?.collection === collection ? this.inFlight.name : '';
    const namesOf = (names: Iterable<string>) => [...names].filter((name) => name !== unsure).sort();
    assert.deepEqual(namesOf(items.map(({ name }) => name)), namesOf(stored.keys()), path);
    const item = items.find(({ name }) => name === unsure);
    if (item === undefined) stored.delete(unsure);
    else stored.set(unsure, stored.get(unsure) ?? item);
    for (const { key } of stored.values()) if (key !== undefined) await this.useKey(key);
  }

  private async useKey(key: string): Promise<void> {
    const { status, text } = await this.service.call(
      'GET',
      '/product-service/products-by-sku?identifiers=A',
      { headers: { authorization: `Bearer ${key}` } },
    );
    assert.equal(status, 200, `a key that was answered works: ${text}`);
  }
}

interface Definition {
  readonly id: number;
  readonly name: string;
  /** In the answer to its creation. */
  readonly key?: string;
}

interface Collection {
  readonly path: string;
  readonly body: object;
  /** By name. */
  readonly stored: Map<string, Definition>;
}
