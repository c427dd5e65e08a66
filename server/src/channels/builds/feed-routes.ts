import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer } from '../../http/answers/answers.ts';
import { type RawAnswer, type Routes, sendRaw, serveRaw } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Channels } from '../channels.ts';
import { findRange, hasAlready } from './file-ranges.ts';
import type { ServedFile } from './served-files.ts';

const ABSENT = 'no channel has this address now, or the channel has no such file';

/** Source: docs/interface §16.6. */
export const feedRoutes =
  ({ channels }: { readonly channels: Channels }): Routes =>
  (server) => {
    serveRaw(server, 'GET /channels/:token/:fileName', {
      config: { guard: 'none', isPatient: true, hasSecretPath: true },
      tags: ['Channels'],
      summary: 'Read a published file; the address is enough, and no key is needed',
      description:
        'Supports ETag, Last-Modified, ranges and 304. `index.json` lists all files of the channel with their rows, sizes and hashes.',
      params: Type.Object({
        token: Type.String({ maxLength: 64 }),
        fileName: Type.String({ maxLength: 255 }),
      }),
      failures: {
        '4xx': ErrorAnswer,
        404: { ...ErrorAnswer, description: ABSENT },
        416: { description: 'the file has no byte in the range', type: 'null' },
      },
      why: 'files have any format and size',
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
  // The file's hash and ranges apply to its stored bytes, so no proxy may compress it.
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
