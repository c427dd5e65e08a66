import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { query } from '../postgres/postgres-server.ts';
import type { ProcessCall, ServiceProcess } from '../service-process.ts';

/** Full updates as a connector sends them, with retries after 503. */

export const PRODUCTS_OF_BATCH = 500;

export interface WholeLoad {
  readonly projectId: number;
  readonly batches: number;
  /** Processes that accept batches in turn. The service itself starts and commits. */
  readonly others?: readonly ServiceProcess[];
}

/** Runs a full update, which has to take effect. */
export async function loadBatches(
  service: ServiceProcess,
  { projectId, batches, others = [] }: WholeLoad,
): Promise<void> {
  const path = (step: string) => `/products/batch/${step}?projectId=${projectId}`;
  const all = [service, ...others];
  await insist(service, path('initiate'));
  for (let batch = 0; batch < batches; batch += 1) {
    const taker = all[batch % all.length] ?? service;
    await insist(taker, path('upload'), { body: { products: productsOf(batch) } });
  }
  const started = await insist(service, `${path('start')}&batches=${batches}`);
  for (;;) {
    const { body, status } = await service.call('GET', `/tasks/${started.body.data.task.id}?wait=60`);
    if (status === 200 && body.task.taskStatus === 'FINISHED') return;
    assert.ok(status === 503 || ['PENDING', 'RUNNING'].includes(body.task?.taskStatus), JSON.stringify(body));
  }
}

/** @returns the number of products, and of those with documents */
export async function countProducts(url: string, projectId: number): Promise<number[]> {
  const [counted] = await query<{ products: string; documents: string }>(
    url,
    `select count(*) as products, (select count(*) from product p join document d on d.project_id = p.project_id
       and d.id = p.document_id where p.project_id = $1) as documents from product where project_id = $1`,
    [projectId],
  );
  return [Number(counted?.products), Number(counted?.documents)];
}

const productsOf = (batch: number) =>
  Array.from({ length: PRODUCTS_OF_BATCH }, (_, index) => ({
    identifier: `P-${batch}-${index}`,
    name: `Product ${index} of batch ${batch}`,
    attributes: [
      { key: 'Colour', value: index % 2 === 0 ? 'red' : 'blue' },
      { key: 'Length', value: `${index} mm` },
    ],
  }));

/** Retries after 503, as a connector does. */
async function insist(service: ServiceProcess, path: string, call?: ProcessCall) {
  for (let tries = 0; ; tries += 1) {
    const answer = await service.call('POST', path, call);
    if (answer.status === 200) return answer;
    assert.ok(answer.status === 503 && tries < 200, answer.text);
    await delay(200);
  }
}
