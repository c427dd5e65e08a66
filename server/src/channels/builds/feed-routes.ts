import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer } from '../../http/answers/answers.ts';
import { type RawAnswer, type Routes, sendRaw, serveRaw } from '../../http/server/server.ts';
import { namesTag } from '../../kernel/entity-tag.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Channels } from '../channels.ts';
import type { ServedFile } from './served-files.ts';

const ABSENT = 'the address is not one that a channel has now, or it has no such file';

/** Source: docs/interface §16.6. */
export const feedRoutes =
  ({ channels }: { readonly channels: Channels }): Routes =>
  (server) => {
    serveRaw(server, 'GET /channels/:token/:fileName', {
      config: { guard: 'none', isPatient: true, hasSecretPath: true },
      tags: ['Channels'],
      summary: 'Read a published file; its address is enough, without a key',
      description:
        'With ETag, Last-Modified, ranges and 304. `index.json` lists all files of the channel with their rows, sizes and hashes.',
      params: Type.Object({
        token: Type.String({ maxLength: 64 }),
        fileName: Type.String({ maxLength: 255 }),
      }),
      failures: {
        '4xx': ErrorAnswer,
        404: { ...ErrorAnswer, description: ABSENT },
        416: { description: 'no byte of the range is in the file', type: 'null' },
      },
      why: 'files of any format and size',
      produces: 'application/octet-stream',
      async handle(request, reply) {
        const { token, fileName } = request.params;
        const file = await channels.findFile(token, fileName);
        if (file === undefined) throw new ServiceError('not_found');
        return answerFile(request, reply, file);
      },
    });
  };

function answerFile(request: FastifyRequest, reply: FastifyReply, file: ServedFile): RawAnswer {
  const { mediaType, sizeBytes, etag, modifiedAt } = file;
  // The file's hash and ranges apply to its bytes as they are, so no proxy may compress it.
  reply.header('cache-control', 'no-cache, no-transform').header('accept-ranges', 'bytes');
  reply.header('etag', etag).header('last-modified', new Date(modifiedAt).toUTCString());
  if (hasAlready(request.headers, file)) return reply.code(304).send() as RawAnswer;
  const range = findRange(request.headers, file);
  if (range === undefined) {
    reply.code(416).header('content-range', `bytes */${sizeBytes}`);
    return sendRaw(reply, mediaType, Buffer.alloc(0));
  }
  const { from, to } = range;
  if (range.isPart) reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${sizeBytes}`);
  reply.header('content-length', to - from);
  const isRead = request.method !== 'HEAD';
  return sendRaw(reply, mediaType, Readable.from(isRead ? file.read(from, to) : [], { objectMode: false }));
}

/** The bytes of a file that a request names. Source: RFC 9110 §13, §14. Pure. */

type FileState = Pick<ServedFile, 'sizeBytes' | 'etag' | 'modifiedAt'>;

const toSeconds = (ms: number) => Math.floor(ms / 1_000);

/** Whether the reader already has the file. An ETag takes precedence over a date. */
function hasAlready(headers: IncomingHttpHeaders, { etag, modifiedAt }: FileState): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return namesTag(tags, etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && toSeconds(modifiedAt) <= toSeconds(since);
}

/** @returns the whole file if the request names no range, `to` excluded; undefined for a range outside the file */
function findRange(headers: IncomingHttpHeaders, file: FileState) {
  const { sizeBytes } = file;
  const range = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range?.trim() ?? '');
  const [, first = '', last = ''] = range ?? [];
  if (first + last === '' || !isSame(headers['if-range'], file))
    return { from: 0, to: sizeBytes, isPart: false };
  const from = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  return from < to ? { from, to, isPart: true } : undefined;
}

/** Whether the reader's part belongs to the present file. */
function isSame(condition: string | string[] | undefined, { etag, modifiedAt }: FileState): boolean {
  if (condition === undefined) return true;
  const text = String(condition).trim();
  return text.startsWith('"') ? text === etag : toSeconds(Date.parse(text)) === toSeconds(modifiedAt);
}
