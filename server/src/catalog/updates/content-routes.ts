import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer, ProjectQuery, type RawBody, type Routes, serve } from '../../http/http.ts';
import { unpack } from '../../storage/storage.ts';
import { SUCCESS_TEXTS } from './update-answers.ts';

const message = Type.String();
const status = Type.Literal('success');
const count = Type.Optional(Type.Integer({ description: 'left out for a body over 4 MiB' }));
const Accepted = Type.Object({ message, status, nrOfSent: count, nrOfParsed: count });
const ANSWERED = 'pages of a shop are answered and kept nowhere';

/** What connectors send of the pages of a shop, with what they are answered. */
const CALLS = [
  { method: 'POST', path: '/content', text: SUCCESS_TEXTS.update },
  { method: 'PUT', path: '/content', text: SUCCESS_TEXTS.update },
  { method: 'DELETE', path: '/content', text: SUCCESS_TEXTS.delete },
  { method: 'POST', path: '/content/batch/initiate', text: SUCCESS_TEXTS.initiate },
  { method: 'POST', path: '/content/batch/upload', text: SUCCESS_TEXTS.upload },
  { method: 'PUT', path: '/content/batch/upload', text: SUCCESS_TEXTS.upload },
] as const;

/** Parsing more would hold up lookups. */
const COUNTED_MIB = 4;

/** @returns how many there are, in a list or in the first list of an object */
async function countPages(body: RawBody | undefined): Promise<{ nrOfSent?: number; nrOfParsed?: number }> {
  try {
    const bytes = await unpack(body?.bytes ?? Buffer.alloc(0), body?.encoding ?? 'identity', COUNTED_MIB);
    if (bytes.length > COUNTED_MIB * 1024 * 1024) return {};
    const sent: unknown = JSON.parse(Buffer.from(bytes).toString());
    const list = [sent, ...Object.values(sent ?? {})].find(Array.isArray);
    return list === undefined ? {} : { nrOfSent: list.length, nrOfParsed: list.length };
  } catch {
    // Nothing is made of it, so nothing in it can be wrong.
    return {};
  }
}

/**
 * Without an answer, a connector that sends pages as well as products never gets to its products. Source: docs/interface.md
 * §4.11.
 */
export const contentRoutes =
  ({ uploadMaxMib }: { readonly uploadMaxMib: number }): Routes =>
  (server) => {
    const told = new Set<number>();
    const tell = ({ project, log }: FastifyRequest) => {
      if (!told.has(project.id)) log.info({ project: project.id }, ANSWERED);
      told.add(project.id);
    };
    const about = {
      tags: ['Updates'],
      config: { guard: 'project', access: 'write', body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Pages of a shop: answered, counted and kept nowhere',
      query: ProjectQuery,
      failures: { '4xx': ErrorAnswer },
    } as const;
    for (const { text, ...call } of CALLS)
      serve(server, { ...about, ...call, answer: { 200: Accepted } }, async (request) => {
        tell(request);
        return { message: text, status: 'success' as const, ...(await countPages(request.rawBody)) };
      });
    const start = { ...about, method: 'POST', path: '/content/batch/start' } as const;
    const answer = { 200: Type.Object({ status, data: Accepted }) };
    serve(server, { ...start, answer }, async (request) => {
      tell(request);
      return {
        status: 'success' as const,
        data: { message: SUCCESS_TEXTS.start, status: 'success' as const },
      };
    });
  };
