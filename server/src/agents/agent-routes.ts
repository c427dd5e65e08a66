import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { describeRefusal, ErrorAnswer, ProjectQuery } from '../http/answers/answers.ts';
import { whileCallerWaits } from '../http/guards/guards.ts';
import { type Routes, type RouteTools, sendRaw, serveRaw } from '../http/server/server.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ToolContext, ToolParts } from './agents.ts';

const Message = Type.Object(
  { jsonrpc: Type.Literal('2.0') },
  { description: 'one message of JSON-RPC; a list of messages is refused', title: 'McpMessage' },
);

const ProtocolError = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  },
  { description: 'a refusal by the protocol itself', title: 'McpError' },
);

interface AgentRouteParts extends ToolParts, RouteTools {
  readonly version: string;
  readonly config: ListenedAt;
}

interface ListenedAt {
  readonly host: string;
  readonly mcpOrigins: readonly string[];
}

/**
 * Refuses browser pages of other origins. Through a name that leads to this machine (DNS rebinding), such a
 * page could reach a service that listens only on loopback.
 * @throws origin_refused, host_refused
 */
function refuseForeign(
  { origin, host = '' }: FastifyRequest['headers'],
  { host: listened, mcpOrigins }: ListenedAt,
  baseUrl: string,
): void {
  const own = new URL(baseUrl);
  if (origin !== undefined && origin !== own.origin && !mcpOrigins.includes(origin))
    throw new ServiceError('origin_refused');
  if (!LOOPBACK.test(listened) || host === own.host || LOOPBACK.test(host.replace(/:\d+$/, ''))) return;
  throw new ServiceError('host_refused');
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;

const loadAgents = () => import('./agents.ts');

/**
 * Loads the protocol and its schemas, which takes the serving thread a third of a second. A service calls this before it
 * listens, because the first question of an agent would otherwise delay all other requests by as much. Commands and tests
 * load them with the first question.
 */
export async function prepareAgents(): Promise<void> {
  const { warmAgents } = await loadAgents();
  await warmAgents();
}

/** Source: docs/interface §15. */
export const agentRoutes =
  ({ version, limitScans, config, findBaseUrl, ...parts }: AgentRouteParts): Routes =>
  (server) =>
    serveRaw(server, 'POST /mcp', {
      hooks: { onRequest: async ({ headers }) => refuseForeign(headers, config, findBaseUrl()) },
      config: { guard: 'project', access: 'read' },
      tags: ['Agents'],
      summary: 'Call tools for agents by the Model Context Protocol (Streamable HTTP, stateless)',
      query: ProjectQuery,
      body: Message,
      answer: { 200: Type.Unknown({ description: 'an answer of JSON-RPC, as JSON or as an event' }) },
      failures: { '4xx': Type.Union([ErrorAnswer, ProtocolError]) },
      why: 'the protocol writes the answer',
      handle: (request, reply) =>
        whileCallerWaits(reply, async (signal) => {
          const context: ToolContext = {
            ...parts,
            project: request.project,
            access: request.caller.access,
            signal,
            limitScans: () => limitScans(request, reply),
          };
          const describeFailure = (error: unknown) => describe(error, request);
          const { createAgentHandler } = await loadAgents();
          const { fetch } = createAgentHandler(context, { version, describeFailure });
          const response = await fetch(toWebRequest(request), { parsedBody: request.body });
          reply.code(response.status);
          const body =
            response.body === null
              ? Buffer.alloc(0)
              : Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
          return sendRaw(reply, response.headers.get('content-type') ?? 'application/json', body);
        }),
    });

/** The protocol uses only the headers, so any address suffices. */
function toWebRequest({ headers, body }: FastifyRequest): Request {
  const protocolHeaders = Object.entries(headers).filter(
    (header): header is [string, string] =>
      /^(accept|content-type|mcp-.*)$/.test(header[0]) && typeof header[1] === 'string',
  );
  return new Request('http://relata/mcp', {
    method: 'POST',
    headers: protocolHeaders,
    body: JSON.stringify(body),
  });
}

/**
 * @returns the text of a refusal, which says how to fix the question. Any other error is a fault of the
 * service and is logged.
 */
function describe(error: unknown, request: FastifyRequest): string {
  if (!(error instanceof ServiceError)) {
    request.log.error(
      { err: error },
      'unexpected error while answering an agent; the agent gets an internal error',
    );
    return 'Internal Server Error';
  }
  const { message } = describeRefusal(error);
  return [message, ...(error.facts.details ?? []).slice(0, 5)].join('\n').slice(0, 2_000);
}
