import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findFastFolder } from '../postgres/postgres-server.ts';
import { SimulatedDisk } from './simulated-disk.ts';

/** The reason why the layer cannot run below the service on this machine, or false if it can. */
export const noLayers = findObstacle();

function findObstacle(): string | false {
  if (process.platform !== 'linux') return 'the layers between the service and its disk need Linux';
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'there is no C compiler to build the layers between the service and its disk';
  }
}

const builtLayers = new Map<string, string>();

/** @returns the layer, built once per process from a source next to this file */
export function buildLayer(name: 'unsynced' | 'failing'): string {
  const builtLayer = builtLayers.get(name);
  if (builtLayer !== undefined) return builtLayer;
  const folder = mkdtempSync(join(tmpdir(), 'relata-layer-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const built = join(folder, `${name}.so`);
  const source = fileURLToPath(new URL(`./${name}.c`, import.meta.url));
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
  builtLayers.set(name, built);
  return built;
}

/** A disk for one test, and the settings of processes that use it. */
export function createDisk(t: TestContext): { disk: SimulatedDisk; settings: Record<string, string> } {
  const folder = mkdtempSync(join(findFastFolder(tmpdir()), 'relata-power-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'disk');
  mkdirSync(root);
  const disk = new SimulatedDisk(root, join(folder, 'journal'));
  return { disk, settings: disk.settings(buildLayer('unsynced')) };
}
