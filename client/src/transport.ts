import { RelataError, UnreachableError } from './relata-error.ts';
import { isPassing, pause, pauseBefore } from './retry.ts';
import { type Error as ErrorBody, type Operations, operations } from './wire.ts';

export interface ClientOptions {
  /** The base URL of the installation. In a page that it serves, the default `''` is right. */
  readonly url?: string;
  /** The API key. Without one, the console session of the browser is used. */
  readonly key?: string;
  /** The number of repetitions after a temporary failure. Default: 3. */
  readonly retries?: number;
  /** Default: the fetch of the platform. */
  readonly fetch?: typeof fetch;
}

/** The options of a single request. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Names a write, so that it is done once even if it is sent twice. Default: a generated key. */
  readonly idempotencyKey?: string;
  /** The `ETag` of the read version. If the resource has changed since, the answer is 412. */
  readonly ifMatch?: string;
}

export interface Outgoing extends CallOptions {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  /** Sent as JSON. A string, bytes and a file are sent unchanged. */
  readonly body?: unknown;
  readonly accept?: string;
  readonly retries?: number;
}

export type OperationName = keyof Operations;
export type AnswerOf<Name extends OperationName> = Operations[Name]['answer'];
/** Path, query and body of an operation, as far as it has them. */
export type InputOf<Name extends OperationName> = Omit<Operations[Name], 'answer'>;
export type BodyOf<Name extends OperationName> = InputOf<Name> extends { body: infer Body } ? Body : never;
export type QueryOf<Name extends OperationName> =
  InputOf<Name> extends { query?: infer Query } ? NonNullable<Query> : never;

export type Transport = ReturnType<typeof createTransport>;

/** The connection to the service: addresses, credentials, repetitions, refusals. */
export function createTransport({ url = '', key, retries = 3, fetch: given }: ClientOptions) {
  const base = url.replace(/\/+$/, '');
  const send = given ?? ((input: string, init: RequestInit) => fetch(input, init));
  let csrfToken: string | undefined;

  /** @returns the answer, whose status is 2xx */
  async function request(outgoing: Outgoing): Promise<Response> {
    const target = `${base}${outgoing.path}${toQuery(outgoing.query)}`;
    const init = toInit(outgoing, { key, csrfToken });
    const allowed = outgoing.retries ?? retries;
    for (let repetition = 1; ; repetition += 1) {
      const outcome = await attempt(() => send(target, init), outgoing.signal);
      if (outcome instanceof Response) return outcome;
      if (repetition > allowed || !isWorthRepeating(outcome)) throw outcome;
      await pause(pauseBefore(repetition, readPause(outcome)), outgoing.signal);
    }
  }

  async function sendJson<Answer>(outgoing: Outgoing): Promise<Answer> {
    const response = await request(outgoing);
    return (await response.json()) as Answer;
  }

  return {
    request,
    sendJson,
    /** Every operation of the interface by its name in the OpenAPI document. */
    call: async <Name extends OperationName>(
      name: Name,
      input: InputOf<Name>,
      options: CallOptions = {},
    ): Promise<AnswerOf<Name>> => {
      const response = await request({ ...toOutgoing(name, input), ...options });
      const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
      return (isJson ? await response.json() : await response.text()) as AnswerOf<Name>;
    },
    /** The token of the session, sent with every change. Source: docs/interface §5.6 rule 7. */
    useCsrfToken(token: string | undefined): void {
      csrfToken = token;
    },
  };
}

/** Fills the path of an operation. */
export function toOutgoing<Name extends OperationName>(name: Name, input: InputOf<Name>): Outgoing {
  const [method, template] = operations[name];
  const {
    path = {},
    query,
    body,
  } = input as { path?: Record<string, string | number>; query?: Record<string, unknown>; body?: unknown };
  const filled = template.replace(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(path[part] ?? ''));
  return { method, path: filled, ...(query && { query }), ...(body !== undefined && { body }) };
}

/** A refusal and a failed network are results here. An aborted request is thrown. */
async function attempt(
  send: () => Promise<Response>,
  signal?: AbortSignal,
): Promise<Response | RelataError | UnreachableError> {
  try {
    const response = await send();
    return response.ok ? response : await readRefusal(response);
  } catch (error) {
    signal?.throwIfAborted();
    // fetch has one error class for all reasons without an answer, so the reason is passed on with it.
    return new UnreachableError(error);
  }
}

const readPause = (error: RelataError | UnreachableError) =>
  error instanceof RelataError ? error.retryAfterSeconds : undefined;

const isWorthRepeating = (error: RelataError | UnreachableError) =>
  error instanceof UnreachableError || isPassing(error.status);

async function readRefusal(response: Response): Promise<RelataError> {
  // The status is the refusal. A body that breaks off would only explain it.
  const text = await response.text().catch(() => '');
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new RelataError(response.status, parseBody(text), Number.isFinite(after) ? after : undefined);
}

/** A proxy may also answer, in other forms. */
function parseBody(text: string): Partial<ErrorBody> {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    // A proxy answers in HTML.
    return {};
  }
}

interface Credentials {
  readonly key: string | undefined;
  readonly csrfToken: string | undefined;
}

function toInit(outgoing: Outgoing, credentials: Credentials): RequestInit {
  const { method, body, signal } = outgoing;
  return {
    method,
    headers: { ...toHeaders(outgoing, credentials.key), ...toWriteHeaders(outgoing, credentials.csrfToken) },
    ...(body !== undefined && { body: isAsItIs(body) ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  };
}

const isAsItIs = (body: unknown): body is string | Blob | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Blob || body instanceof Uint8Array;

const toHeaders = ({ body, accept }: Outgoing, key: string | undefined): Record<string, string> => ({
  ...(key !== undefined && { authorization: `Bearer ${key}` }),
  ...(accept !== undefined && { accept }),
  // A file has its own content type.
  ...(body !== undefined && !(body instanceof Blob) && { 'content-type': 'application/json' }),
});

function toWriteHeaders({ method, idempotencyKey, ifMatch }: Outgoing, csrfToken: string | undefined) {
  if (method === 'GET') return {};
  return {
    'idempotency-key': idempotencyKey ?? makeName(),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    ...(csrfToken !== undefined && { 'x-csrf-token': csrfToken }),
  };
}

/** Pages served over plain HTTP lack `crypto.randomUUID`. */
export function makeName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Lists of identifiers and similar values are JSON in a query. Undefined is omitted. */
function toQuery(query: Readonly<Record<string, unknown>> = {}): string {
  const parameters = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
  });
  return parameters.length > 0 ? `?${parameters.join('&')}` : '';
}
