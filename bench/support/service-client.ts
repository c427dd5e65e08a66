import { Agent, request } from 'node:http';

/** Calls a server of the bench as conforming clients do: over persistent connections, one call at a time. */
export interface ServiceClient {
  call(method: string, path: string, body?: Uint8Array | object): Promise<Answered>;
  /** @throws Error unless the call succeeds */
  succeed<Body>(method: string, path: string, body?: Uint8Array | object): Promise<Body>;
  close(): void;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export function createClient(address: string, key: string): ServiceClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const { hostname, port } = new URL(address);

  function call(method: string, path: string, body?: Uint8Array | object): Promise<Answered> {
    const bytes = body === undefined || body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
    const headers = {
      authorization: `Bearer ${key}`,
      ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
    };
    return new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      });
      sent.on('error', reject);
      sent.end(bytes);
    });
  }

  return {
    call,
    async succeed(method, path, body) {
      const { status, text } = await call(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 1_000)}`);
      return JSON.parse(text);
    },
    close: () => agent.destroy(),
  };
}

/** Bodies of a full update, prepared or made one by one. */
export type Bodies = Iterable<Uint8Array>;

export interface FullUpdateHooks {
  /** Called after each accepted batch. */
  onUploaded?(batches: number): void;
  /** Called right before the commit. */
  onStart?(): Promise<void> | void;
}

export interface FullUpdateTime {
  readonly uploadMs: number;
  /** From the call for the commit until its task has finished. */
  readonly commitMs: number;
  readonly totalMs: number;
}

/** Initiate, batch after batch, start, wait until FINISHED. */
export async function runFullUpdate(
  client: ServiceClient,
  projectId: number,
  { bodies, hooks = {} }: { bodies: Bodies; hooks?: FullUpdateHooks },
): Promise<FullUpdateTime> {
  const query = `projectId=${projectId}`;
  const started = performance.now();
  await client.succeed('POST', `/products/batch/initiate?${query}`);
  let batches = 0;
  for (const body of bodies) {
    await client.succeed('POST', `/products/batch/upload?${query}`, body);
    batches += 1;
    hooks.onUploaded?.(batches);
  }
  await hooks.onStart?.();
  const uploaded = performance.now();
  const { data } = await client.succeed<{ data: TaskAnswer }>('POST', `/products/batch/start?${query}`);
  await waitUntilFinished(client, data.task.id);
  const ended = performance.now();
  return { uploadMs: uploaded - started, commitMs: ended - uploaded, totalMs: ended - started };
}

export interface TaskAnswer {
  readonly task: { readonly id: string; readonly taskStatus: string; readonly finishTime: number | null };
}

export async function waitUntilFinished(client: ServiceClient, taskId: string): Promise<void> {
  for (;;) {
    const { task } = await client.succeed<TaskAnswer>('GET', `/tasks/${taskId}?wait=60`);
    if (task.finishTime === null) continue;
    if (task.taskStatus === 'FINISHED') return;
    throw new Error(`a task ended as ${task.taskStatus}`);
  }
}
