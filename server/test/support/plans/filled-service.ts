import assert from 'node:assert/strict';
import type { TestService } from '../test-service.ts';

/** Enough products that a plan that reads all of them differs from a plan that reads a few. */
const PRODUCTS = 3_000;

export const productsOf = (count: number, version: number) =>
  Array.from({ length: count }, (_, index) => ({
    identifier: `P-${index}`,
    name: `Drill ${index} of version ${version}`,
    categories: [{ path: ['Tools', index % 2 === 0 ? 'Drills' : 'Bits', `Kind ${index % 1_000}`] }],
    attributes: [
      { key: 'Chuck', value: `${index % 10} mm` },
      { key: 'Price', value: `${version + (index % 100)} EUR` },
    ],
  }));

const BITS_OF_DRILLS = {
  name: 'Bits of drills',
  tag: 'accessories',
  source: { category: ['Tools', 'Drills'] },
  target: { category: ['Tools', 'Bits'] },
  match: [
    { target: 'Chuck', operator: 'equals', source: 'Chuck' },
    { target: 'Price', operator: 'less', source: 'Price' },
  ],
  sort: [{ attribute: 'Price', direction: 'asc' }],
};

/** Creates a relation, and waits until no task is open. */
export async function relateBits(service: TestService): Promise<void> {
  const home = `/management/projects/${service.projectId}/relations`;
  const { status, body } = await service.call('POST', home, { body: BITS_OF_DRILLS });
  assert.equal(status, 201, JSON.stringify(body));
  for (;;) {
    const { body: tasks } = await service.call('GET', `/tasks?projectId=${service.projectId}&limit=50`);
    const open = tasks.tasks.find((task: { taskStatus: string }) => /PENDING|RUNNING/.test(task.taskStatus));
    if (open === undefined) return;
    await service.ended(open.id);
  }
}

/** Loads a catalog twice, so that old row versions are removed, and relates its products. */
export async function fillService(service: TestService): Promise<void> {
  await service.loadCatalog(productsOf(PRODUCTS, 1));
  await service.loadCatalog(productsOf(PRODUCTS, 2));
  await relateBits(service);
}
