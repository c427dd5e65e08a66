import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer, ProjectQuery } from '../../http/answers/answers.ts';
import { type Routes, type RouteTools, serve } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import type { Catalog } from '../catalog.ts';
import { SUCCESS_TEXTS, successWord } from './update-answers.ts';

interface ContentRouteParts extends RouteTools {
  readonly catalog: Catalog;
}

const message = Type.String();
const count = optional.integer('absent for a body with more than 4 MiB or 20,000 pages');
const Accepted = Type.Object({ message, status: successWord, nrOfSent: count, nrOfParsed: count });

/** The calls of connectors about the pages of a shop, with the texts of their answers. */
const CONTENT_CALLS = [
  ['POST /content', SUCCESS_TEXTS.update],
  ['PUT /content', SUCCESS_TEXTS.update],
  ['DELETE /content', SUCCESS_TEXTS.delete],
  ['POST /content/batch/initiate', SUCCESS_TEXTS.initiate],
  ['POST /content/batch/upload', SUCCESS_TEXTS.upload],
  ['PUT /content/batch/upload', SUCCESS_TEXTS.upload],
] as const;

/**
 * Answers calls about pages. Without an answer, a connector that sends pages and products would never send its
 * products. Source: docs/interface §4.11.
 */
export const contentRoutes =
  ({ catalog, uploadMaxMib }: ContentRouteParts): Routes =>
  (server) => {
    const logged = new Set<number>();
    const logOnce = ({ project, log }: FastifyRequest) => {
      if (!logged.has(project.id))
        log.info(
          { project: project.id },
          'pages of a shop are accepted but not stored; this is logged once for each project',
        );
      logged.add(project.id);
    };
    const page = {
      tags: ['Updates'],
      config: { guard: 'project', access: 'write', body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Accept and count pages of a shop, without storing them',
      query: ProjectQuery,
      failures: { '4xx': ErrorAnswer },
    } as const;
    for (const [call, text] of CONTENT_CALLS)
      serve(server, call, {
        ...page,
        answer: { 200: Accepted },
        async handle(request) {
          logOnce(request);
          const { rawBody, project } = request;
          const pages = rawBody && (await catalog.ingest.countPages(project.id, rawBody));
          const counts = pages === undefined ? {} : { nrOfSent: pages, nrOfParsed: pages };
          return { message: text, status: 'success' as const, ...counts };
        },
      });
    serve(server, 'POST /content/batch/start', {
      ...page,
      answer: { 200: Type.Object({ status: successWord, data: Accepted }) },
      async handle(request) {
        logOnce(request);
        const status = 'success' as const;
        return { status, data: { message: SUCCESS_TEXTS.start, status } };
      },
    });
  };
