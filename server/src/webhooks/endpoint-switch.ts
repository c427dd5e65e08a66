import type { ControlTransaction } from '../storage/storage.ts';
import { failPending } from './delivery-store.ts';
import type { SwitchedOff } from './endpoint.ts';
import { ENDPOINTS, findEndpoint } from './endpoint-store.ts';
import { removeLanes } from './queue-store.ts';

/** Switches an endpoint off; what it was still to get is given up, and can be replayed. */
export async function switchOff(tx: ControlTransaction, id: number, why: SwitchedOff): Promise<void> {
  const endpoint = await findEndpoint(tx, id);
  if (endpoint === undefined || !endpoint.isEnabled) return;
  await ENDPOINTS.update(tx, { ...endpoint, isEnabled: false, switchedOff: why, updatedAt: why.at });
  await stopDeliveries(tx, id, why.at);
}

export async function stopDeliveries(tx: ControlTransaction, id: number, at: number): Promise<void> {
  await failPending(tx, id, at);
  await removeLanes(tx, id);
}
