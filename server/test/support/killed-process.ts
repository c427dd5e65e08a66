import { setTimeout as delay } from 'node:timers/promises';
import { query } from './postgres/postgres-server.ts';
import type { TestStore } from './test-store.ts';

/**
 * PostgreSQL ends the sessions of a killed process only after the statements already sent, which may include a commit.
 * Other processes wait up to 30 s before they take over its work. Here there are no others.
 */
export async function endLeases({ kind, settings, change }: TestStore): Promise<void> {
  const { RELATA_DATABASE_URL: url } = settings;
  if (kind === 'embedded' || url === undefined) return;
  const sessions = `select pid from pg_stat_activity where datname = current_database() and split_part(application_name, ' ', 1) = 'relata'`;
  while ((await query(url, sessions)).length > 0) await delay(20);
  for (const table of ['task', 'webhook_queue'])
    await change(`update ${table} set lease_until = 0 where leased_by is not null`);
  await change('update upload_process set seen_at = 0');
}
