// runs: long, postgres long, waits
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { endLeases } from '../support/killed-process.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { createTestStore } from '../support/test-store.ts';

/** RELATA_TEST_SEED repeats a run. */
const SEED = Number(process.env.RELATA_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** One kill per mode on each store. RELATA_TEST_KILLS plays more. */
const KILLS = Number(process.env.RELATA_TEST_KILLS ?? 3);
/** Two batches, so that a run has several writes. */
const PRODUCTS = 10_500;
/** A run of this file takes about half a second. */
const LONGEST_MS = 1_500;
const TASK_MINUTES = 5;
/** Stops a process that has no work left. */
const STOP_MS = 300_000;
const MODES = ['full', 'incremental', 'partial'] as const;

const fileOf = (version: number) =>
  `sku;name;Version\n${Array.from({ length: PRODUCTS }, (_, index) => `P${index};Product ${index};v${version}\n`).join('')}`;

test('the run of a killed process resumes, and its file becomes the complete catalog (§13.2)', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const random = createRandom(SEED);
  const store = await createTestStore(t);
  let service = await startProcess(store);
  const { projectId, pipelines } = await prepare(service);
  const sampled = Array.from({ length: 100 }, (_, index) => `P${Math.floor((index * PRODUCTS) / 100)}`);

  for (let version = 1; version <= KILLS; version += 1) {
    const path = String(pipelines[version % pipelines.length]);
    const before = (await listRuns(service, path)).length;
    const sent = send(service, `${path}/upload?name=feed.csv`, fileOf(version));
    await delay(random() * LONGEST_MS);
    await service.kill();
    await endLeases(store);
    const answered = await sent;
    service = await startProcess(store);
    // A run may have been accepted although its answer was lost.
    const [newest, ...others] = await listRuns(service, path);
    const accepted = answered ?? (others.length >= before ? newest : undefined);
    const id = accepted ?? (await send(service, `${path}/upload?name=feed.csv`, fileOf(version)));
    await untilFinished(service, id);
    const answer = await service.call('POST', `/product-service/products-by-sku?projectId=${projectId}`, {
      body: { identifiers: sampled },
    });
    const values = answer.body.products.map(({ facts }: { facts: { value: string }[] }) => facts[0]?.value);
    assert.deepEqual([...new Set(values)], [`v${version}`], `seed ${SEED}, kill ${version}`);
    assert.equal(values.length, sampled.length);
  }
  assert.equal(await service.stop(), 0);
  // The pieces of an interrupted file stay for a day, because another process may be about to accept it.
  if (store.kind === 'postgres') await store.change('update payload set created_at = 0');
  service = await startProcess(store);
  await waitForNoBodies(store);
  assert.deepEqual(await store.listBodies(), [], 'nothing of a file remains after its run');
  assert.equal(await service.stop(), 0);
});

test('a service stops while a run waits for its writes, and the run resumes later (§13.2)', async (t) => {
  const store = await createTestStore(t);
  const first = await startProcess(store);
  const { projectId, pipelines } = await prepare(first);
  const release = await store.lockCatalog(projectId);
  const [, incremental] = pipelines;
  const id = await send(first, `${incremental}/upload?name=feed.csv`, fileOf(1));
  await untilSays(first, `/tasks/${id}/log`, /writing 10500 products/);
  const stopped = first.stop();
  await untilStops(first);
  await release();
  assert.equal(await Promise.race([stopped, delay(STOP_MS, 'it is still there', { ref: false })]), 0);
  const second = await startProcess(store);
  await untilFinished(second, id);
});

/** Usually within a second; on a busy machine it may take minutes. */
async function untilFinished(service: ServiceProcess, id: string | undefined): Promise<void> {
  let task: { taskStatus: string; finishTime: string | null } | undefined;
  for (let minute = 1; minute <= TASK_MINUTES && (task?.finishTime ?? null) === null; minute += 1)
    ({ task } = (await service.call('GET', `/tasks/${id}?wait=60`)).body);
  assert.equal(task?.taskStatus, 'FINISHED', JSON.stringify(task));
}

async function untilSays(service: ServiceProcess, path: string, wanted: RegExp): Promise<void> {
  for (const begun = performance.now(); ; await delay(20)) {
    const { text } = await service.call('GET', path);
    if (wanted.test(text)) return;
    assert.ok(performance.now() - begun < STOP_MS, `${wanted} was not said: ${text}`);
  }
}

/** Waits until no changes are announced any more, or the service does not answer. */
async function untilStops({ address }: ServiceProcess): Promise<void> {
  const isReady = () =>
    fetch(`${address}/health/ready`, { signal: AbortSignal.timeout(10_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  while (await isReady()) await delay(20);
}

async function prepare(service: ServiceProcess): Promise<{ projectId: number; pipelines: string[] }> {
  const group = await service.call('POST', '/management/project-groups', { body: { name: 'G' } });
  const project = await service.call('POST', '/management/projects', {
    body: { name: 'P', projectGroupId: group.body.id, locale: 'de-DE' },
  });
  const projectId = project.body.id;
  const collection = `/management/projects/${projectId}/pipelines`;
  const pipelines: string[] = [];
  for (const mode of MODES) {
    const created = await service.call('POST', collection, {
      body: {
        name: mode,
        source: { type: 'upload' },
        format: { type: 'csv' },
        mapping: { identifier: 'sku', name: 'name', attributes: '*' },
        mode,
        trigger: { type: 'manual' },
        maxDeletePercent: 100,
      },
    });
    assert.equal(created.status, 201, created.text);
    pipelines.push(`${collection}/${created.body.id}`);
  }
  // Partial updates need existing products.
  const first = await send(service, `${pipelines[0]}/upload?name=feed.csv`, fileOf(0));
  await untilFinished(service, first);
  return { projectId, pipelines };
}

/** @returns the run's task; undefined if the process died before it answered */
async function send(service: ServiceProcess, path: string, content: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${service.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}` },
      body: content,
    });
    const { task } = (await response.json()) as { task: { id: string } };
    return task.id;
  } catch {
    return undefined;
  }
}

/** @returns ids of tasks, the newest first */
async function listRuns(service: ServiceProcess, path: string): Promise<string[]> {
  const { body } = await service.call('GET', `${path}/runs`);
  return body.items.map(({ task }: { task: { id: string } }) => task.id);
}

async function waitForNoBodies({
  listBodies,
}: {
  listBodies: () => Promise<readonly string[]>;
}): Promise<void> {
  for (let tries = 0; (await listBodies()).length > 0 && tries < 100; tries += 1) await delay(100);
}
