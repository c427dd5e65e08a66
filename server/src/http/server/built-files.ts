import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesTag } from '../../kernel/entity-tag.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { chooseEncoding } from './answer-encoding.ts';
import type { Server } from './endpoint.ts';

/**
 * The files of a build: those of the console or of the documentation. All of them are read together, so a path cannot
 * name any other file.
 */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

const MEDIA: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Encodings, best first. Beside each file that packing makes smaller, the build writes one packed file for each
 * encoding.
 */
const SUFFIXES = { br: '.br', gzip: '.gz' };

interface BuiltFile {
  readonly media: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** The packed files, by the name of the encoding. */
  readonly packed: ReadonlyMap<string, Buffer>;
}

/** @returns the files by their path below the folder; none if the folder does not exist */
export function readBuiltFiles(folder: string, pattern: string): BuiltFiles {
  const served = globSync(pattern, { cwd: folder }).filter((name) => extname(name) in MEDIA);
  return new Map(served.map((name) => [name.split(sep).join(posix.sep), readFile(join(folder, name))]));
}

function readFile(path: string): BuiltFile {
  const plain = readFileSync(path);
  const packedForms = Object.entries(SUFFIXES).filter(([, suffix]) => existsSync(path + suffix));
  const packed = packedForms.map(([name, suffix]) => [name, readFileSync(path + suffix)] as const);
  return {
    media: MEDIA[extname(path)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    plain,
    packed: new Map(packed),
  };
}

/**
 * Sends a page, which browsers revalidate each time.
 * @param policy its Content-Security-Policy
 */
export function sendPage(
  file: BuiltFile,
  policy: string,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  reply
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cache-control', 'no-cache');
  return sendFile(file, request, reply);
}

/** Sends a file whose name holds a hash of its content. */
export function sendAsset(files: BuiltFiles, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const file = files.get(`assets/${(request.params as { file: string }).file}`);
  if (file === undefined) throw new ServiceError('not_found');
  reply.header('cache-control', 'public, max-age=31536000, immutable');
  return sendFile(file, request, reply);
}

function sendFile(file: BuiltFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('vary', 'Accept-Encoding').header('etag', file.etag).type(file.media);
  const sentTags = request.headers['if-none-match'];
  if (sentTags !== undefined && namesTag(sentTags, file.etag)) return reply.code(304).send();
  const encoding = chooseEncoding(request.headers['accept-encoding'], [...file.packed.keys()]);
  if (encoding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', encoding).send(file.packed.get(encoding));
}

/** The policy of a page: only the named sources may be loaded, and no text of a script becomes markup or code. */
const policyOf = (...sources: readonly string[]): string =>
  [
    "default-src 'none'",
    ...sources,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

/** Open to everyone, and not part of the described interface. */
const HIDDEN = { config: { guard: 'none' }, schema: { hide: true } } as const;

/** The output of `npm run build`. Source: docs/interface §14.5. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

export const isConsoleBuilt = (folder = CONSOLE_FOLDER): boolean => existsSync(join(folder, 'index.html'));

/**
 * A page loads only scripts and styles of the service and sends data nowhere else. Images of products may be on any
 * server.
 */
const CONSOLE_POLICY = policyOf(
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' http: https:",
);

/**
 * Serves the console under `/console/`. Its few files are read at the first request, so a path cannot name any other
 * file. Source: docs/interface §14.5.
 * @returns whether the console was built
 */
export function serveConsole(server: Server, folder = CONSOLE_FOLDER): boolean {
  const files = readOnce(() => readBuiltFiles(folder, '{index.html,assets/*}'));
  const isBuilt = isConsoleBuilt(folder);
  if (!isBuilt) {
    server.log.warn(
      'the console is not built, so /console/ answers 404; run npm ci && npm run build, then restart the service',
    );
  }

  server.get('/console', HIDDEN, async (_request, reply) => reply.redirect('/console/', 308));

  server.get('/console/', HIDDEN, async (request, reply) => {
    const page = files().get('index.html');
    if (page === undefined) throw new ServiceError('console_missing');
    return sendPage(page, CONSOLE_POLICY, { request, reply });
  });

  server.get('/console/assets/:file', HIDDEN, async (request, reply) => sendAsset(files(), request, reply));

  return isBuilt;
}

/** The output of `npm run docs`. Source: docs/interface §10.3. */
const DOCS_FOLDER = fileURLToPath(new URL('../../../../site/dist/', import.meta.url));

/** The output of `npm run openapi`. */
const DOCUMENT = fileURLToPath(new URL('../../../../docs/openapi.json', import.meta.url));

/** All files belong to the service, and a page sends data nowhere. */
const DOCS_POLICY = policyOf("script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'");

const documentSchema = {
  summary: 'This interface as OpenAPI',
  response: { 200: { type: 'object', description: 'OpenAPI 3.1', additionalProperties: true } },
};

const apiPageSchema = {
  summary: 'This interface to read',
  response: { 200: { description: 'a page', content: { 'text/html': { schema: { type: 'string' } } } } },
};

const API_MISSING = 'this page is not built here: run npm run docs, then start the service again';

/** A failed read is retried at the next request. */
function readOnce<Read>(read: () => Read): () => Read {
  let value: Read | undefined;
  return () => {
    value ??= read();
    return value;
  };
}

/**
 * Serves the description of the interface, and the documentation under `/docs/`. Without a build, `/docs/` redirects to
 * the API page. Files are read at the first request, because most processes never need them. Source: docs/interface
 * §10.3.
 */
export function serveDocs(server: Server, folder = DOCS_FOLDER, document = DOCUMENT): void {
  const files = readOnce(() => readBuiltFiles(folder, '**'));
  const readDocument = readOnce(() => readFile(document));
  const readApi = readOnce(() => {
    const page = files().get('api.html');
    if (page === undefined) throw new ServiceError('not_found', API_MISSING);
    // The page may use its own inline style and nothing else.
    const style = /<style>(.*?)<\/style>/s.exec(page.plain.toString())?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    return { page, policy: policyOf(`style-src 'sha256-${hash}'`) };
  });
  const fixed = { guard: 'none', isFixed: true } as const;

  server.get('/openapi.json', { config: fixed, schema: documentSchema }, async (request, reply) =>
    sendFile(readDocument(), request, reply.header('cache-control', 'no-cache')),
  );

  server.get('/docs/api', { config: fixed, schema: apiPageSchema }, async (request, reply) => {
    const { page, policy } = readApi();
    return sendPage(page, policy, { request, reply });
  });

  server.get('/docs', HIDDEN, async (_request, reply) => reply.redirect('/docs/', 308));

  server.get('/docs/', HIDDEN, async (request, reply) => {
    const page = files().get('index.html');
    if (page === undefined) return reply.header('cache-control', 'no-cache').redirect('/docs/api', 302);
    return sendPage(page, DOCS_POLICY, { request, reply });
  });

  server.get('/docs/*', HIDDEN, async (request, reply) => {
    const { '*': name } = request.params as { '*': string };
    const page = files().get(/\.(?:svg|md)$/.test(name) ? name : `${name}.html`);
    if (page === undefined) throw new ServiceError('not_found');
    return sendPage(page, DOCS_POLICY, { request, reply });
  });

  server.get('/docs/assets/:file', HIDDEN, async (request, reply) => sendAsset(files(), request, reply));

  // Programs that read documentation look for this list at the root. Source: llmstxt.org.
  server.get('/llms.txt', HIDDEN, async (request, reply) => {
    const list = files().get('llms.txt');
    if (list === undefined) throw new ServiceError('not_found');
    return sendFile(list, request, reply.header('cache-control', 'no-cache'));
  });
}
