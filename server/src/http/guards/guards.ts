import { createHmac, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { type AtOnce, andThen } from '../../kernel/at-once.ts';
import type { Caller, ChosenProject, KeyCaller, Role, UserCaller } from '../../kernel/caller.ts';
import {
  allows,
  highestRoleOf,
  includesRole,
  isUser,
  listParts,
  nameCaller,
  reachOf,
} from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { OpenCounts } from '../../kernel/open-counts.ts';
import { describeRefusal, describeSchemaErrors, ProjectParams } from '../answers/answers.ts';
import { joinTwins } from '../bodies/bodies.ts';
import { parsingHook, requestHook } from './hooks.ts';

export { parsingHook, requestHook, sendingHook } from './hooks.ts';

export interface PresentedKey {
  readonly value: string;
  readonly inUrl: boolean;
}

/** The state of a key's rate limit after a request. Source: docs/interface §5.3. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The functions of other rooms that the server calls before a handler. They find keys, sessions and projects. */
export interface Guards {
  /** @throws scope_refused when the key is unknown, deleted or expired */
  findCaller(key: PresentedKey): AtOnce<KeyCaller>;
  /** @throws not_signed_in when the console session does not exist or has ended */
  findUser(sessionValue: string): AtOnce<UserCaller>;
  /** @throws rate_limited; @returns undefined for a key without a limit */
  countRequest(caller: KeyCaller): AtOnce<RateState | undefined>;
  /** @throws project_required, scope_refused */
  chooseProject(caller: Caller, projectId: number | undefined): AtOnce<ChosenProject>;
  /** @throws not_found for a project that does not exist or that the caller cannot access */
  choosePathProject(caller: Caller, projectId: number): AtOnce<ChosenProject>;
}

/** Checks credentials, rate and project, before parameters and body. Source: docs/interface §7.2. */
export const createGuardHook = (guards: Guards, cookie: SessionCookie) =>
  requestHook((request, reply) => {
    const { guard = 'key' } = request.routeOptions.config;
    if (guard === 'none' || guard === 'own' || request.routeOptions.url === undefined) return;
    reply.header('cache-control', 'no-store');
    if (guard === 'sign-in') return cookie.refuseForeign(request);
    const check = checkOf(guards, { request, reply, cookie });
    request.checkCaller = check;
    return andThen(check(), () => chargeAndChoose(guards, request, reply));
  });

/**
 * Created outside the hook. A function that captured the hook's variables let requests survive the collections of young
 * objects. The collector then took 14 µs of the 290 of a lookup of 100 products.
 */
function checkOf(guards: Guards, incoming: Incoming): () => AtOnce<void> {
  const { request } = incoming;
  return () =>
    andThen(findCaller(guards, incoming), (caller) => {
      request.caller = caller;
      refuseLowCaller(request);
      return refuseLostProject(guards, request);
    });
}

/** @throws rate_limited, project_required, scope_refused, query_invalid */
function chargeAndChoose(guards: Guards, request: FastifyRequest, reply: FastifyReply): AtOnce<void> {
  const choosesProject = request.routeOptions.config.guard === 'project';
  const rate = isUser(request.caller) ? undefined : guards.countRequest(request.caller);
  if (rate === undefined) return choosesProject ? chooseProject(guards, request) : undefined;
  const charge = async () => {
    try {
      refuseOverRate(reply, await rate);
    } catch (error) {
      // A batch of a full update counts as a failed batch of this project even over the rate limit (§3.1).
      if (choosesProject) await Promise.try(chooseProject, guards, request).catch(() => undefined);
      throw error;
    }
    if (choosesProject) await chooseProject(guards, request);
  };
  return charge();
}

/** @throws project_required, scope_refused; query_invalid if query and body name different projects */
async function chooseFromBody(guards: Guards, request: FastifyRequest): Promise<void> {
  if (request.routeOptions.config.takesProjectInBody !== true) return;
  // The query was already checked, so the project is a number.
  const { projectId: named } = request.query as { projectId?: number };
  const { projectId } = request.body as { projectId?: number };
  joinTwins({ projectId: named }, { projectId });
  if (projectId === undefined && (request as Partial<FastifyRequest>).project !== undefined) return;
  request.project = await chooseByRole(request, projectId, guards.chooseProject);
}

/** How long a check of a key or session remains valid. It is also the greatest age of a cached key or session. */
const CHECK_HOLDS_MS = 1_000;

/**
 * Checks the caller again before the request has any effect. The sender is authorised before its body is read, and a
 * body can take hours. By its end, the sender may have lost access, or its project may have been deleted.
 */
export function createLateCheck(guards: Guards) {
  const choosePathProject = createPathProjectChoice(guards);
  async function check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (reply.elapsedTime < CHECK_HOLDS_MS) return;
    await request.checkCaller?.();
    if (request.routeOptions.config.isBelowProject === true) await choosePathProject(request);
  }
  async function checkLate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await chooseFromBody(guards, request);
    if (request.routeOptions.config.body !== 'stream') return check(request, reply);
    if (request.body)
      request.body = endWith(request.body as AsyncGenerator<Uint8Array>, () => check(request, reply));
  }
  return requestHook((request, reply) => {
    const { takesProjectInBody, body } = request.routeOptions.config;
    const isQuick = reply.elapsedTime < CHECK_HOLDS_MS && takesProjectInBody !== true && body !== 'stream';
    return isQuick ? undefined : checkLate(request, reply);
  });
}

/**
 * No caller is refused while the database is unreachable.
 * @returns why the caller has lost access
 */
export async function findCallerRefusal({ checkCaller }: FastifyRequest): Promise<ServiceError | undefined> {
  try {
    await checkCaller?.();
  } catch (error) {
    if (error instanceof ServiceError && OF_CALLERS.has(describeRefusal(error).status)) return error;
  }
  return undefined;
}

/** How often the caller's access is checked while a body is received or an answer sent. */
const CHECK_EVERY_MS = 1_000;
const OF_CALLERS: ReadonlySet<number> = new Set([401, 403]);

/** Ends a long answer, such as events or exports, after its caller has lost access. Source: docs/interface §5.1. */
export function watchStream(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
  if (!(payload instanceof Readable) || request.checkCaller === undefined) return;
  const timer = setInterval(() => void endForbidden(request, reply), CHECK_EVERY_MS);
  reply.raw.once('close', () => clearInterval(timer));
}

async function endForbidden(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if ((await findCallerRefusal(request)) === undefined || reply.raw.destroyed) return;
  request.log.info('the caller lost access while its answer was sent; the connection is closed');
  reply.raw.destroy();
}

async function* endWith<Part>(parts: AsyncGenerator<Part>, check: () => Promise<void>): AsyncGenerator<Part> {
  yield* parts;
  await check();
}

interface Incoming {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly cookie: SessionCookie;
}

/**
 * The date since which a key in a URL is deprecated, 2026-01-01, in the form of RFC 9745. The interface was introduced
 * on this date and recommended the header.
 */
const KEY_IN_URL_DEPRECATED = '@1767225600';

/**
 * Finds the caller. A key takes precedence over a session.
 * @throws token_missing, scope_refused, not_signed_in, origin_refused, csrf_refused
 */
function findCaller(guards: Guards, { request, reply, cookie }: Incoming): AtOnce<Caller> {
  const { guard } = request.routeOptions.config;
  const key = guard === 'session' ? undefined : readPresentedKey(request, guard === 'management');
  if (key?.inUrl) reply.header('deprecation', KEY_IN_URL_DEPRECATED);
  if (key !== undefined) return guards.findCaller(key);
  const value = cookie.read(request);
  if (value === undefined) throw new ServiceError(guard === 'session' ? 'not_signed_in' : 'token_missing');
  cookie.refuseForeign(request);
  return andThen(guards.findUser(value), (user) => {
    refuseForged(request, value);
    return user;
  });
}

/** @throws scope_refused, query_invalid; project_required unless the body may still name the project */
function chooseProject(guards: Guards, request: FastifyRequest): AtOnce<void> {
  const projectId = readProjectId(request.query, request.params);
  if (request.routeOptions.config.takesProjectInBody !== true)
    return andThen(chooseByRole(request, projectId, guards.chooseProject), (project) => {
      request.project = project;
    });
  return chooseOrAwaitBody(guards, request, projectId);
}

async function chooseOrAwaitBody(guards: Guards, request: FastifyRequest, projectId: number | undefined) {
  try {
    request.project = await chooseByRole(request, projectId, guards.chooseProject);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'project_required')) throw error;
  }
}

/**
 * Checks the project again, because a user's roles may change while an answer is sent or a body received.
 * @throws scope_refused, role_refused
 */
function refuseLostProject(guards: Guards, request: FastifyRequest): AtOnce<void> {
  const { caller, project } = request as Partial<FastifyRequest>;
  if (project === undefined || caller === undefined || caller.scope.type !== 'parts') return;
  return andThen(chooseByRole(request, project.id, guards.chooseProject), () => {});
}

/** @throws scope_refused, role_refused */
function refuseLowCaller(request: FastifyRequest): void {
  const { caller } = request;
  const { access = 'read' } = request.routeOptions.config;
  if (isUser(caller)) request.caller = narrowToRole(request, caller);
  else if (!allows(caller.access, access)) throw new ServiceError('scope_refused');
}

/**
 * Reads the key from `Authorization: Bearer KEY`, `Authorization: KEY` or `?apiKey=KEY`. The header takes precedence,
 * and an empty header counts as absent. Management accepts only the header. Source: docs/interface §5.1.
 */
export function readPresentedKey(request: FastifyRequest, headerOnly: boolean): PresentedKey | undefined {
  const header = request.headers.authorization?.trim().replace(/^bearer(\s+|$)/i, '');
  if (header !== undefined && header !== '') return { value: header, inUrl: false };
  const fromUrl = (request.query as Record<string, unknown>).apiKey;
  const value = Array.isArray(fromUrl) ? fromUrl[0] : fromUrl;
  if (headerOnly || typeof value !== 'string' || value === '') return undefined;
  return { value, inUrl: true };
}

/** Counts a request of the caller, if it is a key with a limit. @throws rate_limited */
export async function chargeRequest(
  guards: Pick<Guards, 'countRequest'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (isUser(request.caller)) return;
  refuseOverRate(reply, await guards.countRequest(request.caller));
}

/**
 * Sends headers with the state of a key's limit.
 * @throws rate_limited
 */
function refuseOverRate(reply: FastifyReply, rate: RateState | undefined): void {
  if (rate === undefined) return;
  // Two structured fields of draft-ietf-httpapi-ratelimit-headers-10: the policy and its present state.
  reply.header('ratelimit-policy', `"key";q=${rate.limit};w=60`);
  reply.header('ratelimit', `"key";r=${rate.remaining};t=${rate.resetSeconds}`);
  if (rate.remaining < 0) {
    reply.header('ratelimit', `"key";r=0;t=${rate.resetSeconds}`);
    throw new ServiceError('rate_limited', { retryAfterSeconds: rate.resetSeconds });
  }
}

/**
 * @returns the project of the query, or of a path that names it
 * @throws query_invalid if query and path differ, or the value is not an id
 */
function readProjectId(query: unknown, params: unknown): number | undefined {
  const parameters = query as Record<string, unknown>;
  if (parameters.projectId === '') delete parameters.projectId;
  const { projectId: inPath } = params as { projectId?: string };
  const value =
    inPath === undefined
      ? parameters.projectId
      : joinTwins({ projectId: parameters.projectId }, { projectId: inPath }).projectId;
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && /^\d+$/.test(value) && Number.isSafeInteger(Number(value)))
    return Number(value);
  throw new ServiceError('query_invalid', '/projectId must be integer');
}

const PROJECTS = '/management/projects/:';

/**
 * Marks every route below the path of a project, so that no route can omit the check. Runs when a route is added.
 * @throws Error for a route below a project whose caller could not be checked
 */
export function markProjectRoute(route: RouteOptions): void {
  const { url, config = {}, schema = {} } = route;
  if (!url.startsWith(PROJECTS) || url === `${PROJECTS}id`) return;
  if (!url.startsWith(`${PROJECTS}id/`)) throw new Error(`${url} must name its project :id`);
  if (config.guard !== 'management') throw new Error(`${url} must have the guard management`);
  route.schema = { ...schema, params: schema.params ?? ProjectParams };
  route.config = { ...config, isBelowProject: config.findsDeletedProject !== true };
}

/** Finds the project of the path before the body and the other parameters are read. Source: docs/interface §7.2. */
export function createPathProjectHook(projects: Pick<Guards, 'choosePathProject'>) {
  const choose = createPathProjectChoice(projects);
  return parsingHook((request) =>
    request.routeOptions.config.isBelowProject === true ? choose(request) : undefined,
  );
}

function createPathProjectChoice(projects: Pick<Guards, 'choosePathProject'>) {
  return async (request: FastifyRequest): Promise<void> => {
    const check = request.getValidationFunction('params');
    if (check === undefined) throw new Error(`no room knows the project of ${request.routeOptions.url}`);
    if (!check(request.params)) {
      throw new ServiceError('query_invalid', { details: describeSchemaErrors(check.errors ?? []) });
    }
    const { id } = request.params as { id: number };
    request.project = await chooseByRole(request, id, (caller) => projects.choosePathProject(caller, id));
  };
}

/**
 * The role that a user needs for a request. A request that needs only read access changes nothing, even as a POST, so a
 * viewer may send it.
 */
function requiredRole(request: FastifyRequest): Role {
  const { access = 'read', role } = request.routeOptions.config;
  return role ?? (changesSomething(request) && !allows('read', access) ? 'editor' : 'viewer');
}

/**
 * Limits a user with roles in parts of the account, for this request, to those parts where the role suffices.
 * @throws role_refused if there is none
 */
function narrowToRole(request: FastifyRequest, user: UserCaller): UserCaller {
  const required = requiredRole(request);
  const scope = reachOf(user, required);
  const parts = listParts(scope);
  // Without any role a user may still read their own account, sign out, and list no projects.
  if (required !== 'viewer' && parts?.groups.length === 0 && parts.projects.length === 0) {
    throw roleRefused(required, `yours is ${highestRoleOf(user)}`);
  }
  return { ...user, scope };
}

/**
 * Finds the project among those that the caller can access, then checks the caller's role there.
 * @throws role_refused, and the errors of `find`
 */
function chooseByRole(request: FastifyRequest, id: number | undefined, find: Guards['chooseProject']) {
  const { caller } = request;
  return isUser(caller) && caller.roles.length > 0
    ? chooseByRoles(request, { caller, id, find })
    : find(caller, id);
}

/** Does the same for a user with roles in parts of the account. */
async function chooseByRoles(
  request: FastifyRequest,
  { caller, id, find }: { caller: UserCaller; id: number | undefined; find: Guards['chooseProject'] },
): Promise<ChosenProject> {
  const project = await find({ ...caller, scope: reachOf(caller, 'viewer') }, id);
  const required = requiredRole(request);
  const asEditor = { ...caller, scope: reachOf(caller, 'editor') };
  const canChange = await Promise.try(find, asEditor, project.id).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ServiceError) return false;
      throw error;
    },
  );
  if (!canChange && includesRole(required, 'editor')) {
    throw roleRefused(required, `yours in project ${project.id} is viewer`);
  }
  request.caller = { ...caller, access: canChange ? 'manage' : 'read' };
  return project;
}

const roleRefused = (required: Role, ownRole: string) =>
  new ServiceError('role_refused', `this takes the role ${required}, ${ownRole}`);

/** The cookie of a console session, and the requests that may carry it. Source: docs/interface §5.6. */
export type SessionCookie = ReturnType<typeof createSessionCookie>;

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * @param publicUrl the address that browsers use; if undefined, any `Host` that they send
 * @param plainName the name of another cookie with the same protection
 */
export function createSessionCookie(publicUrl: string | undefined, plainName = 'relata_session') {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const isSecure = own?.startsWith('https:') ?? false;
  // With this prefix, browsers accept the cookie only from this host. So another host of the same domain cannot replace
  // it with its own session.
  const name = isSecure ? `__Host-${plainName}` : plainName;
  const pattern = new RegExp(`(?:^|;)\\s*${name}=([^;\\s]*)`);
  const attributes = isSecure ? `${ATTRIBUTES}; Secure` : ATTRIBUTES;
  const set = (reply: FastifyReply, value: string, maxAgeSeconds: number) =>
    void reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${maxAgeSeconds}`);

  return {
    /** @returns the session value of the request, whether valid or not */
    read: ({ headers }: FastifyRequest) => pattern.exec(headers.cookie ?? '')?.[1],
    write: set,
    clear: (reply: FastifyReply) => set(reply, '', 0),
    /**
     * Checks the origin that the browser sends.
     * @throws origin_refused when it is another origin
     */
    refuseForeign(request: FastifyRequest): void {
      const { origin } = request.headers;
      if (origin === undefined) return;
      const isOwn = own === undefined ? URL.parse(origin)?.host === request.host : origin === own;
      if (isOwn) return;
      const expected = own ?? `of this host, ${request.host}`;
      throw new ServiceError(
        'origin_refused',
        `Origin must be ${expected}; behind a proxy, set RELATA_PUBLIC_URL to the address that browsers use`,
      );
    },
  };
}

/**
 * The token belongs to one session and is derived from the session's value, which scripts cannot read. Nothing more is
 * stored, and the stored hash does not suffice to derive the token.
 */
export function csrfTokenOf(sessionValue: string): string {
  return createHmac('sha256', sessionValue).update('relata csrf token').digest('base64url');
}

export function changesSomething({ method }: FastifyRequest): boolean {
  return !READS.has(method);
}

/** @throws csrf_refused for a changing request without the token of its session */
function refuseForged(request: FastifyRequest, sessionValue: string): void {
  if (!changesSomething(request)) return;
  const sentToken = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
  const expected = Buffer.from(csrfTokenOf(sessionValue));
  if (sentToken.length !== expected.length || !timingSafeEqual(sentToken, expected)) {
    throw new ServiceError('csrf_refused');
  }
}

/**
 * Runs work that stops when its caller disconnects, even while a stream is sent. The signal is then aborted, and no
 * answer is sent. Other requests with the same `Idempotency-Key` that wait for this work are refused and must be
 * retried.
 */
export async function whileCallerWaits<Result>(
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const left = new AbortController();
  const details = ['the caller left before the answer'];
  const abort = () => {
    // A caller that received the whole answer has not left. Creating an error for each such caller took 4 % of a small
    // request.
    if (reply.raw.writableFinished) return;
    left.abort(new ServiceError('not_ready', { retryAfterSeconds: 1, details }));
  };
  reply.raw.once('close', abort);
  if (reply.raw.destroyed) abort();
  try {
    return await work(left.signal);
  } catch (error) {
    // The caller has left, so there is no answer to send.
    if (left.signal.aborted) return reply.hijack() as never;
    throw error;
  }
}

/** The most scans of whole catalogs that a key or user may have open at a time, because one thread does all of them. */
const OPEN_SCANS = 4;

/** Counts a scan of a whole catalog while its answer is awaited or sent. @throws too_many_looks */
export type LimitScans = (request: FastifyRequest, reply: FastifyReply) => void;

export function createScanLimit(): LimitScans {
  const open = new OpenCounts<string>();
  return ({ caller }, { raw }) => {
    const name = nameCaller(caller);
    const count = open.of(name);
    if (count >= OPEN_SCANS) {
      const details = [`${count} searches, counts or previews are open, at most ${OPEN_SCANS} at a time`];
      throw new ServiceError('too_many_looks', { retryAfterSeconds: 1, details });
    }
    if (!raw.destroyed) raw.once('close', open.begin(name));
  };
}
