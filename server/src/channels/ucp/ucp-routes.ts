import type { FastifyReply } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describeRefusal, ErrorAnswer } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  type RawAnswer,
  type Routes,
  type RouteTools,
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

const UCP_VERSION = '2026-04-08';
const CAPABILITIES = {
  search: 'dev.ucp.shopping.catalog.search',
  lookup: 'dev.ucp.shopping.catalog.lookup',
} as const;
/** A name of our own, until the protocol has one. */
const EXTENSION = 'dev.relata.shopping.compatibility';

const Text = Type.String({ maxLength: 1_000 });
const SearchRequest = Type.Object({
  query: optional.text({ maxLength: 500 }),
  filters: Type.Optional(UcpFilters),
  pagination: optional.object({
    cursor: optional.text({ pattern: '^[0-9]{1,9}$' }),
    limit: optional.integer({ minimum: 1 }),
  }),
});
/** The limit of a request; more are `request_too_large`. */
const MOST_IDS = 100;
const Ids = Type.Array(Text, { minItems: 1 });
const LookupRequest = Type.Object({ ids: Ids, filters: Type.Optional(UcpFilters) });
/** The protocol has its own schemas: this one only describes what all answers share. */
const UcpAnswer = Type.Record(Type.String(), Type.Unknown(), { title: 'UcpAnswer' });
const failures = { '4xx': Type.Union([ErrorAnswer, UcpAnswer]) };
const Sent = Type.Unknown({ description: 'a request of the protocol' });

const WHY = 'what is refused is said in the words of the protocol';
const JSON_TYPE = 'application/json; charset=utf-8';
const sendJson = (reply: FastifyReply, answer: object): RawAnswer =>
  sendRaw(reply, JSON_TYPE, Buffer.from(JSON.stringify(answer)));
/** @param members of the answer, as a thread wrote them */
const sendMembers = (reply: FastifyReply, ucp: object, members: Uint8Array): RawAnswer =>
  sendRaw(
    reply,
    JSON_TYPE,
    Buffer.concat([Buffer.from(`{"ucp":${JSON.stringify(ucp)},`), members.subarray(1)]),
  );

const PAGE = 10;
const LARGEST_PAGE = 50;

/** Source: docs/interface §16.9. */
export const ucpRoutes =
  ({ channels, findBaseUrl }: { channels: Channels } & Pick<RouteTools, 'findBaseUrl'>): Routes =>
  (server) => {
    const config = { guard: 'none', hasSecretPath: true } as const;
    const params = Type.Object({ token: Type.String({ maxLength: 64 }) });
    const about = { config, tags: ['Channels'], params, answer: { 200: UcpAnswer }, failures };
    const addressOf = (token: string) => `${findBaseUrl()}/channels/${token}/ucp`;

    /** Refusals that the protocol defines are answered in its form. */
    const answer =
      <Body extends TSchema>(capability: keyof typeof CAPABILITIES, schema: Body, work: Work<Static<Body>>) =>
      async ({ params: { token }, body }: UcpRequest, reply: FastifyReply) => {
        const channel = await channels.findUcp(token);
        const ucp = describeAnswer(capability);
        try {
          const sent = checkSent(schema, body);
          const found = await whileCallerWaits(reply, (signal) => work(channel, sent, signal));
          return found instanceof Uint8Array ? sendMembers(reply, ucp, found) : sendJson(reply, found);
        } catch (error) {
          return refuse(reply, ucp, readRefusal(error));
        }
      };

    serveRaw(server, 'POST /channels/:token/ucp/catalog/search', {
      ...about,
      summary: 'Search by the Universal Commerce Protocol',
      body: Sent,
      why: WHY,
      handle: answer('search', SearchRequest, async (channel, sent, signal) => {
        const { query = '', filters = {}, pagination: { cursor = '0', limit = PAGE } = {} } = sent;
        if (query.trim() === '' && Object.keys(filters).length === 0)
          throw new UcpRefusal('invalid_request', 'send a query, filters or both');
        const place = { offset: Number(cursor), limit: Math.min(limit, LARGEST_PAGE) };
        return channels.ucp.search(channel, { query, filters, ...place }, signal);
      }),
    });

    serveRaw(server, 'POST /channels/:token/ucp/catalog/lookup', {
      ...about,
      summary: 'Products by id, by the Universal Commerce Protocol',
      body: Sent,
      why: WHY,
      handle: answer('lookup', LookupRequest, async (channel, sent, signal) => {
        if (sent.ids.length > MOST_IDS)
          throw new UcpRefusal('request_too_large', `at most ${MOST_IDS} ids are looked up at once`);
        const lookup = { ids: [...new Set(sent.ids)], filters: sent.filters ?? {} };
        return channels.ucp.lookup(channel, lookup, signal);
      }),
    });

    serveRaw(server, 'POST /channels/:token/ucp/catalog/product', {
      ...about,
      summary: 'One product, by the Universal Commerce Protocol',
      body: Sent,
      why: WHY,
      handle: answer('lookup', ProductRequest, async (channel, sent, signal) => {
        const product = await channels.ucp.product(channel, sent, signal);
        if (product !== undefined) return product;
        const content = `Product not found: ${sent.id}`;
        return toError(describeAnswer('lookup'), { code: 'not_found', content });
      }),
    });

    serve(server, 'GET /channels/:token/ucp/profile', {
      ...about,
      summary: 'The profile that a shop puts at its own /.well-known/ucp',
      async handle({ params: { token } }) {
        await channels.findUcp(token);
        return describeProfile(addressOf(token));
      },
    });
    serve(server, 'GET /channels/:token/ucp/compatibility.json', {
      ...about,
      summary: 'The schema of the compatibility extension',
      answer: { 200: Type.Unknown() },
      async handle({ params: { token } }) {
        await channels.findUcp(token);
        return { ...compatibility, $id: `${addressOf(token)}/compatibility.json` };
      },
    });
  };

class UcpRefusal extends ServiceError {
  readonly ucpCode: string;

  constructor(code: string, content: string) {
    super('query_invalid', content);
    this.ucpCode = code;
  }
}

/** @returns the members of an answer as bytes, or a whole answer */
type Work<Body> = (channel: UcpChannel, sent: Body, signal: AbortSignal) => Promise<object | Uint8Array>;

interface UcpRequest {
  readonly params: { readonly token: string };
  readonly body: unknown;
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

function describeAnswer(capability: keyof typeof CAPABILITIES) {
  const named = capability === 'lookup' ? [CAPABILITIES.lookup, EXTENSION] : [CAPABILITIES[capability]];
  const capabilities = Object.fromEntries(named.map((name) => [name, [{ version: UCP_VERSION }]]));
  return { version: UCP_VERSION, status: 'success', capabilities };
}

const toError = (
  ucp: ReturnType<typeof describeAnswer>,
  { code, content, severity = 'unrecoverable' }: Pick<UcpFailure, 'code' | 'content'> & { severity?: string },
) => ({
  ucp: { ...ucp, status: 'error' },
  messages: [{ type: 'error', code, content, severity }],
});

/** The profile of a channel. Source: Universal Commerce Protocol, release 2026-04-08. */

const SPEC = `https://ucp.dev/${UCP_VERSION}`;

const capability = (page: string, schema: string) => [
  {
    version: UCP_VERSION,
    spec: `${SPEC}/specification/catalog/${page}`,
    schema: `${SPEC}/schemas/shopping/${schema}.json`,
  },
];

/** @param endpoint the address of the channel, which a shop may hide behind its own */
const describeProfile = (endpoint: string) => ({
  ucp: {
    version: UCP_VERSION,
    services: {
      'dev.ucp.shopping': [
        {
          version: UCP_VERSION,
          spec: `${SPEC}/specification/overview`,
          transport: 'rest',
          schema: `${SPEC}/services/shopping/rest.openapi.json`,
          endpoint,
        },
      ],
    },
    capabilities: {
      [CAPABILITIES.search]: capability('search', 'catalog_search'),
      [CAPABILITIES.lookup]: capability('lookup', 'catalog_lookup'),
      [EXTENSION]: [
        {
          version: UCP_VERSION,
          spec: 'https://github.com/Universal-Commerce-Protocol/ucp/issues/385',
          schema: `${endpoint}/compatibility.json`,
          extends: CAPABILITIES.lookup,
        },
      ],
    },
    payment_handlers: {},
  },
});
