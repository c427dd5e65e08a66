import { ProjectParams, ProjectQuery } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type Routes, type RouteTools, sendJson, serve, serveRaw } from '../../http/server/server.ts';
import type { Relations } from '../relations.ts';
import { FitAnswer, FitQuestion, MissingValues, readQuestion } from './fit-schemas.ts';

/** Source: docs/interface §12.10. */
export const fitRoutes =
  ({ relations, limitScans }: RouteTools & { readonly relations: Relations }): Routes =>
  (server) => {
    serveRaw(server, 'POST /search/relations/fit', {
      config: { guard: 'project', access: 'page', takesProjectInBody: true },
      tags: ['Related products'],
      why: 'a thread writes the answer as JSON, because it may be long',
      summary: 'Judge whether products can be used together, and explain why',
      query: ProjectQuery,
      body: FitQuestion,
      answer: { 200: FitAnswer },
      handle: ({ project, body }, reply) =>
        whileCallerWaits(reply, async (signal) =>
          sendJson(reply, await relations.judgeFit(readQuestion(project.id, body), signal)),
        ),
    });

    serve(server, 'GET /management/projects/:id/relations/missing-values', {
      config: { guard: 'management', access: 'manage', role: 'viewer', isPatient: true },
      tags: ['Relations'],
      params: ProjectParams,
      answer: { 200: MissingValues },
      summary: 'List the missing values that leave the most verdicts unknown',
      handle(request, reply) {
        limitScans(request, reply);
        return whileCallerWaits(reply, async (signal) => ({
          items: await relations.surveyMissing({ projectId: request.project.id }, signal),
        }));
      },
    });
  };
