import { ServiceError } from '../kernel/errors.ts';
import type { Database, Secrets } from '../storage/storage.ts';
import type { EndpointSecret } from './endpoint-secret.ts';
import { openSecret, sealSecret } from './endpoint-secret.ts';
import { findEndpoint, listEndpoints, updateEndpoint } from './endpoint-store.ts';

/**
 * Seals with the present key what no key or an earlier one sealed.
 * @returns how many endpoints, and of how many no key opens the secrets
 */
export async function sealEndpoints(
  database: Database,
  secrets: Secrets,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  const isSealed = ({ value }: EndpointSecret) =>
    !secrets.canSeal || (secrets.mark !== undefined && value.startsWith(secrets.mark));
  for (const { id, secrets: stored } of await listEndpoints(database.read)) {
    if (stored.every(isSealed)) continue;
    try {
      await database.write((tx) => sealEndpoint(tx, id, secrets));
      counts.resealed += 1;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'secret_unreadable')) throw error;
      counts.unreadable += 1;
    }
  }
  return counts;
}

async function sealEndpoint(
  tx: Parameters<typeof updateEndpoint>[0],
  id: number,
  secrets: Secrets,
): Promise<void> {
  const endpoint = await findEndpoint(tx, id);
  if (endpoint === undefined) return;
  const sealed = endpoint.secrets.map(({ value, endsAt }) => ({
    ...{ value: sealSecret(openSecret(value, id, secrets), id, secrets), endsAt },
  }));
  await updateEndpoint(tx, { ...endpoint, secrets: sealed });
}
