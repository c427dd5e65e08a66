// runs: postgres deep
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { migratePostgres, openPostgres } from '../../src/storage/postgres/postgres.ts';
import { query } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { startProcess } from '../support/service-process.ts';
import { findServer, makeTestStore, postgresStoreOn } from '../support/test-store.ts';

/** A database that is not writable is detected at the start: docs/operating/postgresql.md, "Set up PostgreSQL". */

/** A migrated database, for a role that can write to all of it. */
async function makeRole(t: TestContext) {
  const database = await createDatabase(await findServer(), { isEmpty: true });
  const owner = openPostgres({ url: database.url, connections: 1, prepares: false });
  await migratePostgres(owner).finally(() => owner.close());
  const [name, password] = [`limited_${randomBytes(6).toString('hex')}`, randomBytes(12).toString('hex')];
  const url = Object.assign(new URL(database.url), { username: name, password }).href;
  const change = (sql: string) => query(database.url, sql);
  await change(`create role ${name} login password '${password}'; grant all on schema public to ${name};
    grant all on all tables in schema public to ${name}`);
  const store = postgresStoreOn({ ...database, url }, (await makeTestStore()).dataDir);
  t.after(async () => {
    await change(`drop owned by ${name}`);
    await store.remove();
    await query(await findServer(), `drop role ${name}`);
  });
  return { name, store, change };
}

const REFUSALS = {
  'read-only': {
    limit: (role: string) => `alter role ${role} set default_transaction_read_only = on`,
    said: /refuses what the service has to write: cannot execute [A-Z ]+ in a read-only transaction/,
  },
  'without the right to insert keys': {
    limit: (role: string) => `revoke insert on api_key from ${role}`,
    said: /refuses what the service has to write: permission denied for table api_key/,
  },
  'without the right to delete garbage': {
    limit: (role: string) => `revoke delete on garbage_document from ${role}`,
    said: /permission denied for table garbage_document/,
  },
  'whose documents cannot be written': {
    limit:
      () => `create function refuse() returns trigger language plpgsql as $$ begin raise 'no documents here'; end $$;
      create trigger refuse before insert on document for each row execute function refuse()`,
    said: /refuses what the service has to write: no documents here/,
  },
  'whose tasks cannot be claimed': {
    limit: () => `create function refuse() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger refuse before update on task for each row execute function refuse()`,
    said: /a task that was just accepted cannot be claimed/,
  },
};

for (const [which, { limit, said }] of Object.entries(REFUSALS)) {
  test(`a start refuses a database ${which}, with its own reason`, async (t) => {
    const { name, store, change } = await makeRole(t);
    await change(limit(name));
    await assert.rejects(startProcess(store), said);
  });
}

test('a database that accepts every write is served, and the trial leaves nothing in it', async (t) => {
  const { store, change } = await makeRole(t);
  const process = await startProcess(store);
  assert.equal((await process.call('GET', '/health/ready')).status, 200);
  for (const table of ['account', 'api_key', 'task', 'document']) {
    const key = { account: 'id', api_key: 'id', task: 'project_id', document: 'project_id' }[table];
    assert.deepEqual(await change(`select 1 from ${table} where ${key} < 0`), []);
  }
});

test('damage that PostgreSQL finds in its files is refused as a failing disk, not as a fault of the service (§7.4)', async (t) => {
  const database = await createDatabase(await findServer(), { isEmpty: true });
  const postgres = openPostgres({ url: database.url, connections: 1, prepares: false });
  t.after(async () => {
    await postgres.close();
    await database.drop();
  });
  for (const code of ['58030', 'XX001', 'XX002'])
    await assert.rejects(
      postgres.run(`do $$ begin raise exception using errcode = '${code}'; end $$`),
      { code: 'storage_failed' },
      code,
    );
});
