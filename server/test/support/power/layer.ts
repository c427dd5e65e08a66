import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findFastFolder } from '../postgres/postgres-server.ts';
import { SimulatedDisk } from './simulated-disk.ts';

const source = fileURLToPath(new URL('./unsynced.c', import.meta.url));

/** Why power cuts cannot be tested here; false: they can. */
export const noPowerCuts = findObstacle();

function findObstacle(): string | false {
  if (process.platform !== 'linux') return 'the layer that loses unsynced writes is for Linux';
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'there is no C compiler to build the layer that loses unsynced writes';
  }
}

let built: string | undefined;

/** @returns the layer, built once by a process */
function buildLayer(): string {
  if (built !== undefined) return built;
  const folder = mkdtempSync(join(tmpdir(), 'relata-layer-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  built = join(folder, 'unsynced.so');
  execFileSync('cc', [
    '-shared',
    '-fPIC',
    '-O1',
    '-Wall',
    '-Werror',
    '-o',
    built,
    source,
    '-ldl',
    '-pthread',
  ]);
  return built;
}

/** A disk of its own for a test, and the settings of processes that use it. */
export function createDisk(t: TestContext): { disk: SimulatedDisk; settings: Record<string, string> } {
  const folder = mkdtempSync(join(findFastFolder(tmpdir()), 'relata-power-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'disk');
  mkdirSync(root);
  const disk = new SimulatedDisk(root, join(folder, 'journal'));
  return { disk, settings: disk.settings(buildLayer()) };
}
