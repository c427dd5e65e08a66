import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { query } from '../postgres/postgres-server.ts';
import { createDatabase } from '../postgres/test-database.ts';
import {
  embeddedStoreAt,
  findServer,
  postgresStoreOn,
  type StoreKind,
  type TestStore,
} from '../test-store.ts';
import type { Remembered } from './content.ts';

/** The store of a release in one small file. */
export interface PackedStore {
  readonly remembered: Remembered;
  /** The answers of the release, by path. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** For the embedded store: its files in base64, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** For PostgreSQL: a dump as statements. */
  readonly dump?: string;
}

const folder = fileURLToPath(new URL('./', import.meta.url));
const pathOf = (release: string, kind: StoreKind) => join(folder, release, `${kind}.json.gz`);

/** @returns the releases with stored data */
export const listReleases = (): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

export function writePacked(release: string, kind: StoreKind, packed: PackedStore): string {
  const path = pathOf(release, kind);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, gzipSync(JSON.stringify(packed), { level: 9 }));
  return path;
}

export const readPacked = (release: string, kind: StoreKind): PackedStore =>
  JSON.parse(gunzipSync(readFileSync(pathOf(release, kind))).toString());

/** The files of a stopped service. */
export function packFiles(dataDir: string): Record<string, string> {
  const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  const paths = entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
  const storedPaths = paths.filter((path) => !/(?:-shm|server\.lock)$/.test(path)).sort();
  return Object.fromEntries(
    storedPaths.map((path) => [path.slice(dataDir.length + 1), readFileSync(path).toString('base64')]),
  );
}

/** @returns a new store with that content */
export async function unpack({ files, dump = '' }: PackedStore): Promise<TestStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'relata-earlier-'));
  if (files === undefined) {
    const database = await createDatabase(await findServer(), { isEmpty: true });
    // The npm package's servers lack lz4, which changes no content.
    await query(database.url, dump.replaceAll(/^ALTER TABLE .* SET COMPRESSION lz4;$/gm, ''));
    return postgresStoreOn(database, dataDir);
  }
  for (const [name, bytes] of Object.entries(files)) {
    const path = join(dataDir, name);
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, Buffer.from(bytes, 'base64'), { mode: 0o600 });
  }
  return embeddedStoreAt(dataDir);
}
