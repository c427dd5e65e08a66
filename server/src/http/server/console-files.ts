import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';
import type { Server } from '../http.ts';
import { chooseEncoding } from './answer-encoding.ts';

/** What `npm run build` makes. Source: docs/interface.md §14.5. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../../../console/dist/', import.meta.url));

const MEDIA: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Best first. The build puts both beside each file that they make smaller. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

/**
 * Scripts and styles are files of ours and nothing else; a page cannot send what it knows anywhere but here. Pictures
 * of products come from wherever a shop keeps them.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' http: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

interface ConsoleFile {
  readonly media: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** By the name of the encoding. */
  readonly packed: ReadonlyMap<string, Buffer>;
}

/**
 * Serves the console under `/console/`. Its files are read once: they are few, and a path can then name no other file.
 * Source: docs/interface.md §14.5.
 * @returns whether it was built
 */
export function serveConsole(server: Server, folder = CONSOLE_FOLDER): boolean {
  const files = readFiles(folder);
  const isBuilt = files.has('index.html');
  if (!isBuilt) {
    server.log.warn(
      'the console is not built, /console/ and links to it answer 404: run npm ci && npm run build, then start again',
    );
  }
  const config = { guard: 'none' } as const;
  const schema = { hide: true };

  server.get('/console', { config, schema }, async (_request, reply) => reply.redirect('/console/', 308));

  server.get('/console/', { config, schema }, async (request, reply) => {
    const page = files.get('index.html');
    if (page === undefined) throw new ServiceError('console_missing');
    reply
      .header('content-security-policy', POLICY)
      .header('referrer-policy', 'no-referrer')
      .header('cross-origin-opener-policy', 'same-origin')
      .header('cache-control', 'no-cache');
    return sendFile(page, request, reply);
  });

  server.get('/console/assets/:file', { config, schema }, async (request, reply) => {
    const { file } = request.params as { file: string };
    const found = files.get(`assets/${file}`);
    if (found === undefined) throw new ServiceError('not_found');
    // The name holds a hash of the content.
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return sendFile(found, request, reply);
  });

  return isBuilt;
}

/** @returns by path below the folder; none when the console is not built */
function readFiles(folder: string): ReadonlyMap<string, ConsoleFile> {
  const names = globSync('{index.html,assets/*}', { cwd: folder });
  const wanted = names.filter((name) => extname(name) in MEDIA);
  return new Map(wanted.map((name) => [name.split(sep).join(posix.sep), readFile(join(folder, name))]));
}

function readFile(path: string): ConsoleFile {
  const plain = readFileSync(path);
  const packed = ENCODINGS.filter(({ suffix }) => existsSync(path + suffix)).map(
    ({ name, suffix }) => [name, readFileSync(path + suffix)] as const,
  );
  return {
    media: MEDIA[extname(path)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    plain,
    packed: new Map(packed),
  };
}

function sendFile(file: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('x-content-type-options', 'nosniff')
    .header('vary', 'Accept-Encoding')
    .header('etag', file.etag)
    .type(file.media);
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const encoding = chooseEncoding(request.headers['accept-encoding'], [...file.packed.keys()]);
  if (encoding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', encoding).send(file.packed.get(encoding));
}
