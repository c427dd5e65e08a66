/**
 * Makes the catalog of a project equal to a file. It runs a full update of products in the form of docs/interface §2.3,
 * one per line. It keeps one batch in memory, however large the file is, and repeats requests without an answer.
 *
 * export BASE_URL=http://127.0.0.1:4810 API_KEY=… PROJECT_ID=1 npm exec -- node examples/full-update.ts
 * examples/products.ndjson
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const { BASE_URL = 'http://127.0.0.1:4810', API_KEY = '', PROJECT_ID = '' } = process.env;
const [file] = process.argv.slice(2);
if (file === undefined || API_KEY === '')
  throw new Error('name a file, and set API_KEY to a key with access write');

/** docs/interface §8. A batch ends before it would reach the default of RELATA_UPLOAD_MAX_MIB. */
const PRODUCTS_PER_BATCH = 10_000;
const BATCH_CHARACTERS = 32 * 1024 * 1024;
const ATTEMPTS = 6;

interface Task {
  id: string;
  taskStatus: 'PENDING' | 'RUNNING' | 'FINISHED' | 'FAILED' | 'CANCELLED';
  error?: { code: string; message: string; details: string[] };
}

interface Sent {
  query?: Record<string, string | number>;
  /** JSON, gzipped. */
  body?: Uint8Array<ArrayBuffer>;
  /** Makes a repetition harmless, because the service repeats the first answer. */
  idempotencyKey?: string;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats a request that may succeed later. @throws Error for any other refusal, and after the last attempt */
async function call<Answer>(method: string, path: string, sent: Sent = {}): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await send(method, path, sent).catch((error: Error) => error);
    if (outcome instanceof Response && outcome.ok) return (await outcome.json()) as Answer;
    if (attempt === ATTEMPTS || !mayRepeat(outcome)) {
      throw new Error(`${method} ${path}: ${await describe(outcome)}`);
    }
    await pause(Math.max(readRetryAfter(outcome), 500 * 2 ** attempt));
  }
}

/** No answer, a timeout, too many requests, or a fault of the service. */
function mayRepeat(outcome: Response | Error): boolean {
  return outcome instanceof Error || [408, 429].includes(outcome.status) || outcome.status >= 500;
}

async function describe(outcome: Response | Error): Promise<string> {
  return outcome instanceof Error ? outcome.message : `${outcome.status} ${await outcome.text()}`;
}

function readRetryAfter(outcome: Response | Error): number {
  return outcome instanceof Error ? 0 : Number(outcome.headers.get('retry-after')) * 1000;
}

function send(method: string, path: string, { query = {}, body, idempotencyKey }: Sent): Promise<Response> {
  const url = new URL(path, BASE_URL);
  for (const [name, value] of Object.entries({ projectId: PROJECT_ID, ...query })) {
    url.searchParams.set(name, String(value));
  }
  return fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${API_KEY}`,
      ...(body && { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    ...(body && { body }),
    signal: AbortSignal.timeout(120_000),
  });
}

/** The lines are sent unchanged, because the service checks them. */
async function* readBatches(path: string): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let characters = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const isFull = batch.length === PRODUCTS_PER_BATCH || characters + line.length > BATCH_CHARACTERS;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(line);
    characters += line.length;
  }
  if (batch.length > 0) yield batch;
}

const run = randomUUID();
const { fullUpdateId } = await call<{ fullUpdateId: number }>('POST', '/products/batch/initiate', {
  idempotencyKey: `${run}-initiate`,
});
const query = { fullUpdateId };

let batches = 0;
let products = 0;
for await (const batch of readBatches(file)) {
  batches += 1;
  const body = new Uint8Array(await promisify(gzip)(`[${batch.join(',')}]`));
  const idempotencyKey = `${run}-${batches}`;
  const answer = await call<{ nrOfSent: number }>('POST', '/products/batch/upload', {
    query,
    body,
    idempotencyKey,
  });
  products += answer.nrOfSent;
  console.log(`batch ${batches}: ${products} products sent`);
}

const started = await call<{ data: { task: Task } }>('POST', '/products/batch/start', {
  // Refused if a batch is missing, whatever the reason.
  query: { ...query, batches },
  idempotencyKey: `${run}-start`,
});
let { task } = started.data;
while (task.taskStatus === 'RUNNING') {
  task = (await call<{ task: Task }>('GET', `/tasks/${task.id}`, { query: { wait: 30 } })).task;
}
const { log } = await call<{ log: { line: string }[] }>('GET', `/tasks/${task.id}/log`);
for (const { line } of log) console.log(line);
console.log(`task ${task.id}: ${task.taskStatus}`, task.error ?? '');
if (task.taskStatus !== 'FINISHED') process.exitCode = 1;
