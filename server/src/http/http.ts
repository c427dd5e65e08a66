/**
 * The door of http: the server without a route. It reads bodies, checks credentials through the guards that it is
 * given, finds the project, validates parameters and turns refusals into answers, in the order of
 * docs/interface.md §7.2. It never knows what a route does.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Access, Caller, ChosenProject, Role } from '../kernel/caller.ts';
import type { JsonLimits } from '../kernel/json-scan.ts';
import type { FailureBody } from './answers/answers.ts';
import type { IncomingPayload, RawBody } from './bodies/bodies.ts';
import type { RateState } from './guards/guards.ts';

export {
  type AnswerOnce,
  byType,
  createAnswerOnce,
  cutPage,
  DoneAnswer,
  describeRefusal,
  done,
  dropAnswersBefore as dropOldAnswers,
  ErrorAnswer,
  type FailureBody,
  Id,
  IfMatch,
  Instant,
  ListQuery,
  Name,
  PageQuery,
  ProjectParams,
  ProjectQuery,
  pageOf,
  projectIdOf,
  type RecordAnswer,
  readIfMatch,
  sendMark,
} from './answers/answers.ts';
export {
  type IncomingPayload,
  joinTwins,
  jsonOperations,
  type RawBody,
  type ReadElsewhere,
  takeNoBody,
} from './bodies/bodies.ts';
export { describeServer, documentServer, serveDocuments } from './docs/docs.ts';
export {
  type CountLook,
  chargeRequest,
  createLookCount,
  createSessionCookie,
  csrfTokenOf,
  type Guards,
  type PresentedKey,
  type RateState,
  readPresentedKey,
  type SessionCookie,
  whileCallerWaits,
} from './guards/guards.ts';
export {
  createMetrics,
  createServer,
  type Endpoint,
  listenOn,
  type MeasuredRequest,
  type MetricSources,
  type Metrics,
  measureRequests,
  type Once,
  type RawAnswer,
  refuseTakenAddress,
  type Sent,
  type SentRequest,
  type ServerSettings,
  sendRaw,
  serve,
  serveConsole,
  serveDocs,
  serveMetrics,
  serveOnce,
  serveRaw,
  type WatchedGauge,
} from './server/server.ts';

export type Server = FastifyInstance;

/** A body in chunks as they came; fails in the middle when it is too large or stalls. */
export type BodyStream = AsyncIterable<Uint8Array>;

/** Adds the routes of one folder to the server. */
export type Routes = (server: Server) => void;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `none`: open to all. `key`: any key. `project`: the key and the query's project. `management`: the key in the header. These
     * take a console session in place of a key. `session`: the console session alone. `sign-in`: open to all pages of ours.
     * `own`: the route itself asks for the key, in the header.
     */
    guard?: 'none' | 'key' | 'project' | 'management' | 'session' | 'sign-in' | 'own';
    /** What the key must at least be allowed; default read. */
    access?: Access;
    /** What the user of a session must at least be; default viewer where nothing is changed, else editor. */
    role?: Role;
    /**
     * `raw`: the handler gets a RawBody and a thread parses it. `stream`: it gets a BodyStream, which nobody parses.
     * `ignored`: whatever is sent is not looked at. Otherwise the body is parsed as JSON.
     */
    body?: 'raw' | 'json' | 'stream' | 'ignored';
    /** Largest body, unpacked; as it comes where it is streamed; default half a MiB, 16 KiB where none is taken. */
    maxBodyMib?: number;
    /** What a body that is parsed as JSON may hold, where it differs from the default of json-body.ts. */
    holds?: Partial<JsonLimits>;
    /** The answer takes as long as its caller wants or the catalog is large; it is never called slow. */
    isPatient?: boolean;
    /** Set for every route below `/management/projects/:id/`: the guard finds the project of the path. */
    isBelowProject?: boolean;
    /** The route looks for a deleted project itself, which no guard finds. */
    findsDeletedProject?: boolean;
    /** The body may name the project in place of the query. */
    takesProjectInBody?: boolean;
    /** Who has the path is let in: no log shows it. */
    hasSecretPath?: boolean;
    /** The answer is one Buffer for every caller, which is packed once. */
    isFixed?: boolean;
    /** Another method on this path is 404, not 405, so that the path does not show. */
    hidesOtherMethods?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard; reading it on an open route is a bug. */
    caller: Caller;
    /** Finds the caller once more; throws when that is not allowed any longer. Undefined where nobody has to be known. */
    checkCaller: (() => Promise<void>) | undefined;
    /** Set by the guard, of the query or the path. */
    project: ChosenProject;
    rawBody: RawBody | undefined;
    /** Why it is refused. */
    failure: FailureBody | undefined;
    /** Set before a body is read that is to be stored: it is written while it is received. */
    payload: IncomingPayload | undefined;
    /** Of a streamed body, once it was read: by it a repetition is recognised. */
    bodyDigest: string | undefined;
    /** The media type as it was sent; every body is read as what the route takes. */
    sentType: string | undefined;
    /** What the request is answered with. */
    rawReply: ServerResponse | undefined;
    rate: RateState | undefined;
    /** Answered with what a former request with its `Idempotency-Key` was answered. */
    isRepeated: boolean;
  }
}
