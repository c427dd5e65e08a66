import { Agent, type IncomingMessage, request as send } from 'node:http';
import type { Browser } from '../browser.ts';
import { signUpOwner } from '../people.ts';
import type { TestService } from '../test-service.ts';
import type { HostileRequest } from './hostile-requests.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are read field by field.
  readonly body: any;
}

/** Time limit for event streams, because the stream of an unfinished task does not end. */
const STREAM_MS = 300;
/** Some requests start threads, which took more than a minute at the lowest priority on a busy machine. */
const ANSWER_MS = 600_000;

/** Sends bytes unchanged, with the account key, as a signed-in user, or anonymously. */
export async function createHostileCaller(service: TestService) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(service.address);
  let owner: Browser = (await signUpOwner(service)).browser;
  let signingIn: Promise<void> | undefined;

  const credentials: Record<HostileRequest['caller'], () => Record<string, string>> = {
    stranger: () => ({ authorization: 'Bearer nobody' }),
    key: () => ({ authorization: `Bearer ${service.key}` }),
    session: () => ({ cookie: owner.cookie ?? '', 'x-csrf-token': owner.csrfToken, origin: service.address }),
  };

  function ask({ method, path, headers, body, caller }: Omit<HostileRequest, 'operation'>): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const length = body && { 'content-length': body.length };
    const all = { 'content-type': 'application/json', ...headers, ...credentials[caller](), ...length };
    const sent = send({ agent, hostname, port, method, path, headers: all });
    sent.on('error', reject).on('response', (answered) => readAnswer(answered).then(resolve, reject));
    sent.setTimeout(ANSWER_MS, () => sent.destroy(new Error('no answer')));
    sent.end(body);
    return promise;
  }

  return {
    ask,
    read: (path: string) => ask({ method: 'GET', path, headers: {}, body: undefined, caller: 'key' }),
    /**
     * If two callers are signed out at the same time, only one signs in, because a new link invalidates the previous
     * one.
     */
    signInAgain(): Promise<void> {
      signingIn ??= signUpOwner(service).then(({ browser }) => {
        owner = browser;
        signingIn = undefined;
      });
      return signingIn;
    },
    close: () => agent.destroy(),
  };
}

export type HostileCaller = Awaited<ReturnType<typeof createHostileCaller>>;

function readAnswer(answered: IncomingMessage): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  const settle = () => resolve(toAnswer(answered, Buffer.concat(chunks)));
  const isEndless = answered.headers['content-type']?.startsWith('text/event-stream') === true;
  const leave = () => {
    settle();
    answered.destroy();
  };
  if (isEndless) setTimeout(leave, STREAM_MS);
  answered.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', settle);
  answered.on('error', (error) => (isEndless ? settle() : reject(error)));
  return promise;
}

function toAnswer({ statusCode: status = 0, headers }: IncomingMessage, bytes: Buffer): Answer {
  const isPlain = headers['content-encoding'] === undefined;
  const isJson = isPlain && headers['content-type']?.startsWith('application/json') === true;
  const text = bytes.toString();
  return { status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined };
}
