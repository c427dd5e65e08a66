import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  ErrorAnswer,
  IfMatch,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
} from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Catalog } from '../catalog.ts';
import { OntologyDocument, ProjectParams } from '../products/products.ts';
import type { Ontology } from './attribute.ts';
import { markOfOntology } from './ontology-change.ts';
import { checkOntology } from './ontology-check.ts';

export interface OntologyRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  /** @throws not_found for a project that does not exist or is out of the caller's reach */
  getProject(request: FastifyRequest, projectId: number): Promise<ChosenProject>;
  /** Writes the entry of the audit log, when there are details, and the answer beside it (§7.5). */
  recordOntologyChange(
    request: FastifyRequest,
    projectId: number,
    change: {
      details: Record<string, unknown> | undefined;
      beside: (tx: ControlTransaction) => Promise<void>;
    },
  ): Promise<void>;
}

const config = { guard: 'management', access: 'manage' } as const;
const failures = { '4xx': ErrorAnswer };

/** Source: docs/interface.md §11.1. */
export const ontologyRoutes =
  (parts: OntologyRouteParts): Routes =>
  (server) => {
    serveOntology(server, parts);
    serveOntologyChange(server, parts);
  };

function serveOntology(server: Server, { catalog, getProject }: OntologyRouteParts): void {
  server.get(
    '/management/projects/:id/ontology',
    {
      config,
      schema: {
        tags: ['Ontology'],
        summary: 'Read the ontology of a project; the ETag is for If-Match',
        params: ProjectParams,
        response: { 200: OntologyDocument, ...failures },
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      return answerOntology(reply, await catalog.store.getOntology(project.id));
    },
  );
}

function serveOntologyChange(
  server: Server,
  { catalog, answerOnce, getProject, recordOntologyChange }: OntologyRouteParts,
): void {
  server.put(
    '/management/projects/:id/ontology',
    {
      // 20,000 attributes of up to seven fields.
      config: { ...config, maxBodyMib: 16, holds: { names: 160_000 } },
      schema: {
        tags: ['Ontology'],
        summary: 'Replace the ontology of a project; the catalog is extracted again by a task',
        params: ProjectParams,
        headers: IfMatch,
        body: OntologyDocument,
        response: { 200: OntologyDocument, ...failures },
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      checkOntology(request.body);
      const wanted = { ...request.body, expected: readIfMatch(request) };
      const answer = await answerOnce(request, async (record) => {
        const { ontology, changed } = await catalog.ontology.replace(project, wanted);
        const { mode, attributes } = ontology;
        const details = changed ? { mode, attributes: attributes.length } : undefined;
        const beside = (tx: ControlTransaction) => record(tx, { mode, attributes });
        await recordOntologyChange(request, project.id, { details, beside });
        return { mode, attributes };
      });
      return answerOntology(reply, answer);
    },
  );
}

function answerOntology(reply: FastifyReply, ontology: Pick<Ontology, 'mode' | 'attributes'>): never {
  const { mode, attributes } = ontology;
  sendMark(reply, markOfOntology(ontology));
  return { mode, attributes } as never;
}
