import type { FastifyRequest } from 'fastify';
import { ErrorAnswer, ListQuery, type Routes, type Server } from '../http/http.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { checkDefinition, type SentDefinition } from './definition-check.ts';
import type { Relation } from './relation.ts';
import {
  DoneAnswer,
  Explanation,
  PairToExplain,
  ProjectParams,
  RelationDocument,
  RelationPage,
  RelationParams,
  SentRelation,
  Survey,
  toWireRelation,
  WireRelation,
} from './relation-schemas.ts';
import type { Relations } from './relations.ts';

export interface RelationRouteParts {
  readonly relations: Relations;
  /** @throws not_found for a project that does not exist or is out of the caller's reach */
  getProject(request: FastifyRequest, projectId: number): Promise<ChosenProject>;
  recordRelationChange(
    request: FastifyRequest,
    projectId: number,
    change: {
      action: 'created' | 'changed' | 'deleted' | 'imported';
      relation?: Pick<Relation, 'id' | 'definition'>;
    },
  ): Promise<void>;
}

const config = { guard: 'management', access: 'manage', maxBodyMib: 16 } as const;
const failures = { '4xx': ErrorAnswer };
const tags = ['Relations'];
const PATH = '/management/projects/:id/relations';

/** Source: docs/interface.md §12. */
export const relationRoutes =
  (parts: RelationRouteParts): Routes =>
  (server) => {
    serveCollection(server, parts);
    serveExchange(server, parts);
    serveRelation(server, parts);
    serveQuestions(server, parts);
  };

function serveCollection(
  server: Server,
  { relations, getProject, recordRelationChange }: RelationRouteParts,
): void {
  const listSchema = {
    tags,
    summary: 'List the relations of a project, all on one page',
    params: ProjectParams,
    querystring: ListQuery,
    response: { 200: RelationPage, ...failures },
  };
  server.get(PATH, { config, schema: listSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    return { items: (await relations.list(project.id)).map(toWireRelation), nextCursor: null } as never;
  });

  const createSchema = {
    tags,
    summary: 'Create a relation; its index is made by a task',
    description:
      'A definition that cannot work is stored all the same, with the state misconfigured and the reason.',
    params: ProjectParams,
    body: SentRelation,
    response: { 201: WireRelation, ...failures },
  };
  server.post(PATH, { config, schema: createSchema }, async (request, reply) => {
    const project = await getProject(request, request.params.id);
    const relation = await relations.create(project, checkDefinition(request.body as SentDefinition));
    await recordRelationChange(request, project.id, { action: 'created', relation });
    return reply.code(201).send(toWireRelation(relation) as never);
  });
}

function serveExchange(
  server: Server,
  { relations, getProject, recordRelationChange }: RelationRouteParts,
): void {
  const exportSchema = {
    tags,
    summary: 'Export all relations of a project as one document',
    params: ProjectParams,
    response: { 200: RelationDocument, ...failures },
  };
  server.get(`${PATH}/export`, { config, schema: exportSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    const listed = await relations.list(project.id);
    return { relations: listed.map(({ id, definition }) => ({ id, ...definition })) } as never;
  });

  const importSchema = {
    tags,
    summary: 'Replace all relations of a project by those of a document',
    description:
      'A relation with a known id, or else the same name and tag, is changed; others are made, those that are missing deleted.',
    params: ProjectParams,
    body: RelationDocument,
    response: { 200: RelationPage, ...failures },
  };
  server.post(`${PATH}/import`, { config, schema: importSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    const sent = request.body.relations.map((one) => ({
      id: one.id,
      definition: checkDefinition(one as SentDefinition),
    }));
    const imported = await relations.importAll(project, sent);
    await recordRelationChange(request, project.id, { action: 'imported' });
    return { items: imported.map(toWireRelation), nextCursor: null } as never;
  });
}

function serveRelation(
  server: Server,
  { relations, getProject, recordRelationChange }: RelationRouteParts,
): void {
  const path = `${PATH}/:relationId`;
  const schema = { tags, params: RelationParams, response: { 200: WireRelation, ...failures } };
  server.get(path, { config, schema: { ...schema, summary: 'Read a relation' } }, async (request) => {
    const project = await getProject(request, request.params.id);
    return toWireRelation(await relations.get(project.id, request.params.relationId)) as never;
  });

  server.put(
    path,
    {
      config,
      schema: {
        ...schema,
        summary: 'Replace a relation; the old answers stay until the new ones are complete',
        body: SentRelation,
      },
    },
    async (request) => {
      const project = await getProject(request, request.params.id);
      const definition = checkDefinition(request.body as SentDefinition);
      const relation = await relations.replace(project, request.params.relationId, definition);
      await recordRelationChange(request, project.id, { action: 'changed', relation });
      return toWireRelation(relation) as never;
    },
  );

  server.delete(
    path,
    {
      config,
      schema: { ...schema, summary: 'Delete a relation', response: { 200: DoneAnswer, ...failures } },
    },
    async (request) => {
      const project = await getProject(request, request.params.id);
      const relation = await relations.get(project.id, request.params.relationId);
      await relations.remove(project.id, relation.id);
      await recordRelationChange(request, project.id, { action: 'deleted', relation });
      return { status: 'success' } as const;
    },
  );
}

function serveQuestions(server: Server, { relations, getProject }: RelationRouteParts): void {
  const previewSchema = {
    tags,
    summary: 'Try a definition on the catalog without storing it',
    description: 'The whole catalog is read; above 10,000 sources a sample of them is searched.',
    params: ProjectParams,
    body: SentRelation,
    response: { 200: Survey, ...failures },
  };
  server.post(`${PATH}/preview`, { config, schema: previewSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    const tried = await relations.tryDefinition(project.id, checkDefinition(request.body as SentDefinition));
    return { misconfigured: 'problem' in tried, ...tried } as never;
  });

  const healthSchema = {
    tags,
    summary: 'How a relation does on the catalog',
    params: RelationParams,
    response: { 200: Survey, ...failures },
  };
  server.get(`${PATH}/:relationId/health`, { config, schema: healthSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    return {
      misconfigured: false,
      ...(await relations.survey(project.id, request.params.relationId)),
    } as never;
  });

  const explainSchema = {
    tags,
    summary: 'Why a product is among the results of another, or is not',
    params: RelationParams,
    body: PairToExplain,
    response: { 200: Explanation, ...failures },
  };
  server.post(`${PATH}/:relationId/explain`, { config, schema: explainSchema }, async (request) => {
    const project = await getProject(request, request.params.id);
    const wanted = { projectId: project.id, id: request.params.relationId, ...request.body };
    return (await relations.explain(wanted)) as never;
  });
}
