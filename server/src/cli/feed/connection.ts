import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { createRelata, type Relata } from '@relata/client';
import { readClientSettings } from '../../config.ts';
import { readProfile } from './profiles.ts';
import { UsageError } from './usage-error.ts';

/** Of every command that talks to a service. */
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
  /** Undefined: the key reaches exactly one. */
  readonly projectId: number | undefined;
}

/** Of what may be asked again by hand. */
const RETRIES = 2;
/** Five minutes in all, in which a service is restarted or moved. */
export const PATIENT_RETRIES = 12;

export const connect = (flags: ConnectionFlags): Connection => connectWith(flags, RETRIES);

/** A flag counts before the environment, that before the profile. @throws UsageError */
export function connectWith(flags: ConnectionFlags, retries: number): Connection {
  const set = readClientSettings();
  const kept = readProfile(flags.profile);
  const url = flags.url ?? set.url ?? kept.url ?? 'http://127.0.0.1:4810';
  const key = flags.key ?? set.key ?? kept.key;
  if (key === undefined)
    throw new UsageError('an API key is missing: --key, RELATA_API_KEY, or relata login once');
  const projectId = readProjectId(flags.project ?? set.project ?? kept.project);
  return { url, key, projectId, relata: createRelata({ url, key, retries, fetch: fetchAloud }) };
}

function readProjectId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError(`--project ${text}: must be the id of a project`);
  return Number(text);
}

/** @returns the project, asked for where only one is in reach @throws UsageError */
export async function chooseProject({ relata, projectId }: Connection): Promise<number> {
  if (projectId !== undefined) return projectId;
  const { items } = await relata.projects.list({ limit: 2 });
  const [only] = items;
  if (only === undefined) throw new UsageError('this key reaches no project');
  if (items.length > 1) throw new UsageError('this key reaches several projects: say --project ID');
  return only.id;
}

/** A `Response` of these takes no text. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

let isAway = false;

/** Says once that it waits, and once that it goes on. */
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
    if (!isAway) console.error('The service cannot be reached, trying again …');
    isAway = true;
    throw error;
  }
}

/** The platform's fetch copies a body twice, into memory that is freed late: a push took twice the time and 50 MiB more. */
function sendBytes(
  url: string,
  { method, headers, signal }: RequestInit,
  body: Uint8Array,
): Promise<Response> {
  const { request } = url.startsWith('https:') ? https : http;
  const options = {
    ...(method !== undefined && { method }),
    ...(signal && { signal }),
    headers: { ...(headers as Record<string, string>), 'content-length': body.length },
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => {
      const known = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      text(answer)
        .then((read) => {
          const status = answer.statusCode ?? 0;
          const body = WITHOUT_BODY.includes(status) ? null : read;
          resolve(new Response(body, { status, headers: Object.fromEntries(known) }));
        })
        // Also what no Response can be made of.
        .catch(reject);
    });
    sent.on('error', reject).end(body);
  });
}
