import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRelata } from '@relata/client';
import { readClientSettings } from '../../config.ts';
import type { ConnectionFlags } from './connection.ts';
import { askSecret } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** Where a person pushes to, kept so that it need not be said each time. */
export interface Profile {
  readonly url?: string;
  readonly key?: string;
  readonly project?: string;
}

const DEFAULT = 'default';

const pathOf = () =>
  join(readClientSettings().configHome ?? join(homedir(), '.config'), 'relata', 'profiles.json');

function readAll(): Record<string, Profile> {
  try {
    return JSON.parse(readFileSync(pathOf(), 'utf8')) as Record<string, Profile>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new UsageError(`${pathOf()} cannot be read: ${(error as Error).message}`);
  }
}

/** @throws UsageError for a name that there is not; without a name the default one may be missing */
export function readProfile(name: string | undefined): Profile {
  const profiles = readAll();
  const wanted = name ?? DEFAULT;
  if (Object.hasOwn(profiles, wanted)) return profiles[wanted] ?? {};
  if (name === undefined) return {};
  throw new UsageError(`there is no profile ${name}: relata login --profile ${name} makes it`);
}

/** `relata login`: keeps where a service is, and the key, after trying them. */
export async function login({ url, key, project, profile = DEFAULT }: ConnectionFlags): Promise<number> {
  if (url === undefined) throw new UsageError('relata login needs --url');
  const kept = { url, key: key ?? (await askSecret('API key: ')), ...(project !== undefined && { project }) };
  await createRelata({ url, key: kept.key, retries: 1 }).tasks.list({ limit: 1, ...choose(project) });
  const path = pathOf();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A key is for its owner alone, also where the file was there before.
  writeFileSync(`${path}.new`, `${JSON.stringify({ ...readAll(), [profile]: kept }, null, 2)}\n`, {
    mode: 0o600,
  });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
  console.log(`The profile ${profile} is kept in ${path}`);
  return 0;
}

const choose = (project: string | undefined) => (project === undefined ? {} : { projectId: Number(project) });
