import assert from 'node:assert/strict';
import { PASSWORD } from '../browser.ts';
import { signIn, signUpOwner } from '../people.ts';
import { byUrl } from '../pipelines/pipeline-project.ts';
import type { TestService } from '../test-service.ts';

/** Fills the store of a release for the tests of later releases, with a few rows of each kind, and reads it again. */

/** The data that a caller of the release remembers. */
export interface Remembered {
  readonly projectId: number;
  /** A project with an open full update: one batch is accepted and not committed. */
  readonly openProjectId: number;
  readonly readKey: string;
  readonly email: string;
  /** The path of a published file. */
  readonly published: string;
}

const PRODUCTS = [
  {
    identifier: 'A-1',
    name: 'Drill',
    categories: [{ path: ['Tools', 'Drills'] }],
    attributes: [
      { key: 'Length', value: '12.5 in' },
      { key: 'Brand', value: 'Acme' },
    ],
  },
  { identifier: 'A-2', name: 'Bit set', attributes: [{ key: 'Brand', value: 'Acme' }] },
  { identifier: 'A-3', name: 'Saw', attributes: [{ key: 'Length', value: '40 cm' }] },
];

export async function fillStore(service: TestService): Promise<Remembered> {
  const projectId = await service.createProject('Shop', { keptCommits: 3 });
  const openProjectId = await service.createProject('Open shop');
  const projectPath = `/management/projects/${projectId}`;
  const make = (path: string, body: object) => succeed(service, ['POST', path, body]);

  await service.loadCatalog(PRODUCTS, projectId);
  const products = [{ ...PRODUCTS[2], name: 'Hand saw' }];
  const updated = await make(`/products?projectId=${projectId}`, { products });
  await service.ended(updated.task.id);
  const brand = { name: 'Same brand', tag: 'brand', source: { all: [] }, target: { all: [] } };
  await make(`${projectPath}/relations`, brand);
  const links = await make(`${projectPath}/relations`, { name: 'Accessories', tag: 'linked', kind: 'links' });
  assert.ok(links.id);
  await make(`${projectPath}/tables`, { name: 'makers', pairs: [['Acme', 'ACME Corp.']] });
  const maker = { target: 'Brand', operator: 'equals', source: 'Brand', table: 'makers' };
  const longer = { target: 'Length', operator: 'greaterOrEqual', source: 'Length', missing: 'passes' };
  const same = { ...brand, name: 'Same maker', tag: 'maker', match: [maker, { any: [longer, maker] }] };
  await make(`${projectPath}/relations`, same);
  const source = { type: 'http', url: 'https://shop.example/a.csv', headers: { 'X-Token': 'a secret' } };
  await make(`${projectPath}/pipelines`, byUrl(source.url, { name: 'Nightly', source }));
  const channel = await make(`${projectPath}/channels`, { name: 'Everything', format: { type: 'ndjson' } });
  await service.ended((await make(`${projectPath}/channels/${channel.id}/build`, {})).task.id);
  const { published } = await succeed(service, ['GET', `${projectPath}/channels/${channel.id}`]);
  const scope = { type: 'project', id: projectId };
  const events = ['task.finished'];
  await make('/management/webhook-endpoints', { url: 'https://shop.example/events', events, scope });
  const { key } = await make('/management/api-keys', { name: 'Reader', scope, access: 'read' });
  const { email } = await signUpOwner(service);

  await make(`/products/batch/initiate?projectId=${openProjectId}`, {});
  await make(`/products/batch/upload?projectId=${openProjectId}`, { products: PRODUCTS });
  for (const id of [projectId, openProjectId]) await untilIdle(service, id);
  return {
    projectId,
    openProjectId,
    readKey: key,
    email,
    published: new URL(published.files[0].url).pathname,
  };
}

/** @returns the service's answers about all of it */
export async function readStore(
  service: TestService,
  remembered: Remembered,
): Promise<Record<string, unknown>> {
  const projectPath = `/management/projects/${remembered.projectId}`;
  const paths = [
    ...[projectPath, `${projectPath}/ontology`, `${projectPath}/relations`, `${projectPath}/tables`],
    ...[`${projectPath}/pipelines`, `${projectPath}/channels`],
    ...[`${projectPath}/products`, `${projectPath}/products/A-1`],
    `/tasks?projectId=${remembered.projectId}&limit=1000`,
    `/product-service/products-by-sku?projectId=${remembered.projectId}&identifiers=["A-1","A-2","A-3"]`,
    `/search/relations/result?projectId=${remembered.projectId}&includeTags=[{"tag":"brand"}]&identifier=A-1`,
    `/search/relations/result?projectId=${remembered.projectId}&includeTags=[{"tag":"maker"}]&identifier=A-1`,
    `/management/webhook-endpoints`,
    remembered.published,
  ];
  const answers: Record<string, unknown> = {};
  for (const path of paths) {
    const text = JSON.stringify(await succeed(service, ['GET', path]));
    // The port differs each time.
    answers[path] = JSON.parse(text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://service'));
  }
  return answers;
}

/**
 * Tests everything that only use reveals: keys, passwords, accepted bodies.
 * @param stated the accepted batches, as parameters of the commit
 */
export async function useStore(service: TestService, remembered: Remembered, stated = ''): Promise<void> {
  const lookup = '/product-service/products-by-sku?identifiers=A-3';
  const { status, body } = await service.call('GET', lookup, { key: remembered.readKey });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await signIn(service, remembered.email, PASSWORD)).answer.status, 200);
  const start = `/products/batch/start?projectId=${remembered.openProjectId}${stated}`;
  const started = await succeed(service, ['POST', start]);
  assert.equal((await service.ended(started.data.task.id)).taskStatus, 'FINISHED');
  assert.equal((await service.lookUp(['A-1'], remembered.openProjectId)).length, 1);
  const undone = await succeed(service, [
    'POST',
    `/products/batch/restore?projectId=${remembered.projectId}`,
  ]);
  assert.equal((await service.ended(undone.task.id)).taskStatus, 'FINISHED');
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
async function succeed(service: TestService, [method, path, body]: [string, string, object?]): Promise<any> {
  const answer = await service.call(method, path, body && { body });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Relation builds and event deliveries continue after the answers. */
async function untilIdle(service: TestService, projectId: number): Promise<void> {
  const { tasks } = await succeed(service, ['GET', `/tasks?projectId=${projectId}&limit=1000`]);
  for (const { id, finishTime, taskStatus } of tasks)
    if (finishTime === null && taskStatus !== 'PENDING') await service.ended(id);
}
