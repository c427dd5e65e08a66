/**
 * The door of http: the server without a route. It reads bodies, checks credentials through the guards that it is
 * given, finds the project, validates parameters and turns refusals into answers, in the order of
 * docs/interface.md §7.2. It never knows what a route does.
 */

import type { IncomingMessage } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Access, Caller, ChosenProject } from '../kernel/caller.ts';
import type { RawBody } from './body.ts';
import type { RateState } from './guards.ts';

export { type AnswerOnce, createAnswerOnce, type RecordAnswer } from './answer-once.ts';
export { dropAnswersBefore as dropOldAnswers } from './answer-store.ts';
export type { RawBody } from './body.ts';
export { ErrorAnswer, ListQuery, ProjectQuery } from './common-schemas.ts';
export { serveConsole } from './console-files.ts';
export { describeRefusal, type FailureBody } from './error-mapper.ts';
export type { Guards, PresentedKey, RateState } from './guards.ts';
export { createMetrics, type MetricSources, type Metrics, measureRequests, serveMetrics } from './metrics.ts';
export { describeServer, documentServer, serveDocuments } from './openapi.ts';
export { createServer, type ServerSettings } from './server.ts';

export type Server = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Adds the routes of one folder to the server. */
export type Routes = (server: Server) => void;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `none`: open to all. `key`: any key. `project`: the key and the query's project. `management`: the key in the header. */
    guard?: 'none' | 'key' | 'project' | 'management';
    /** What the key must at least be allowed; default read. */
    access?: Access;
    /** `raw`: the handler gets a RawBody and a thread parses it; otherwise the body is parsed as JSON. */
    body?: 'raw' | 'json';
    /** Largest body, unpacked; default 1. */
    maxBodyMib?: number;
    /** Another method on this path is 404, not 405, so that the path does not show. */
    hidesOtherMethods?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard; reading it on an open route is a bug. */
    caller: Caller;
    project: ChosenProject;
    rawBody: RawBody | undefined;
    rate: RateState | undefined;
  }
}
