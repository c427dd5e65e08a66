// runs: test, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestStore } from '../../../test/support/test-store.ts';
import { saveUses } from './api-key-store.ts';

test('uses of any number of keys are stored, and a later write never moves an instant back (§5.1 rule 3)', async (t) => {
  const store = await createTestStore(t);
  const { database, close } = await store.open();
  store.onRemove(close);
  await store.change("insert into account (id, name, created_at) values (1, 'Main', 0)");
  const count = 600;
  for (let id = 1; id <= count; id += 1) {
    await database.write('rows', (tx) =>
      tx
        .insertInto('api_key')
        .values({
          account_id: 1,
          name: 'Key',
          scope_type: 'account',
          access: 'read',
          hash: `${id}`,
          first_characters: 'rk_',
          created_at: 0,
          created_by: '{}',
        })
        .execute(),
    );
  }
  const read = async (id: number) => {
    const row = await database.read
      .selectFrom('api_key')
      .select(['last_used_at', 'last_used_in_url_at'])
      .where('id', '=', id)
      .executeTakeFirst();
    return [row?.last_used_at, row?.last_used_in_url_at];
  };
  await saveUses(database, []);
  const uses = Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    usedAt: 1000 + index,
    inUrlAt: null,
  }));
  await saveUses(database, uses);
  for (const id of [1, 256, 257, count]) assert.deepEqual(await read(id), [999 + id, null]);
  await saveUses(database, [
    { id: 1, usedAt: 500, inUrlAt: 500 },
    { id: 2, usedAt: 9000, inUrlAt: 9000 },
    { id: 100_000, usedAt: 1, inUrlAt: 1 },
  ]);
  assert.deepEqual(await read(1), [1000, 500]);
  await saveUses(database, [
    { id: 1, usedAt: 2000, inUrlAt: 400 },
    { id: 2, usedAt: 9001, inUrlAt: null },
    { id: 3, usedAt: 3, inUrlAt: 3 },
  ]);
  assert.deepEqual(
    [await read(1), await read(2), await read(3)],
    [
      [2000, 500],
      [9001, 9000],
      [1002, 3],
    ],
  );
});
