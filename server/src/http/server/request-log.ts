import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { isUser } from '../../kernel/caller.ts';
import { maskLooks, maskSecrets } from '../../kernel/secret-mask.ts';
import { unpackBeginning } from '../../storage/payloads/payloads.ts';
import type { FailureBody } from '../answers/answers.ts';
import { BEGINNING_BYTES } from '../bodies/bodies.ts';
import type { Server } from './endpoint.ts';
import { showPath, showQuery } from './shown-request.ts';

/** A request that takes this long is slow. Source: docs/interface §14.7. */
export const SLOW_MS = 1_000;

/**
 * Logs one line for a request that changed something, failed or was slow. Quick reads are logged only at `debug`,
 * because a line for each would cost a tenth of the requests per second.
 */
export class RequestLog extends LogController {
  private readonly logsQuickReads: boolean;
  /** Limits the number of lines, because anyone can send a request without a key. */
  private readonly logStranger = createRefusalLog('noKey');

  constructor(level: string) {
    super({ requestIdLogLabel: 'requestId' });
    this.logsQuickReads = level === 'debug';
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply) {
    const isQuickRead = request.method === 'GET' && reply.statusCode < 400 && reply.elapsedTime < SLOW_MS;
    if (isQuickRead && error == null && !this.logsQuickReads) return;
    // A request with a silent log already has its own line.
    if (request.log.level === 'silent') return;
    const ms = Math.round(reply.elapsedTime);
    const facts = { req: request, res: reply, ms, ...describeCall(request, reply) };
    if (isStranger(request, reply) && !this.logsQuickReads)
      this.logStranger(request.server.log, { requestId: request.id, ...facts, ...(error && { err: error }) });
    else if (error)
      request.log.error({ ...facts, err: error }, 'request ended before its answer was sent completely');
    else if (isQuickRead) request.log.debug(facts, 'request answered');
    else request.log.info(facts, 'request answered');
  }
}

/** A person who signs in has no session yet, so a successful POST does not make its sender a stranger. */
const isStranger = (request: FastifyRequest, { statusCode }: FastifyReply) =>
  (request as Partial<FastifyRequest>).caller === undefined &&
  (statusCode >= 400 || request.method !== 'POST');

/** Only ids, because no log may contain the value of a key. */
function describeCall(request: FastifyRequest, reply: FastifyReply) {
  const { caller, project } = request as Partial<FastifyRequest>;
  const sentBytes = reply.getHeader('content-length');
  return {
    project: project?.id,
    ...(caller !== undefined && (isUser(caller) ? { user: caller.userId } : { key: caller.keyId })),
    // The length of a stream is unknown before its end.
    bytes: {
      received: request.rawBody?.bytes.length ?? Number(request.headers['content-length'] ?? 0),
      sent: sentBytes === undefined ? undefined : Number(sentBytes),
    },
  };
}

const REFUSED = {
  noKey: {
    logged: 'request without a valid key',
    omitted: 'requests without a valid key were omitted from the log in this second',
  },
  headers: {
    logged: 'request refused because of its headers',
    omitted: 'requests refused because of their headers were omitted from the log in this second',
  },
  parser: {
    logged: 'request refused by the parser',
    omitted: 'requests refused by the parser were omitted from the log in this second',
  },
} as const;

/** The most log lines per second. One more line counts the others of that second. */
const REFUSALS_PER_SECOND = 5;

/**
 * @returns a function that logs only some of the refused requests without credentials, so that they cannot fill the
 * disk
 */
export function createRefusalLog(cause: keyof typeof REFUSED): (log: Server['log'], facts: object) => void {
  let count = 0;
  return (log, facts) => {
    count += 1;
    if (count === 1) {
      setTimeout(() => {
        const unreported = count - REFUSALS_PER_SECOND;
        if (unreported > 0) log.info({ leftOut: unreported }, REFUSED[cause].omitted);
        count = 0;
      }, 1_000).unref();
    }
    if (count <= REFUSALS_PER_SECOND) log.info(facts, REFUSED[cause].logged);
  };
}

/** A request and the reason of its refusal. Secrets are masked and long texts are truncated. */
export type SentRequest = Readonly<ReturnType<typeof describeSent>>;

/** Source: docs/interface §14.9. */
const LONGEST = { url: 1_000, body: 1_024, line: 300, lines: 5 };
/** The name of an attribute in an uploaded product. Source: docs/interface §2.3. */
const ATTRIBUTE_NAME = 'key';
const OF_PRODUCTS = /^\/(products|content)\b/;

/** Takes some microseconds, so it is used only for requests that failed or were slow. */
export function describeSent(request: FastifyRequest) {
  const { failure } = request;
  // For a streamed file, and for a body that was not read to its end, this is the declared length.
  const bodyBytes = request.rawBody?.bytes.length ?? Number(request.headers['content-length'] ?? 0);
  const plainName = OF_PRODUCTS.test(request.url) ? ATTRIBUTE_NAME : undefined;
  const text = readBeginning(request);
  return {
    /** Path and query. */
    url: describeUrl(request),
    reason: failure?.reason ?? null,
    message: failure?.message ?? null,
    details: failure === undefined ? [] : describeDetails(failure).slice(0, LONGEST.lines).map(shorten),
    /** The beginning of the body as text; null if the body was absent, a file or unreadable. */
    body: text === undefined ? null : maskSecrets(text.slice(0, LONGEST.body), plainName),
    /** The number of bytes received. */
    bodyBytes,
    isBodyWhole:
      text === undefined ? bodyBytes === 0 : text.length <= LONGEST.body && bodyBytes <= BEGINNING_BYTES,
  };
}

function describeUrl(request: FastifyRequest): string {
  const shown = showPath(request);
  const [, query] = request.url.slice(0, 2 * LONGEST.url).split('?', 2);
  if (query === undefined || request.routeOptions.config?.hasSecretPath) return shown;
  return `${shown}?${showQuery(query)}`.slice(0, LONGEST.url);
}

/** Text in other encodings has NUL bytes between its letters, which would hide a name. */
const UNREADABLE = /[^\P{Cc}\n\r\t]|\ufffd/gu;

function readBeginning({ rawBody }: FastifyRequest): string | undefined {
  if (rawBody === undefined || rawBody.bytes.length === 0) return undefined;
  const { bytes, beginning = bytes.subarray(0, BEGINNING_BYTES), encoding } = rawBody;
  const plain = unpackBeginning(beginning, encoding);
  if (plain === undefined) return undefined;
  return new TextDecoder().decode(plain.subarray(0, BEGINNING_BYTES)).replaceAll(UNREADABLE, '');
}

/** The parser quotes the text that it could not read. It may be the end of a secret whose name is before the quote. */
const QUOTED = /, (?:\.\.\.)?".*$/s;

function describeDetails({ reason, details = [], validation = [] }: FailureBody): string[] {
  const ofProducts = validation.flatMap(({ product, schemaErrors, errors }) =>
    [...new Set([...schemaErrors, ...errors])].map(
      (line) => `${product?.identifier ?? product?.index ?? ''}: ${line}`,
    ),
  );
  const lines = reason === 'body_not_json' ? details.map((line) => line.replace(QUOTED, '')) : details;
  // These lines may quote a part of the path or the query.
  return [...lines.map(maskLooks), ...ofProducts];
}

const shorten = (line: string) => maskSecrets(line.slice(0, LONGEST.line));
