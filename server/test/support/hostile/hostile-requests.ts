import { gzipSync } from 'node:zlib';
import type { OpenApiDocument } from '../../../openapi/document.ts';
import { HostileAddresses, type Known, type Operation } from './hostile-addresses.ts';
import { HostileBodies, MOST_BROKEN } from './hostile-bodies.ts';
import { pick, type Random } from './hostile-values.ts';
import { SchemaValues } from './schema-values.ts';

/** A request of one operation, as sent. */
export interface HostileRequest {
  /** As the document names it. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** The credential of the request: the account key, a session, or none. */
  readonly caller: 'key' | 'session' | 'stranger';
}

/** Headers, the share of requests that have them, and their values, valid and hostile. */
type Header = readonly [string, number, readonly string[]];
const CLAIMS: readonly Header[] = [
  ['accept-encoding', 0.05, ['gzip', 'br', 'zstd', 'identity;q=0, *', 'x;q=9']],
  ['idempotency-key', 0.05, ['one', 'two', 'x'.repeat(256), ' ', '\xe9']],
  ['if-match', 0.05, ['*', '"1"', 'W/"1"', '1', '"', '"a", "b"']],
];
const LIES: readonly Header[] = [
  ['content-type', 0.1, ['text/html', 'application/x-www-form-urlencoded', 'a/b; charset=x', '']],
  ['content-encoding', 0.05, ['gzip', 'br', 'zstd', 'deflate', 'identity', 'gzip, gzip']],
  ['range', 0.03, ['bytes=0-', 'bytes=-1', 'bytes=5-1', 'bytes=0-0,2-3', 'x']],
  ['if-none-match', 0.03, ['*', '"1"', 'W/"x"', '"']],
  ['x-forwarded-for', 0.02, ['::1', '1.2.3.4, x', '\xff']],
  ['origin', 0.02, ['null', 'https://shop.invalid']],
];

/** Calls that end the only session. */
const ENDS_SESSION = /^DELETE \/management\/sessions?$/;
const OF_SESSION = /^(GET|POST|DELETE) \/management\/(session(s|\/password|\/passkeys.*)?|sessions\/.*)$/;

/** Makes requests of all operations of the document, from valid to hostile. The same seed makes the same requests. */
export class HostileRequests {
  readonly #random: Random;
  readonly #operations: readonly Operation[];
  readonly #addresses: HostileAddresses;
  readonly #bodies: HostileBodies;

  constructor(document: OpenApiDocument, random: Random, things: Known) {
    const values = new SchemaValues(document, random);
    this.#random = random;
    this.#operations = listOperations(document);
    this.#addresses = new HostileAddresses({ random, things, values });
    this.#bodies = new HostileBodies({ random, things, values });
  }

  make(): HostileRequest {
    const operation = pick(this.#random, this.#operations);
    const { method, template } = operation;
    const broken = pick(this.#random, [0, 0, 0, 1, 1, 2, MOST_BROKEN]);
    const name = `${method} ${template}`;
    const isHostile = broken > 0 && this.#chance(0.5);
    const path = this.#addresses.makePath(operation, isHostile);
    const query = this.#addresses.makeQuery(operation, isHostile);
    const headers = this.#makeHeaders(operation, broken);
    const body = this.#bodies.makeBody(operation, broken);
    const isPacked = body !== undefined && headers['content-encoding'] === 'gzip' && this.#chance(0.7);
    return {
      operation: name,
      method,
      path: `${path}${query}`,
      headers,
      body: isPacked ? gzipSync(body) : body,
      caller: this.#chooseCaller(name),
    };
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #makeHeaders({ template }: Operation, broken: number): Record<string, string> {
    const chosen = (broken === 0 ? CLAIMS : [...CLAIMS, ...LIES]).filter(([, share]) => this.#chance(share));
    const headers = chosen.map(([name, , texts]) => [name, pick(this.#random, texts)]);
    const accept = template === '/mcp' ? { accept: 'application/json, text/event-stream' } : {};
    return { ...accept, ...Object.fromEntries(headers) };
  }

  #chooseCaller(operation: string): HostileRequest['caller'] {
    if (this.#chance(0.03)) return 'stranger';
    const share = ENDS_SESSION.test(operation) ? 0.02 : OF_SESSION.test(operation) ? 1 : 0.05;
    return this.#chance(share) ? 'session' : 'key';
  }
}

const listOperations = ({ paths }: OpenApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, about]) => ({ ...about, method: method.toUpperCase(), template })),
  );
