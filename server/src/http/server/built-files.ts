import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join, posix, sep } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { namesTag } from '../../kernel/entity-tag.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { chooseEncoding } from './answer-encoding.ts';

/** Files that a build made: the console and the documentation. All are read at once, so a path can name no other file. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

const MEDIA: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Best first. The build puts both beside each file that they make smaller. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

interface BuiltFile {
  readonly media: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** By the name of the encoding. */
  readonly packed: ReadonlyMap<string, Buffer>;
}

/** @returns by path below the folder; none when nothing was built */
export function readBuiltFiles(folder: string, pattern: string): BuiltFiles {
  const names = globSync(pattern, { cwd: folder });
  const wanted = names.filter((name) => extname(name) in MEDIA);
  return new Map(wanted.map((name) => [name.split(sep).join(posix.sep), readFile(join(folder, name))]));
}

function readFile(path: string): BuiltFile {
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

/** Sends a page, which is asked for anew each time. @param policy  its Content-Security-Policy */
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
  const found = files.get(`assets/${(request.params as { file: string }).file}`);
  if (found === undefined) throw new ServiceError('not_found');
  reply.header('cache-control', 'public, max-age=31536000, immutable');
  return sendFile(found, request, reply);
}

function sendFile(file: BuiltFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('x-content-type-options', 'nosniff')
    .header('vary', 'Accept-Encoding')
    .header('etag', file.etag)
    .type(file.media);
  const known = request.headers['if-none-match'];
  if (known !== undefined && namesTag(known, file.etag)) return reply.code(304).send();
  const encoding = chooseEncoding(request.headers['accept-encoding'], [...file.packed.keys()]);
  if (encoding === undefined) return reply.send(file.plain);
  return reply.header('content-encoding', encoding).send(file.packed.get(encoding));
}
