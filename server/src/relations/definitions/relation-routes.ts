import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  type CountLook,
  ErrorAnswer,
  IfMatch,
  ListQuery,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
  whileCallerWaits,
} from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Relations } from '../relations.ts';
import { checkDefinition, type SentDefinition } from './definition-check.ts';
import { markOfRelation, type Relation } from './relation.ts';
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

export interface RelationRouteParts {
  readonly relations: Relations;
  readonly answerOnce: AnswerOnce;
  /** @throws not_found for a project that does not exist or is out of the caller's reach */
  getProject(request: FastifyRequest, projectId: number): Promise<ChosenProject>;
  readonly countLook: CountLook;
  /** Writes the entry of the audit log and the answer beside it (§7.5). */
  recordRelationChange(
    request: FastifyRequest,
    projectId: number,
    change: {
      action: 'created' | 'changed' | 'deleted' | 'imported';
      relation?: Pick<Relation, 'id' | 'definition'>;
      beside: (tx: ControlTransaction) => Promise<void>;
    },
  ): Promise<void>;
}

const config = { guard: 'management', access: 'manage', maxBodyMib: 16 } as const;
/** Asked by POST, because it is long; nothing is changed. */
const question = { ...config, role: 'viewer' } as const;
const failures = { '4xx': ErrorAnswer };
const tags = ['Relations'];
const done = { status: 'success' } as const;
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
  { relations, answerOnce, getProject, recordRelationChange }: RelationRouteParts,
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
    const definition = checkDefinition(request.body as SentDefinition);
    const answer = await answerOnce(request, async (record) => {
      const relation = await relations.create(project, definition);
      const created = toWireRelation(relation);
      const beside = (tx: ControlTransaction) => record(tx, created);
      await recordRelationChange(request, project.id, { action: 'created', relation, beside });
      return created;
    });
    sendMark(reply, markOfWire(answer));
    return reply.code(201).send(answer as never);
  });
}

function serveExchange(
  server: Server,
  { relations, answerOnce, getProject, recordRelationChange }: RelationRouteParts,
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
    const sent = request.body.relations.map((one, at) => ({
      id: one.id,
      definition: checkDefinition(one as SentDefinition, `/relations/${at}`),
    }));
    return answerOnce(request, async (record) => {
      const items = (await relations.importAll(project, sent)).map(toWireRelation);
      const imported = { items, nextCursor: null };
      const beside = (tx: ControlTransaction) => record(tx, imported);
      await recordRelationChange(request, project.id, { action: 'imported', beside });
      return imported;
    }) as never;
  });
}

function serveRelation(
  server: Server,
  { relations, answerOnce, getProject, recordRelationChange }: RelationRouteParts,
): void {
  const path = `${PATH}/:relationId`;
  const schema = { tags, params: RelationParams, response: { 200: WireRelation, ...failures } };
  const readSchema = { ...schema, summary: 'Read a relation; the ETag is for If-Match' };
  server.get(path, { config, schema: readSchema }, async (request, reply) => {
    const project = await getProject(request, request.params.id);
    const relation = await relations.get(project.id, request.params.relationId);
    sendMark(reply, markOfRelation(relation));
    return toWireRelation(relation) as never;
  });

  server.put(
    path,
    {
      config,
      schema: {
        ...schema,
        summary: 'Replace a relation; the old answers stay until the new ones are complete',
        headers: IfMatch,
        body: SentRelation,
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      const definition = checkDefinition(request.body as SentDefinition);
      const replaced = { id: request.params.relationId, expected: readIfMatch(request), definition };
      const answer = await answerOnce(request, async (record) => {
        const relation = await relations.replace(project, replaced);
        const changed = toWireRelation(relation);
        const beside = (tx: ControlTransaction) => record(tx, changed);
        await recordRelationChange(request, project.id, { action: 'changed', relation, beside });
        return changed;
      });
      sendMark(reply, markOfWire(answer));
      return answer as never;
    },
  );

  server.delete(
    path,
    {
      config,
      schema: {
        ...schema,
        summary: 'Delete a relation',
        headers: IfMatch,
        response: { 200: DoneAnswer, ...failures },
      },
    },
    async (request) => {
      const project = await getProject(request, request.params.id);
      const expected = readIfMatch(request);
      return answerOnce(request, async (record) => {
        const relation = await relations.get(project.id, request.params.relationId);
        await relations.remove(project.id, { id: relation.id, expected });
        const beside = (tx: ControlTransaction) => record(tx, done);
        await recordRelationChange(request, project.id, { action: 'deleted', relation, beside });
        return done;
      });
    },
  );
}

/** Of an answer, which may be one that was kept (§7.5): the definition is what the service did not add. */
function markOfWire({ id, state, misconfigured, createdAt, updatedAt, ...answer }: AnsweredRelation): string {
  const { problem, ...definition } = answer;
  return markOfRelation({ definition });
}

type AnsweredRelation = ReturnType<typeof toWireRelation>;

function serveQuestions(server: Server, { relations, getProject, countLook }: RelationRouteParts): void {
  const previewSchema = {
    tags,
    summary: 'Try a definition on the catalog without storing it',
    description:
      'The whole catalog is read; above 10,000 sources a sample of them is searched, for a limited time: see endedEarly.',
    params: ProjectParams,
    body: SentRelation,
    response: { 200: Survey, ...failures },
  };
  const patient = { ...question, isPatient: true };
  server.post(`${PATH}/preview`, { config: patient, schema: previewSchema }, async (request, reply) => {
    const project = await getProject(request, request.params.id);
    const definition = checkDefinition(request.body as SentDefinition);
    countLook(request, reply);
    return answerSurvey(reply, (signal) => relations.tryDefinition(project.id, definition, signal));
  });

  const healthSchema = {
    tags,
    summary: 'How a relation does on the catalog',
    params: RelationParams,
    response: { 200: Survey, ...failures },
  };
  server.get(
    `${PATH}/:relationId/health`,
    { config: patient, schema: healthSchema },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      const { relationId } = request.params;
      countLook(request, reply);
      return answerSurvey(reply, (signal) => relations.survey(project.id, relationId, signal));
    },
  );

  const explainSchema = {
    tags,
    summary: 'Why a product is among the results of another, or is not',
    params: RelationParams,
    body: PairToExplain,
    response: { 200: Explanation, ...failures },
  };
  server.post(
    `${PATH}/:relationId/explain`,
    { config: question, schema: explainSchema },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      const wanted = { projectId: project.id, id: request.params.relationId, ...request.body };
      return whileCallerWaits(reply, (signal) => relations.explain(wanted, signal)) as never;
    },
  );
}

const answerSurvey = (reply: FastifyReply, look: (signal: AbortSignal) => Promise<object>): Promise<never> =>
  whileCallerWaits(reply, async (signal) => {
    const survey = await look(signal);
    return { misconfigured: 'problem' in survey, ...survey } as never;
  });
