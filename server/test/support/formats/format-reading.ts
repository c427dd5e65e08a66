/** Reads texts and bytes as sources, for the tests of the formats. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SourceRow } from '../../../src/formats/input/source-row.ts';
import { type InputFormatSettings, readRows } from '../../../src/formats/input-formats.ts';

export interface ReadSource {
  readonly rows: readonly SourceRow[];
  readonly columns: readonly string[];
  readonly found: Readonly<Record<string, string>>;
  readonly unread: ReadonlyMap<string, number>;
}

/** A folder that must be empty when the test ends. */
export function createTempDir(t: TestContext): string {
  const tempDir = mkdtempSync(join(tmpdir(), 'relata-formats-'));
  t.after(() => {
    const left = readdirSync(tempDir);
    rmSync(tempDir, { recursive: true });
    assert.deepEqual(left, []);
  });
  return tempDir;
}

export async function* inChunks(content: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

export interface ReadOptions {
  readonly chunkBytes?: number;
  readonly tempDir?: string;
  readonly charset?: string;
}

export async function readAll(
  format: InputFormatSettings,
  content: string | Uint8Array,
  { chunkBytes = 1_000_000, tempDir = tmpdir(), charset }: ReadOptions = {},
): Promise<ReadSource> {
  const reading = readRows(format, inChunks(content, chunkBytes), { tempDir, charset });
  const rows: SourceRow[] = [];
  for await (const batch of reading) rows.push(...batch);
  return { rows, columns: reading.columns, found: reading.found, unread: reading.unread };
}

/** Values as ordinary objects, which compare by content. */
export async function readValues(
  format: InputFormatSettings,
  content: string | Uint8Array,
  options?: ReadOptions,
): Promise<Record<string, string | string[]>[]> {
  const { rows } = await readAll(format, content, options);
  assert.deepEqual(
    rows.filter((row) => row.problems !== undefined).map((row) => row.problems),
    [],
  );
  return rows.map((row) => ({ ...row.values }));
}

/** Number, code and message of each problem. */
export function listProblems(rows: readonly SourceRow[]): string[] {
  return rows.flatMap((row) =>
    (row.problems ?? []).map(({ code, column, message }) =>
      [row.number, code, ...(column === undefined ? [] : [column]), message].join(' '),
    ),
  );
}

/** Reads the content in one part and in parts of every small size. All results must be equal. */
export async function readInEveryWay(
  format: InputFormatSettings,
  content: string | Uint8Array,
  tempDir?: string,
): Promise<ReadSource> {
  const options = tempDir === undefined ? {} : { tempDir };
  const whole = await readAll(format, content, options);
  const length = Buffer.from(content).length;
  for (const chunkBytes of [1, 2, 3, 5, 7, 64, Math.ceil(length / 2)])
    assert.deepEqual(
      await readAll(format, content, { ...options, chunkBytes }),
      whole,
      `in pieces of ${chunkBytes}`,
    );
  return whole;
}

/** Reads the content in two parts, cut at every possible position. */
export async function readCutAnywhere(
  format: InputFormatSettings,
  content: string | Uint8Array,
): Promise<ReadSource> {
  const bytes = Buffer.from(content);
  const whole = await readAll(format, bytes);
  async function* cutAt(index: number): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, index);
    yield bytes.subarray(index);
  }
  for (let position = 0; position <= bytes.length; position += 1) {
    const rows: SourceRow[] = [];
    for await (const batch of readRows(format, cutAt(position), { tempDir: tmpdir() })) rows.push(...batch);
    assert.deepEqual(rows, whole.rows, `cut at ${position}`);
  }
  return whole;
}
