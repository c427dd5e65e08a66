// runs: deep
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createRandom } from '../support/catalogs/catalog-model.ts';
import { createDisk, noLayers } from '../support/power/layer.ts';
import { type DiskState, readState } from '../support/power/simulated-disk.ts';

/**
 * The simulated disk of sqlite-power-cut.test.ts records every write of Node and SQLite, and programs that do not sync
 * lose data.
 */

const CUTS = 40;

const FILES = `
  const fs = require('node:fs');
  const sync = (path) => { const file = fs.openSync(path); fs.fsyncSync(file); fs.closeSync(file); };`;
const DATABASE = `
  const { DatabaseSync } = require('node:sqlite');
  const fill = (pragmas) => {
    const database = new DatabaseSync('rows.db');
    database.exec(pragmas + '; create table number (value integer, text text)');
    for (let value = 0; value < 20; value += 1) {
      database.prepare('insert into number values (?, ?)').run(value, 'x'.repeat(3000));
    }
    process.kill(process.pid, 'SIGKILL');
  };`;

const readText = (name: string) => (state: DiskState) => String(state.get(name));
const hasName = (name: string) => (state: DiskState) => String(state.has(name));

interface Planted {
  readonly says: string;
  readonly program: string;
  /** The content read by a program after the cut. */
  readonly read: (state: DiskState, folder: string) => string;
  readonly promised: string;
  readonly isKept: boolean;
}

const PLANTED: readonly Planted[] = [
  {
    says: 'a file that is synced with its folder',
    program: `${FILES} fs.writeFileSync('a', 'text'); sync('a'); sync('.');`,
    read: readText('a'),
    promised: 'text',
    isKept: true,
  },
  {
    says: 'a file without its own sync',
    program: `${FILES} fs.writeFileSync('a', 'text'); sync('.');`,
    read: readText('a'),
    promised: 'text',
    isKept: false,
  },
  {
    says: 'a file without the sync of its folder',
    program: `${FILES} fs.writeFileSync('a', 'text'); sync('a');`,
    read: readText('a'),
    promised: 'text',
    isKept: false,
  },
  {
    says: 'a draft that is renamed before it is synced',
    program: `${FILES} fs.writeFileSync('a.part', 'text'); fs.renameSync('a.part', 'a'); sync('.');`,
    read: readText('a'),
    promised: 'text',
    isKept: false,
  },
  {
    says: 'a draft that is synced and renamed, with its folder',
    program: `${FILES} (async () => {
      const file = await fs.promises.open('a.part', 'w');
      await file.writeFile('text'); await file.datasync(); await file.close();
      await fs.promises.rename('a.part', 'a'); sync('.'); })()`,
    read: readText('a'),
    promised: 'text',
    isKept: true,
  },
  {
    says: 'a new folder without the sync of the folder above',
    program: `${FILES} fs.mkdirSync('f'); fs.writeFileSync('f/a', 'text'); sync('f/a'); sync('f');`,
    read: readText('f/a'),
    promised: 'text',
    isKept: false,
  },
  {
    says: 'a copy that is synced',
    program: `${FILES} fs.writeFileSync('a', 'text'); fs.copyFileSync('a', 'b'); sync('b'); sync('.');`,
    read: readText('b'),
    promised: 'text',
    isKept: true,
  },
  {
    says: 'the removal of a file, without the sync of its folder',
    program: `${FILES} fs.writeFileSync('a', 'text'); sync('a'); sync('.'); fs.rmSync('a');`,
    read: hasName('a'),
    promised: 'false',
    isKept: false,
  },
  {
    says: 'rows in a WAL that is synced',
    program: `${DATABASE} fill('pragma journal_mode = wal; pragma synchronous = full')`,
    read: countRows,
    promised: '20',
    isKept: true,
  },
  {
    says: 'rows in a WAL that is not synced with each commit',
    program: `${DATABASE} fill('pragma journal_mode = wal; pragma synchronous = normal')`,
    read: countRows,
    promised: '20',
    isKept: false,
  },
  {
    says: 'rows behind a rollback journal',
    program: `${DATABASE} fill('pragma journal_mode = truncate; pragma synchronous = extra')`,
    read: countRows,
    promised: '20',
    isKept: true,
  },
  {
    says: 'rows behind a rollback journal that is not synced',
    program: `${DATABASE} fill('pragma journal_mode = truncate; pragma synchronous = off')`,
    read: countRows,
    promised: '20',
    isKept: false,
  },
];

function countRows(state: DiskState, folder: string): string {
  writeState(state, folder);
  try {
    const database = new DatabaseSync(join(folder, 'rows.db'));
    const [row] = database.prepare('select count(*) as count from number').all();
    database.close();
    return String(row?.count);
  } catch (error) {
    return (error as Error).message;
  }
}

for (const { says, program, read, promised, isKept } of PLANTED) {
  test(`a power cut ${isKept ? 'keeps' : 'can lose'} ${says}`, { skip: noLayers }, async (t) => {
    const { disk, settings } = createDisk(t);
    await run(disk.root, program, settings);
    disk.follow();
    assert.deepEqual(
      [...disk.current()].sort(byName),
      [...readState(disk.root)],
      'the layer recorded every write',
    );
    const random = createRandom(1);
    const outcomes = Array.from({ length: CUTS }, (_, cut) =>
      read(disk.leave(cut === 0 ? 'nothing' : 'any changes', random), join(disk.root, `../cut-${cut}`)),
    );
    const lost = outcomes.filter((text) => text !== promised);
    if (isKept) assert.deepEqual(lost, []);
    else assert.notEqual(lost.length, 0, `all ${CUTS} cuts kept it`);
  });
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);

/** Runs the program until it ends or kills itself. */
function run(folder: string, program: string, settings: Record<string, string>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const options = { cwd: folder, env: { ...process.env, ...settings } };
  execFile(process.execPath, ['--eval', program], options, (error, _, complaint) => {
    if (error === null || error.signal === 'SIGKILL') resolve();
    else reject(new Error(complaint));
  });
  return promise;
}

/** Writes into a new folder. */
function writeState(state: DiskState, folder: string): void {
  mkdirSync(folder);
  for (const [name, bytes] of state) {
    if (bytes === undefined) mkdirSync(join(folder, name));
    else writeFileSync(join(folder, name), bytes);
  }
}
