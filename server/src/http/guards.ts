import type { FastifyReply, FastifyRequest } from 'fastify';
import { allows, type Caller, type ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';

/** A key as it came in a request, and by which way. */
export interface PresentedKey {
  readonly value: string;
  readonly inUrl: boolean;
}

/** The state of a key's rate limit after a request. Source: docs/interface.md §5.3. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** What the rooms to the right know about keys and projects, asked by the server before a handler runs. */
export interface Guards {
  /** @throws scope_refused when the key is unknown, deleted or expired */
  findCaller(key: PresentedKey): Caller | Promise<Caller>;
  /** @throws rate_limited; @returns undefined for a key without a limit */
  countRequest(caller: Caller): Promise<RateState | undefined>;
  /** @throws project_required, scope_refused */
  chooseProject(caller: Caller, projectId: number | undefined): ChosenProject | Promise<ChosenProject>;
}

/** Credentials, rate, project: the checks before parameters and body. Source: docs/interface.md §7.2. */
export function createGuardHook(guards: Guards) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { guard = 'key', access = 'read' } = request.routeOptions.config;
    if (guard === 'none' || guard === 'own' || request.routeOptions.url === undefined) return;
    reply.header('cache-control', 'no-store');
    request.caller = await findCaller(guards, request, reply);
    if (!allows(request.caller.access, access)) throw new ServiceError('scope_refused');
    await chargeRequest(guards, request, reply).catch(async (error: unknown) => {
      // Over its rate, a batch of a full update is a failed batch of this project all the same (§3.1).
      if (guard === 'project') await chooseProject(guards, request).catch(() => undefined);
      throw error;
    });
    if (guard === 'project') await chooseProject(guards, request);
  };
}

async function chooseProject(guards: Guards, request: FastifyRequest): Promise<void> {
  request.project = await guards.chooseProject(request.caller, readProjectId(request.query));
}

async function findCaller(guards: Guards, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  const key = readPresentedKey(request, request.routeOptions.config.guard === 'management');
  if (key === undefined) throw new ServiceError('token_missing');
  if (key.inUrl) reply.header('deprecation', 'true');
  return guards.findCaller(key);
}

/**
 * `Authorization: Bearer KEY`, `Authorization: KEY`, then `?apiKey=KEY`. The header wins; an empty one counts as
 * absent; management takes the header only. Source: docs/interface.md §5.1.
 */
export function readPresentedKey(request: FastifyRequest, headerOnly: boolean): PresentedKey | undefined {
  const header = request.headers.authorization?.trim().replace(/^bearer(\s+|$)/i, '');
  if (header !== undefined && header !== '') return { value: header, inUrl: false };
  const fromUrl = (request.query as Record<string, unknown>).apiKey;
  const value = Array.isArray(fromUrl) ? fromUrl[0] : fromUrl;
  if (headerOnly || typeof value !== 'string' || value === '') return undefined;
  return { value, inUrl: true };
}

/**
 * Counts a request of the caller, where its key has a limit.
 * @throws rate_limited
 */
export async function chargeRequest(
  guards: Pick<Guards, 'countRequest'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const rate = await guards.countRequest(request.caller);
  if (rate === undefined) return;
  // draft-ietf-httpapi-ratelimit-headers-10: a policy and its present state, as structured fields.
  reply.header('ratelimit-policy', `"key";q=${rate.limit};w=60`);
  reply.header('ratelimit', `"key";r=${rate.remaining};t=${rate.resetSeconds}`);
  if (rate.remaining < 0) {
    reply.header('ratelimit', `"key";r=0;t=${rate.resetSeconds}`);
    throw new ServiceError('rate_limited', { retryAfterSeconds: rate.resetSeconds });
  }
}

function readProjectId(query: unknown): number | undefined {
  const parameters = query as Record<string, unknown>;
  const given = parameters.projectId;
  if (given === '') delete parameters.projectId;
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  throw new ServiceError('query_invalid', { details: ['/projectId must be integer'] });
}
