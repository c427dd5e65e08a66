import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { IfMatch, ProjectParams, readIfMatch, sendMark } from '../../http/answers/answers.ts';
import { type Routes, type RouteTools, serve } from '../../http/server/server.ts';
import type { Projects } from '../../projects/projects.ts';
import { type Database, markOf } from '../../storage/storage.ts';
import type { Catalog } from '../catalog.ts';
import type { Ontology } from './attribute.ts';
import { documentOf } from './changes/changes.ts';
import { OntologyDocument, SentOntology } from './ontology-schemas.ts';

interface OntologyRouteParts extends RouteTools {
  readonly catalog: Catalog;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const about = { tags: ['Ontology'], params: ProjectParams, answer: { 200: OntologyDocument } };

/** Source: docs/interface §11.1. */
export const ontologyRoutes =
  ({ catalog, answerOnce, projects, database }: OntologyRouteParts): Routes =>
  (server) => {
    serve(server, 'GET /management/projects/:id/ontology', {
      ...about,
      config: { ...config, hasMark: true },
      summary: 'Read the ontology of a project; the ETag is for If-Match',
      async handle({ project }, reply) {
        const ontology = await catalog.store.getOntology(project.id);
        // Reading 11,400 attributes takes 15 ms, and so does writing the answer.
        await nextTurn();
        return answerOntology(reply, ontology);
      },
    });
    serve(server, 'PUT /management/projects/:id/ontology', {
      ...about,
      headers: IfMatch,
      body: SentOntology,
      // The largest ontology has 20,000 attributes of up to seven fields.
      config: { ...config, hasMark: true, isOnce: true, maxBodyMib: 16, holds: { names: 160_000 } },
      summary:
        'Replace the ontology of a project; answers use it immediately, and a task updates the report and relations',
      async handle(request, reply) {
        const { project } = request;
        const mayBeRepeated = Boolean(request.headers['idempotency-key']);
        const { caller: author, body } = request;
        const requested = { ...body, expected: readIfMatch(request), mayBeRepeated, author };
        const answer = await answerOnce<ReturnType<typeof documentOf>>(request, async (record) => {
          const { ontology, changed } = await catalog.ontology.replace(project, requested);
          const answered = documentOf(ontology);
          const { mode, attributes } = answered;
          const change = {
            author,
            projectId: project.id,
            action: 'ontology.changed',
            subject: { type: 'project', id: project.id },
            details: { mode, attributes: attributes.length },
          };
          await database.write('all', async (tx) => {
            if (changed) await projects.recordChange(change, tx);
            await record(tx, answered);
          });
          return answered;
        });
        return answerOntology(reply, answer);
      },
    });
  };

function answerOntology(reply: FastifyReply, ontology: Omit<Ontology, 'revision'>) {
  const document = documentOf(ontology);
  sendMark(reply, markOf(document));
  return document;
}
