import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { OpenApiDocument } from '../../../openapi/document.ts';
import { createRandom } from '../catalogs/catalog-model.ts';
import { checkAnswer } from '../check-answer.ts';
import type { TestService } from '../test-service.ts';
import { makeFirstThings } from './first-things.ts';
import { type Answer, createHostileCaller, type HostileCaller } from './hostile-caller.ts';
import { type HostileRequest, HostileRequests } from './hostile-requests.ts';
import { KnownThings } from './known-things.ts';
import { readStored, type StoredParts, writeBack } from './stored-things.ts';

const DOCUMENT = new URL('../../../../docs/openapi.json', import.meta.url);
/** Refusals for a temporary state, which do not count as faults. Source: docs/interface §7.7. */
const NOT_NOW = new Set([
  ...['not_ready', 'search_not_ready', 'provider_unavailable', 'company_sign_in_absent'],
]);
/** Codes of refusals that name a place in the request. */
const NAMES_A_PLACE = new Set(['query_invalid', 'request_invalid', 'bad_request', 'body_not_json']);
/** Ends the run of a broken service before it lists all its faults. */
const MOST_FAULTS = 100;

/** The results of a run. */
export interface HostileCounts {
  requests: number;
  readonly byStatus: Map<number, number>;
  /** Operations that succeeded at least once. */
  readonly accepted: Set<string>;
  /** Descriptions of faults, with the requests that showed them. */
  readonly faults: string[];
}

export interface RunOptions {
  /** The same seed with one request at a time sends the same requests. */
  readonly seed: number;
  readonly requests: number;
  readonly atOnce?: number;
  onRequest?(counts: HostileCounts): void;
}

/** Sends seeded hostile requests of every operation of docs/openapi.json to a service, and checks every answer. */
export async function sendHostile(service: TestService, options: RunOptions): Promise<HostileCounts> {
  const caller = await createHostileCaller(service);
  const run = new HostileRun(readDocument(), caller);
  try {
    await run.prepare(service.projectId);
    await run.send(options);
  } finally {
    caller.close();
  }
  return run.counts;
}

/**
 * Sends all stored things back as read, and the service must accept them. @returns them, for a check after a restart
 */
export async function sweepStored(service: TestService): Promise<Map<string, unknown>> {
  return withStored(service, async (parts) => {
    await writeBack(parts, await readStored(parts));
    return readStored(parts);
  });
}

export const readKept = (service: TestService): Promise<Map<string, unknown>> =>
  withStored(service, readStored);

async function withStored<Result>(
  service: TestService,
  work: (parts: StoredParts) => Promise<Result>,
): Promise<Result> {
  const caller = await createHostileCaller(service);
  const ask: StoredParts['ask'] = async (method, path, body) => {
    const sent = body && Buffer.from(JSON.stringify(body));
    const answer = await caller.ask({ method, path, headers: {}, body: sent, caller: 'key' });
    checkJson(method, path, answer);
    return answer;
  };
  try {
    const { body } = await caller.read('/management/projects?limit=1000');
    const projects = body.items.map(({ id }: { id: number }) => `/management/projects/${id}`);
    return await work({ document: readDocument(), projects, ask });
  } finally {
    caller.close();
  }
}

const readDocument = () => JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApiDocument;

class HostileRun {
  readonly counts: HostileCounts = { requests: 0, byStatus: new Map(), accepted: new Set(), faults: [] };
  private readonly document: OpenApiDocument;
  private readonly caller: HostileCaller;
  private readonly things: KnownThings;

  constructor(document: OpenApiDocument, caller: HostileCaller) {
    this.document = document;
    this.caller = caller;
    this.things = new KnownThings(document, caller);
  }

  /** The requests must not change the key and the user that they use. */
  async prepare(projectId: number): Promise<void> {
    for (const name of ['api-keys', 'users']) {
      const { body } = await this.caller.read(`/management/${name}`);
      for (const { id } of body.items) this.things.keepAway(`/management/${name}/${id}`);
    }
    this.things.remember(`/management/projects/${projectId}`);
    for (const thing of await makeFirstThings(this.caller, projectId)) {
      this.things.remember(thing);
      this.things.rememberTold(thing, undefined);
    }
  }

  async send({ seed, requests, atOnce = 1, onRequest }: RunOptions): Promise<void> {
    const source = { list: (template: string) => this.things.list(template), tools: await this.listTools() };
    const made = new HostileRequests(this.document, createRandom(seed), source);
    let left = requests;
    const work = async () => {
      for (; left > 0 && this.counts.faults.length < MOST_FAULTS; left -= 1) {
        const request = made.make();
        await this.play(request).catch(
          (error: Error) => void this.counts.faults.push(describe(request, error)),
        );
        if (left % 50 === 0) await this.things.forgetOldest();
        onRequest?.(this.counts);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  private async play(request: HostileRequest): Promise<void> {
    const { counts, caller } = this;
    if (this.things.isKeptAway(request)) return;
    counts.requests += 1;
    const answer = await caller.ask(request);
    counts.byStatus.set(answer.status, (counts.byStatus.get(answer.status) ?? 0) + 1);
    checkJson(request.method, request.path, answer);
    checkRefusal(answer);
    if (answer.status < 300) await this.follow(request, answer);
    const isOut = request.caller === 'session' && answer.body?.reason === 'not_signed_in';
    if (isOut) await caller.signInAgain();
  }

  /** Remembers created things, and checks that they can be read. */
  private async follow(
    { operation }: HostileRequest,
    { status, body, headers, text }: Answer,
  ): Promise<void> {
    const { accepted } = this.counts;
    accepted.add(operation);
    this.things.rememberTold(text, body?.data?.task ?? body?.task);
    const { location } = headers;
    if (status !== 201 || location === undefined || !this.things.remember(location)) return;
    const answer = await this.caller.read(location);
    assert.ok([200, 404].includes(answer.status), `${location} was created and is ${answer.status}`);
    checkJson('GET', location, answer);
  }

  private async listTools(): Promise<{ name: string; inputSchema: object }[]> {
    const { text } = await this.caller.ask({
      method: 'POST',
      path: '/mcp?projectId=1',
      caller: 'key',
      headers: { accept: 'application/json, text/event-stream' },
      body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    });
    const line = text.split('\n').find((candidate) => candidate.startsWith('data:'));
    return JSON.parse(line?.slice('data:'.length) ?? text).result.tools;
  }
}

function checkJson(method: string, path: string, { status, body }: Answer): void {
  const isNotNow = status === 503 && NOT_NOW.has(body?.reason);
  assert.ok(status < 500 || isNotNow, `${status} ${JSON.stringify(body)}`);
  // A request line that is too long is refused before it reaches any operation.
  if (body !== undefined && status !== 414 && status !== 431) checkAnswer({ method, path, status, body });
}

/** A refusal must name the fault. */
function checkRefusal({ status, body }: Answer): void {
  if (status !== 400 || !NAMES_A_PLACE.has(body?.reason)) return;
  const statements = [...(body.details ?? []), ...(body.validation ?? [])];
  assert.ok(statements.length > 0, `the refusal does not name the fault: ${JSON.stringify(body)}`);
}

function describe({ method, path, headers, body, caller }: HostileRequest, error: Error): string {
  const sent = body === undefined ? '' : ` ${Buffer.from(body).toString('latin1').slice(0, 3_000)}`;
  return `${error.message}\n  ${method} ${path.slice(0, 2_000)} by ${caller} ${JSON.stringify(headers)}${sent}`;
}
