// runs: long, slow
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { makeLargeBook, writeBook } from '../../test/support/formats/format-files.ts';
import type { Measurement } from '../../test/support/formats/format-memory.ts';

const run = promisify(execFile);
const PROGRAM = new URL('../../test/support/formats/format-memory.ts', import.meta.url).pathname;

/** RELATA_TEST_LARGE_FILES=1 reads files of the promised sizes. The default sizes would also reveal a leak. */
const isLarge = process.env.RELATA_TEST_LARGE_FILES !== undefined;
const MEGABYTES = isLarge ? 1_024 : 96;
const SHEET_ROWS = isLarge ? 1_048_576 : 100_000;

async function measure(t: TestContext, words: readonly string[]): Promise<Measurement> {
  const { stdout } = await run(process.execPath, [PROGRAM, ...words]);
  const measured = JSON.parse(stdout) as Measurement;
  const { rows, megabytes, seconds, cpuSeconds, rssGrowthMb, heapGrowthMb } = measured;
  t.diagnostic(
    `${words[0]}: ${rows} rows, ${megabytes.toFixed(0)} MB in ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of CPU): ` +
      `${(megabytes / seconds).toFixed(0)} MB/s, ${(rows / seconds).toFixed(0)} rows/s; ` +
      `process +${rssGrowthMb.toFixed(0)} MB, heap +${heapGrowthMb.toFixed(0)} MB`,
  );
  return measured;
}

for (const format of ['csv', 'ndjson', 'json', 'xml', 'bmecat'])
  test(`${MEGABYTES} MB of ${format} are read in less than 300 MB`, async (t) => {
    const { rssGrowthMb, rows } = await measure(t, [format, String(MEGABYTES)]);
    assert.ok(rows > MEGABYTES * 1_000);
    assert.ok(rssGrowthMb < 300, `${rssGrowthMb} MB`);
  });

test(`a sheet of ${SHEET_ROWS} rows is read in less than 600 MB`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-sheet-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'book.xlsx');
  await writeBook(path, makeLargeBook(SHEET_ROWS));
  const { rssGrowthMb, rows } = await measure(t, ['xlsx', path]);
  assert.equal(rows, SHEET_ROWS - 1);
  assert.ok(rssGrowthMb < 600, `${rssGrowthMb} MB`);
});
