import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createRelata, type Relata } from '@relata/client';
import { readClientSettings } from '../../config.ts';
import { askSecret } from './terminal.ts';

/** The flags of every command that calls a service. */
export interface ConnectionFlags {
  readonly url?: string;
  readonly key?: string;
  readonly project?: string;
  readonly profile?: string;
  readonly json?: boolean;
}

export interface Connection {
  readonly relata: Relata;
  readonly url: string;
  readonly key: string;
  /** Undefined if the key must reach exactly one project. */
  readonly projectId: number | undefined;
}

/** The number of retries for commands that a person can easily repeat. */
const RETRIES = 2;
/** This number of retries takes five minutes, enough for a service to be restarted or moved. */
export const PATIENT_RETRIES = 12;

export const connect = (flags: ConnectionFlags): Connection => connectWith(flags, RETRIES);

/** A flag takes precedence over the environment, and the environment over the profile. @throws UsageError */
export function connectWith(flags: ConnectionFlags, retries: number): Connection {
  const set = readClientSettings();
  const stored = readProfile(flags.profile);
  const url = flags.url ?? set.url ?? stored.url ?? 'http://127.0.0.1:4810';
  const key = flags.key ?? set.key ?? stored.key;
  if (key === undefined)
    throw new UsageError('an API key is missing: use --key or RELATA_API_KEY, or run relata login once');
  const project = flags.project ?? set.project ?? stored.project;
  if (project !== undefined && !/^[1-9]\d{0,14}$/.test(project))
    throw new UsageError(`--project ${project} must be the id of a project`);
  const projectId = project === undefined ? undefined : Number(project);
  return { url, key, projectId, relata: createRelata({ url, key, retries, fetch: fetchAloud }) };
}

/** @returns the chosen project, or the only one within reach. @throws UsageError */
export async function chooseProject({ relata, projectId }: Connection): Promise<number> {
  if (projectId !== undefined) return projectId;
  const { items } = await relata.projects.list({ limit: 2 });
  const [only] = items;
  if (only === undefined) throw new UsageError('this key does not reach any project');
  if (items.length > 1)
    throw new UsageError('this key reaches several projects: choose one with --project ID');
  return only.id;
}

let isAway = false;

/** Fetches, and prints once that the service is unreachable and once that it answers again. */
async function fetchAloud(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  try {
    const { body } = init;
    const response = await (body instanceof Uint8Array
      ? sendBytes(String(input), init, body)
      : fetch(input, init));
    if (isAway) console.error('The service answers again.');
    isAway = false;
    return response;
  } catch (error) {
    if (!isAway) console.error('The service cannot be reached; retrying …');
    isAway = true;
    throw error;
  }
}

/**
 * Replaces `fetch`, which copies a body twice into memory that is freed late. With `fetch` a push took twice the time
 * and 50 MiB more.
 */
async function sendBytes(url: string, init: RequestInit, bytes: Uint8Array): Promise<Response> {
  const { method, headers, signal } = init;
  const { request } = url.startsWith('https:') ? https : http;
  const upload = request(url, {
    ...(method !== undefined && { method }),
    ...(signal && { signal }),
    headers: { ...(headers as Record<string, string>), 'content-length': bytes.length },
  });
  // Handles errors that occur while the answer is read; reading the answer then fails.
  upload.on('error', () => {});
  upload.end(bytes);
  const [answer] = (await once(upload, 'response')) as [http.IncomingMessage];
  const read = await text(answer);
  const { statusCode: status = 0 } = answer;
  // A Response with one of these statuses must not have a body.
  const body = [204, 205, 304].includes(status) ? null : read;
  // Header values that are lists become one string.
  return new Response(body, { status, headers: answer.headers as Record<string, string> });
}

/** The stored address and key of a service, so that a person does not repeat them. */
type Profile = Pick<ConnectionFlags, 'url' | 'key' | 'project'>;

const DEFAULT = 'default';

const pathOf = () =>
  join(readClientSettings().configHome ?? join(homedir(), '.config'), 'relata', 'profiles.json');

const readAll = () => readStored<Record<string, Profile>>(pathOf(), '') ?? {};

/**
 * @returns the JSON of a file; undefined if the file does not exist.
 * @throws UsageError with the hint, such as ` (delete it)`
 */
export function readStored<Value>(path: string, hint: string): Value | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Value;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`${path} cannot be read${hint}: ${(error as Error).message}`);
  }
}

/** @throws UsageError for an unknown name. Without a name, the default profile does not have to exist. */
function readProfile(name: string | undefined): Profile {
  const profiles = readAll();
  const chosen = name ?? DEFAULT;
  if (Object.hasOwn(profiles, chosen)) return profiles[chosen] ?? {};
  if (name === undefined) return {};
  throw new UsageError(`there is no profile ${name}: create it with relata login --profile ${name}`);
}

/** `relata login`: stores the address of a service and the key after a successful request with them. */
export async function login({ url, key, project, profile = DEFAULT }: ConnectionFlags): Promise<number> {
  if (url === undefined) throw new UsageError('relata login needs --url');
  const typed = key ?? (await askSecret('API key: '));
  if (typed === '') throw new UsageError('the API key is empty');
  const stored = { url, key: typed, ...(project !== undefined && { project }) };
  await createRelata({ url, key: stored.key, retries: 1 }).tasks.list({ limit: 1, ...choose(project) });
  const path = pathOf();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Ensures that only the owner can read the key, even if the file existed before.
  writeFileSync(`${path}.new`, `${JSON.stringify({ ...readAll(), [profile]: stored }, null, 2)}\n`, {
    mode: 0o600,
  });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
  console.log(`The profile ${profile} was stored in ${path}`);
  return 0;
}

const choose = (project: string | undefined) => (project === undefined ? {} : { projectId: Number(project) });

/** A mistake that the user must correct before anything is sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
