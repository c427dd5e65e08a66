/**
 * Reads one large file and prints its memory use as JSON: `node format-memory.ts csv 1024` (MB) or `node
 * format-memory.ts xlsx book.xlsx`. It runs in a separate process, so that nothing else is measured.
 */
import { createReadStream, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type InputFormatSettings, readRows } from '../../../src/formats/input-formats.ts';
import type { ByteStream } from '../../../src/formats/streams/peekable.ts';
import { type LargeFormat, makeLargeFile } from './format-files.ts';

const MB = 1_000_000;

export interface Measurement {
  readonly rows: number;
  readonly megabytes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The largest growth of the process's memory since before the first byte, and of its heap. */
  readonly rssGrowthMb: number;
  readonly heapGrowthMb: number;
}

async function measure(
  format: InputFormatSettings,
  bytes: ByteStream,
  megabytes: number,
): Promise<Measurement> {
  const before = process.memoryUsage();
  let heapPeak = before.heapUsed;
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  let rows = 0;
  for await (const batch of readRows(format, bytes, { tempDir: tmpdir() })) {
    rows += batch.length;
    if (batch.some(({ problems }) => problems !== undefined)) throw new Error('a row has problems');
    heapPeak = Math.max(heapPeak, process.memoryUsage().heapUsed);
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    rows,
    megabytes,
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: (user + system) / 1_000_000,
    rssGrowthMb: (process.resourceUsage().maxRSS * 1_024 - before.rss) / MB,
    heapGrowthMb: (heapPeak - before.heapUsed) / MB,
  };
}

const [name = '', size = ''] = process.argv.slice(2);
const measured =
  name === 'xlsx'
    ? await measure({ type: 'xlsx' }, createReadStream(size), statSync(size).size / MB)
    : await measure(
        { type: name as LargeFormat },
        makeLargeFile(name as LargeFormat, Number(size) * MB),
        Number(size),
      );
process.stdout.write(`${JSON.stringify(measured)}\n`);
