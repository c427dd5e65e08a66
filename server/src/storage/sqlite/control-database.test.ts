// runs: test
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openControlDatabase } from './control-database.ts';

test('a read of the control database does not wait for another read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-'));
  const database = openControlDatabase(join(folder, 'control.db'));
  t.after(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });
  const read = () => sql<{ one: number }>`select 1 as one`.execute(database.read);
  const { rows } = await database.read.connection().execute(read);
  assert.equal(rows[0]?.one, 1);
});
