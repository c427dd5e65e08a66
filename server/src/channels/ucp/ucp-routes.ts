import type { FastifyReply } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describeRefusal, ErrorAnswer } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  type RawAnswer,
  type Routes,
  type RouteTools,
  type Server,
  sendRaw,
  serve,
  serveRaw,
} from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import type { Channels } from '../channels.ts';
/** Source: docs/ucp-compatibility.md. */
import compatibility from './compatibility.schema.json' with { type: 'json' };
import { ProductRequest, type UcpChannel, UcpFilters } from './ucp.ts';
import { type Capability, describeAnswer, describeProfile } from './ucp-profile.ts';

const Text = Type.String({ maxLength: 1_000 });
const SearchRequest = Type.Object({
  query: optional.text({ maxLength: 500 }),
  filters: Type.Optional(UcpFilters),
  pagination: optional.object({
    cursor: optional.text({ pattern: '^[0-9]{1,9}$' }),
    limit: optional.integer({ minimum: 1 }),
  }),
});
/** The limit of a request. More ids are refused with `request_too_large`. */
const MOST_IDS = 100;
const Ids = Type.Array(Text, { minItems: 1 });
const LookupRequest = Type.Object({ ids: Ids, filters: Type.Optional(UcpFilters) });
/** The protocol has its own schemas. This schema only describes what all answers share. */
const UcpAnswer = Type.Record(Type.String(), Type.Unknown(), { title: 'UcpAnswer' });
const failures = { '4xx': Type.Union([ErrorAnswer, UcpAnswer]) };
const Sent = Type.Unknown({ description: 'a request of the protocol' });

const config = { guard: 'none', hasSecretPath: true } as const;
const params = Type.Object({ token: Type.String({ maxLength: 64 }) });
const about = { config, tags: ['Channels'], params, answer: { 200: UcpAnswer }, failures };
/** A question of the protocol. The schema of the protocol checks it, and a refusal has the form of the protocol. */
const question = { ...about, body: Sent, why: 'refusals have the form of the protocol' };

const PAGE = 10;
const LARGEST_PAGE = 50;

type UcpRouteParts = { readonly channels: Channels } & Pick<RouteTools, 'findBaseUrl'>;

/** Source: docs/interface §16.9. */
export const ucpRoutes =
  (parts: UcpRouteParts): Routes =>
  (server) => {
    serveSearch(server, parts);
    serveLookup(server, parts);
    serveProduct(server, parts);
    serveProfile(server, parts);
    serveCompatibility(server, parts);
  };

function serveSearch(server: Server, { channels }: UcpRouteParts): void {
  serveRaw(server, 'POST /channels/:token/ucp/catalog/search', {
    ...question,
    summary: 'Search by the Universal Commerce Protocol',
    handle: answerWith(
      channels,
      { capability: 'search', schema: SearchRequest },
      async (channel, sent, signal) => {
        const { query = '', filters = {}, pagination: { cursor = '0', limit = PAGE } = {} } = sent;
        if (query.trim() === '' && Object.keys(filters).length === 0)
          throw new UcpRefusal('invalid_request', 'send a query, filters or both');
        const page = { offset: Number(cursor), limit: Math.min(limit, LARGEST_PAGE) };
        return channels.ucp.search(channel, { query, filters, ...page }, signal);
      },
    ),
  });
}

function serveLookup(server: Server, { channels }: UcpRouteParts): void {
  serveRaw(server, 'POST /channels/:token/ucp/catalog/lookup', {
    ...question,
    summary: 'Look up products by id, by the Universal Commerce Protocol',
    handle: answerWith(
      channels,
      { capability: 'lookup', schema: LookupRequest },
      async (channel, sent, signal) => {
        if (sent.ids.length > MOST_IDS)
          throw new UcpRefusal('request_too_large', `at most ${MOST_IDS} ids are allowed per lookup`);
        const lookup = { ids: [...new Set(sent.ids)], filters: sent.filters ?? {} };
        return channels.ucp.lookup(channel, lookup, signal);
      },
    ),
  });
}

function serveProduct(server: Server, { channels }: UcpRouteParts): void {
  serveRaw(server, 'POST /channels/:token/ucp/catalog/product', {
    ...question,
    summary: 'Read one product by the Universal Commerce Protocol',
    handle: answerWith(
      channels,
      { capability: 'lookup', schema: ProductRequest },
      async (channel, sent, signal) => {
        const product = await channels.ucp.product(channel, sent, signal);
        if (product !== undefined) return product;
        const content = `Product not found: ${sent.id}`;
        return toError(describeAnswer('lookup'), { code: 'not_found', content });
      },
    ),
  });
}

const addressOf = ({ findBaseUrl }: UcpRouteParts, token: string) => `${findBaseUrl()}/channels/${token}/ucp`;

function serveProfile(server: Server, parts: UcpRouteParts): void {
  serve(server, 'GET /channels/:token/ucp/profile', {
    ...about,
    summary: 'The profile that a shop puts at its own /.well-known/ucp',
    async handle({ params: { token } }) {
      await parts.channels.findUcp(token);
      return describeProfile(addressOf(parts, token));
    },
  });
}

function serveCompatibility(server: Server, parts: UcpRouteParts): void {
  serve(server, 'GET /channels/:token/ucp/compatibility.json', {
    ...about,
    summary: 'The schema of the compatibility extension',
    answer: { 200: Type.Unknown() },
    async handle({ params: { token } }) {
      await parts.channels.findUcp(token);
      return { ...compatibility, $id: `${addressOf(parts, token)}/compatibility.json` };
    },
  });
}

/** Returns the members of an answer as bytes, or a whole answer. */
type Work<Body> = (channel: UcpChannel, sent: Body, signal: AbortSignal) => Promise<object | Uint8Array>;

interface UcpRequest {
  readonly params: { readonly token: string };
  readonly body: unknown;
}

/** A refusal that the protocol defines is answered in its form. */
const answerWith =
  <Body extends TSchema>(
    channels: Channels,
    { capability, schema }: { readonly capability: Capability; readonly schema: Body },
    work: Work<Static<Body>>,
  ) =>
  async ({ params: { token }, body }: UcpRequest, reply: FastifyReply) => {
    const channel = await channels.findUcp(token);
    const ucp = describeAnswer(capability);
    try {
      const sent = checkSent(schema, body);
      const answer = await whileCallerWaits(reply, (signal) => work(channel, sent, signal));
      return answer instanceof Uint8Array ? sendMembers(reply, ucp, answer) : sendJson(reply, answer);
    } catch (error) {
      return refuse(reply, ucp, readRefusal(error));
    }
  };

const JSON_TYPE = 'application/json; charset=utf-8';
const sendJson = (reply: FastifyReply, answer: object): RawAnswer =>
  sendRaw(reply, JSON_TYPE, Buffer.from(JSON.stringify(answer)));
/** @param members the members of the answer, as a thread wrote them */
const sendMembers = (reply: FastifyReply, ucp: object, members: Uint8Array): RawAnswer =>
  sendRaw(
    reply,
    JSON_TYPE,
    Buffer.concat([Buffer.from(`{"ucp":${JSON.stringify(ucp)},`), members.subarray(1)]),
  );

class UcpRefusal extends ServiceError {
  readonly ucpCode: string;

  constructor(code: string, content: string) {
    super('query_invalid', content);
    this.ucpCode = code;
  }
}

/** @throws UcpRefusal */
function checkSent<Body extends TSchema>(schema: Body, body: unknown): Static<Body> {
  const [first] = Value.Errors(schema, body);
  if (first === undefined) return body as Static<Body>;
  throw new UcpRefusal('invalid_request', `${first.instancePath} ${first.message}`.trim());
}

interface UcpFailure {
  readonly status: number;
  readonly retryAfterSeconds?: number | undefined;
  readonly code: string;
  readonly content: string;
  readonly severity?: 'recoverable';
}

/** @throws any error that is not a refusal of the request */
function readRefusal(error: unknown): UcpFailure {
  if (!(error instanceof ServiceError)) throw error;
  const { status, message } = describeRefusal(error);
  const { details, retryAfterSeconds } = error.facts;
  if (error.code === 'channel_budget_used')
    return { status, retryAfterSeconds, code: 'rate_limited', content: message, severity: 'recoverable' };
  if (status !== 400) throw error;
  const code = error instanceof UcpRefusal ? error.ucpCode : 'invalid_request';
  return { status, code, content: details?.join('; ') ?? message };
}

function refuse(reply: FastifyReply, ucp: ReturnType<typeof describeAnswer>, failure: UcpFailure) {
  const { status, retryAfterSeconds } = failure;
  reply.code(status);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  return sendJson(reply, toError(ucp, failure));
}

const toError = (
  ucp: ReturnType<typeof describeAnswer>,
  { code, content, severity = 'unrecoverable' }: Pick<UcpFailure, 'code' | 'content'> & { severity?: string },
) => ({
  ucp: { ...ucp, status: 'error' },
  messages: [{ type: 'error', code, content, severity }],
});
