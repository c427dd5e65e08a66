import { gzipSync } from 'node:zlib';
import type { ApiOperation, ApiParameter, ApiSchema, OpenApiDocument } from '../../../openapi/document.ts';
import {
  below,
  corrupt,
  HOSTILE_TEXTS,
  type JsonNode,
  Literal,
  Members,
  makeHostile,
  makeText,
  mutate,
  pick,
  type Random,
  writeJson,
} from './hostile-values.ts';
import { createSchemaValues } from './schema-values.ts';

/** A request of one operation, as sent. */
export interface HostileRequest {
  /** As the document names it. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** The identity of the request: the key of everything, a session, or none. */
  readonly caller: 'key' | 'session' | 'stranger';
}

/** Existing things: their paths, by path template. */
export interface Known {
  list(template: string): readonly string[];
  /** The tools for agents, with their input. */
  readonly tools: readonly { readonly name: string; readonly inputSchema: object }[];
}

const PROJECT = '/management/projects/{id}';
/** A body with more broken places has nothing left of its operation. */
const MOST_BROKEN = 3;

interface Operation extends ApiOperation {
  readonly method: string;
  readonly template: string;
}

/** Headers, the share of requests that have them, and their values, well meant and hostile. */
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

/** Calls that end the session, of which there is only one. */
const ENDS_SESSION = /^DELETE \/management\/sessions?$/;
const OF_SESSION = /^(GET|POST|DELETE) \/management\/(session(s|\/password|\/passkeys.*)?|sessions\/.*)$/;

/** Makes requests of all operations of the document, from well meant to hostile; a seed repeats them. */
export function createHostileRequests(document: OpenApiDocument, random: Random, known: Known) {
  const values = createSchemaValues(document, random);
  const operations: Operation[] = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, about]) => ({ ...about, method: method.toUpperCase(), template })),
  );
  const chance = (share: number) => random() < share;

  function makePath({ template, parameters = [] }: Operation, isHostile: boolean): string {
    const makePart = (part: string): string => {
      if (isHostile && /^(\d+|\{\w+\})$/.test(part) && chance(0.3)) return encodePart(makeText(random));
      if (!part.startsWith('{')) return part;
      const { schema = {} } = parameters.find(({ name }) => `{${name}}` === part) ?? {};
      return encodePart(asText(values.make(schema, part.slice(1, -1))));
    };
    return fillKnown(template).map(makePart).join('/');
  }

  /** @returns the path's parts, as far as known things fill them */
  function fillKnown(template: string): string[] {
    const parts = template.split('/');
    const ends = parts.flatMap((part, at) => (part.startsWith('{') ? [at + 1] : [])).reverse();
    for (const end of ends) {
      const found = known.list(parts.slice(0, end).join('/'));
      if (found.length > 0) return [...pickKnown(found).split('/'), ...parts.slice(end)];
    }
    return parts;
  }

  /** Most requests are about the first thing, so that their effects add up. */
  const pickKnown = (found: readonly string[]) => (chance(0.6) ? (found[0] ?? '') : pick(random, found));

  /** Node's client sends no blank as it is. */
  const encodePart = (text: string) => {
    if (chance(0.05))
      return pick(random, ['%', '%00', '%zz', '%c0%af', '%ed%a0%80', '..', '%2e%2e', '%2F', '']);
    return encodeURIComponent(text.toWellFormed()).slice(0, 6_000);
  };

  function makeQuery({ parameters = [] }: Operation, isHostile: boolean): string {
    const asked = parameters.filter(
      (one) => one.in === 'query' && (one.required || chance(wishFor(one, isHostile))),
    );
    const pairs = asked.flatMap((one) => makeParameter(one, isHostile));
    if (isHostile && chance(0.2)) pairs.push([makeText(random), makeText(random)]);
    if (isHostile && chance(0.1)) pairs.push(...pairs);
    const text = pairs.map(([name, value]) => `${encodeName(name)}=${encodePart(value)}`).join('&');
    return text === '' ? '' : `?${text}`;
  }

  /** Without a project, almost nothing is checked; a made-up cursor is never one from the service. */
  const wishFor = ({ name }: ApiParameter, isHostile: boolean) =>
    name === 'projectId' ? 0.98 : name === 'cursor' && !isHostile ? 0.02 : 0.4;

  const encodeName = (name: string) =>
    encodeURIComponent(name.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']');

  function makeParameter({ name, schema = {} }: ApiParameter, isHostile: boolean): [string, string][] {
    if (isHostile && chance(0.3)) return [makeHostileParameter(name)];
    const projects = name === 'projectId' ? known.list(PROJECT) : [];
    if (projects.length > 0) return [[name, pickKnown(projects).split('/').at(-1) ?? '']];
    return [[name, makeListed(name) ?? asText(values.make(schema, name))]];
  }

  function makeHostileParameter(name: string): [string, string] {
    if (chance(0.4)) return [name, writeJson(makeHostile(random)).slice(0, 20_000)];
    return [pick(random, [name, `${name}[]`, `${name}[0]`, `${name}[a]`]), makeText(random)];
  }

  /** Lists in a parameter, as JSON. */
  function makeListed(name: string): string | undefined {
    const limit = pick(random, [1, 10, 100, 101]);
    const listed: Record<string, JsonNode> = {
      identifiers: ['A-1', 'A-2'],
      includeTags: [
        new Members([
          ['tag', 'fits'],
          ['limitPerRelation', limit],
        ]),
      ],
      includeRelations: [
        new Members([
          ['id', 1 + below(random, 5)],
          ['limit', limit],
        ]),
      ],
      filter: values.make({ title: 'Filter' }),
      category: ['Tools', 'Saws'].slice(0, 1 + below(random, 2)),
      under: ['Tools'],
    };
    const node = listed[name];
    if (node === undefined || chance(0.2)) return undefined;
    return writeJson(chance(0.3) ? mutate(random, node) : node);
  }

  function makeBody({ requestBody, template }: Operation, broken: number): Uint8Array | undefined {
    const [[type, { schema = {} }] = [undefined, {}]] = Object.entries(requestBody?.content ?? {});
    if (type === undefined) return chance(0.9) ? undefined : Buffer.from(writeJson(makeHostile(random)));
    if (type === 'application/x-ndjson') return breakText(makeLines(broken), broken);
    if (type === 'application/octet-stream') return breakText(makeFile(), broken);
    return breakText(writeJson(makeJson({ schema, template }, broken)), broken);
  }

  function makeJson({ schema, template }: { schema: ApiSchema; template: string }, broken: number): JsonNode {
    if (broken === MOST_BROKEN) return makeHostile(random);
    let node = template === '/mcp' ? makeMessage() : values.make(schema);
    for (let at = 0; at < broken; at += 1) node = mutate(random, node);
    return node;
  }

  const breakText = (text: string, broken: number) =>
    broken > 0 && chance(0.15) ? corrupt(random, text) : Buffer.from(text);

  function makeLines(broken: number): string {
    const line = (): JsonNode =>
      new Members([
        ['source', `A-${below(random, 12)}`],
        ['targets', [`A-${below(random, 12)}`, `A-${below(random, 12)}`]],
      ]);
    const lines = Array.from({ length: below(random, 5) }, () =>
      broken > 0 ? mutate(random, line()) : line(),
    );
    return lines.map(writeJson).join(pick(random, ['\n', '\r\n', '\n\n']));
  }

  const makeFile = () =>
    pick(random, [
      'sku,title,price\nA-1,Saw,5\nA-2,Drill,6\n',
      '"sku";"title"\n"A-1;Saw\n',
      '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
      'PK\u0003\u0004',
      '{"identifier":"A-1","name":"Saw"}\n{',
      HOSTILE_TEXTS.join('\n').toWellFormed(),
    ]);

  function makeMessage(): JsonNode {
    const tool = pick(random, known.tools);
    const call = new Members([
      ['name', tool?.name ?? 'none'],
      ['arguments', values.make(tool?.inputSchema ?? {})],
    ]);
    const method = pick(random, [
      'tools/call',
      'tools/call',
      'tools/call',
      'tools/list',
      'initialize',
      'ping',
      'resources/list',
    ]);
    return new Members([
      ['jsonrpc', '2.0'],
      ['id', pick<JsonNode>(random, [1, 'a', null, 0.5])],
      ['method', method],
      ['params', method === 'tools/call' ? call : new Members([])],
    ]);
  }

  function makeHeaders({ template }: Operation, broken: number): Record<string, string> {
    const chosen = (broken === 0 ? CLAIMS : [...CLAIMS, ...LIES]).filter(([, share]) => chance(share));
    const headers = chosen.map(([name, , texts]) => [name, pick(random, texts)]);
    const accept = template === '/mcp' ? { accept: 'application/json, text/event-stream' } : {};
    return { ...accept, ...Object.fromEntries(headers) };
  }

  function chooseCaller(operation: string): HostileRequest['caller'] {
    if (chance(0.03)) return 'stranger';
    const share = ENDS_SESSION.test(operation) ? 0.02 : OF_SESSION.test(operation) ? 1 : 0.05;
    return chance(share) ? 'session' : 'key';
  }

  return {
    make(): HostileRequest {
      const operation = pick(random, operations);
      const { method, template } = operation;
      const broken = pick(random, [0, 0, 0, 1, 1, 2, MOST_BROKEN]);
      const name = `${method} ${template}`;
      const isHostile = broken > 0 && chance(0.5);
      const path = `${makePath(operation, isHostile)}${makeQuery(operation, isHostile)}`;
      const headers = makeHeaders(operation, broken);
      const body = makeBody(operation, broken);
      const isPacked = body !== undefined && headers['content-encoding'] === 'gzip' && chance(0.7);
      return {
        operation: name,
        method,
        path,
        headers,
        body: isPacked ? gzipSync(body) : body,
        caller: chooseCaller(name),
      };
    },
  };
}

function asText(node: JsonNode): string {
  if (node instanceof Literal) return node.text;
  if (typeof node === 'string') return node;
  return writeJson(node);
}
