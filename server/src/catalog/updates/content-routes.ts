import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer, ProjectQuery, type Routes, serve } from '../../http/http.ts';
import type { Catalog } from '../catalog.ts';
import { SUCCESS_TEXTS } from './update-answers.ts';

const message = Type.String();
const status = Type.Literal('success');
const count = Type.Optional(Type.Integer({ description: 'left out for a body over 4 MiB or 20,000 pages' }));
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

/**
 * Without an answer, a connector that sends pages as well as products never gets to its products. Source: docs/interface.md
 * §4.11.
 */
export const contentRoutes =
  ({ catalog, uploadMaxMib }: { readonly catalog: Catalog; readonly uploadMaxMib: number }): Routes =>
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
        const { rawBody, project } = request;
        const pages = rawBody && (await catalog.countPages(project.id, rawBody));
        const counts = pages === undefined ? {} : { nrOfSent: pages, nrOfParsed: pages };
        return { message: text, status: 'success' as const, ...counts };
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
