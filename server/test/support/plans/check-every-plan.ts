import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareWithAllowed, type RefusedLoops } from './allowed-loops.ts';
import { openPlanner } from './postgres-planner.ts';
import { readSeen, watching } from './seen-statements.ts';

/**
 * `npm run test:plans` runs the tests of both stores. It records every statement that they and the services they start
 * send to SQLite and PostgreSQL, and refuses a statement that reads a list or a table again for each row of another
 * one. Failed tests do not matter here, because `npm test` and `npm run test:deep` report them, and the watch slows
 * tests down.
 */

const RUNNER = fileURLToPath(new URL('../../runner/run-tests.ts', import.meta.url));
/** With fewer statements, the watch did not reach a store. The tests send more different statements than this. */
const LEAST = { sqlite: 600, postgres: 600 };

const print = (text: string) => process.stdout.write(`${text}\n`);

async function runTests(tier: 'test' | 'deep', folder: string): Promise<void> {
  const child = spawn(process.execPath, [RUNNER, tier, 'embedded', 'postgres'], {
    env: { ...process.env, ...watching(folder) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await once(child, 'exit');
}

/** @returns whether all statements of an engine are allowed */
function report(engine: 'sqlite' | 'postgres', statements: readonly RefusedLoops[]): boolean {
  const { refused, unused } = compareWithAllowed(engine, statements);
  print(`${engine}: ${statements.length} statements, ${refused.length} refused`);
  for (const { sql, refused: loops } of refused) print(`✖ ${loops.join('; ')}\n  ${sql.slice(0, 2_000)}`);
  for (const begin of unused) print(`✖ no statement needs the exception for: ${begin}`);
  if (statements.length < LEAST[engine]) print(`✖ fewer than ${LEAST[engine]} statements were recorded`);
  return refused.length === 0 && unused.length === 0 && statements.length >= LEAST[engine];
}

const folder = await mkdtemp(join(tmpdir(), 'relata-statements-'));
try {
  await runTests('test', folder);
  await runTests('deep', folder);
  const seen = await readSeen(folder);
  const ofSqlite = seen.filter((statement) => statement.engine === 'sqlite');
  const ofPostgres = seen.filter((statement) => statement.engine === 'postgres');
  await using planner = await openPlanner();
  const { judged, unplanned } = await planner.judgeAll(ofPostgres.map(({ sql }) => sql));
  for (const { sql, reason } of unplanned) print(`not planned (${reason}): ${sql.slice(0, 200)}`);
  const outcomes = [report('sqlite', ofSqlite), report('postgres', judged)];
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
