import type { FastifyReply } from 'fastify';
import {
  type AnswerOnce,
  IfMatch,
  ProjectParams,
  readIfMatch,
  sendMark,
} from '../../http/answers/answers.ts';
import { type Routes, type Server, serve, serveOnce } from '../../http/server/server.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Database } from '../../storage/storage.ts';
import type { Catalog } from '../catalog.ts';
import { OntologyDocument } from '../products/products.ts';
import type { Ontology } from './attribute.ts';
import { checkOntology, documentOf, markOfOntology } from './ontology-change.ts';

export interface OntologyRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const about = {
  ...{ path: '/management/projects/:id/ontology', tags: ['Ontology'], params: ProjectParams },
  answer: { 200: OntologyDocument },
};

/** Source: docs/interface.md §11.1. */
export const ontologyRoutes =
  (parts: OntologyRouteParts): Routes =>
  (server) => {
    serveOntology(server, parts);
    serveOntologyChange(server, parts);
  };

function serveOntology(server: Server, { catalog }: OntologyRouteParts): void {
  const summary = 'Read the ontology of a project; the ETag is for If-Match';
  serve(server, { ...about, method: 'GET', config, summary }, async ({ project }, reply) =>
    answerOntology(reply, await catalog.store.getOntology(project.id)),
  );
}

function serveOntologyChange(
  server: Server,
  { catalog, answerOnce, projects, database }: OntologyRouteParts,
): void {
  const endpoint = {
    ...about,
    method: 'PUT',
    ...{ answerOnce, headers: IfMatch, body: OntologyDocument },
    // 20,000 attributes of up to seven fields.
    config: { ...config, maxBodyMib: 16, holds: { names: 160_000 } },
    summary: 'Replace the ontology of a project; answers follow at once, the report and relations by a task',
  } as const;
  serveOnce(server, endpoint, async (request, once, reply) => {
    const { project } = request;
    checkOntology(request.body);
    const mayBeRepeated = Boolean(request.headers['idempotency-key']);
    const requested = { ...request.body, expected: readIfMatch(request), mayBeRepeated };
    const answer = await once(async (record) => {
      const { ontology, changed } = await catalog.ontology.replace(project, requested);
      const answered = documentOf(ontology);
      const { mode, attributes } = answered;
      const change = {
        ...{ author: request.caller, projectId: project.id, action: 'ontology.changed' },
        subject: { type: 'project', id: project.id },
        details: { mode, attributes: attributes.length },
      };
      await database.write(async (tx) => {
        if (changed) await projects.recordChange(change, tx);
        await record(tx, answered);
      });
      return answered;
    });
    // What was answered has the ids that what is sent may lack.
    return answerOntology(reply, answer as typeof answer & Pick<Ontology, 'attributes'>);
  });
}

function answerOntology(reply: FastifyReply, ontology: Omit<Ontology, 'revision'>) {
  sendMark(reply, markOfOntology(ontology));
  return documentOf(ontology);
}
