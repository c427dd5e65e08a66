import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  type CountLook,
  ErrorAnswer,
  IfMatch,
  ListQuery,
  ProjectParams,
  type RecordAnswer,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
  whileCallerWaits,
} from '../../http/http.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Database } from '../../storage/storage.ts';
import type { Relations } from '../relations.ts';
import { checkDefinition, type SentDefinition } from './definition-check.ts';
import { markOfRelation, type Relation } from './relation.ts';
import {
  DoneAnswer,
  Explanation,
  PairToExplain,
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
  readonly countLook: CountLook;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
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

function serveCollection(server: Server, parts: RelationRouteParts): void {
  const { relations, answerOnce } = parts;
  const listSchema = {
    tags,
    summary: 'List the relations of a project, all on one page',
    params: ProjectParams,
    querystring: ListQuery,
    response: { 200: RelationPage, ...failures },
  };
  server.get(PATH, { config, schema: listSchema }, async (request) => {
    const { project } = request;
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
    const { project } = request;
    const definition = checkDefinition(request.body as SentDefinition);
    const answer = await answerOnce(request, async (record) => {
      const relation = await relations.create(project, definition);
      const created = toWireRelation(relation);
      await recordChange(parts, request, { action: 'created', relation, record, answer: created });
      return created;
    });
    sendMark(reply, markOfWire(answer));
    return reply.code(201).send(answer as never);
  });
}

function serveExchange(server: Server, parts: RelationRouteParts): void {
  const { relations, answerOnce } = parts;
  const exportSchema = {
    tags,
    summary: 'Export all relations of a project as one document',
    params: ProjectParams,
    response: { 200: RelationDocument, ...failures },
  };
  server.get(`${PATH}/export`, { config, schema: exportSchema }, async (request) => {
    const { project } = request;
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
    const { project } = request;
    const sent = request.body.relations.map((one, at) => ({
      id: one.id,
      definition: checkDefinition(one as SentDefinition, `/relations/${at}`),
    }));
    return answerOnce(request, async (record) => {
      const items = (await relations.importAll(project, sent)).map(toWireRelation);
      const imported = { items, nextCursor: null };
      await recordChange(parts, request, { action: 'imported', record, answer: imported });
      return imported;
    }) as never;
  });
}

function serveRelation(server: Server, parts: RelationRouteParts): void {
  const { relations, answerOnce } = parts;
  const path = `${PATH}/:relationId`;
  const schema = { tags, params: RelationParams, response: { 200: WireRelation, ...failures } };
  const readSchema = { ...schema, summary: 'Read a relation; the ETag is for If-Match' };
  server.get(path, { config, schema: readSchema }, async (request, reply) => {
    const { project } = request;
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
      const { project } = request;
      const definition = checkDefinition(request.body as SentDefinition);
      const replaced = { id: request.params.relationId, expected: readIfMatch(request), definition };
      const answer = await answerOnce(request, async (record) => {
        const relation = await relations.replace(project, replaced);
        const changed = toWireRelation(relation);
        await recordChange(parts, request, { action: 'changed', relation, record, answer: changed });
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
      const { project } = request;
      const expected = readIfMatch(request);
      return answerOnce(request, async (record) => {
        const relation = await relations.get(project.id, request.params.relationId);
        await relations.remove(project.id, { id: relation.id, expected });
        await recordChange(parts, request, { action: 'deleted', relation, record, answer: done });
        return done;
      });
    },
  );
}

interface RecordedChange {
  readonly action: 'created' | 'changed' | 'deleted' | 'imported';
  readonly relation?: Pick<Relation, 'id' | 'definition'>;
  readonly record: RecordAnswer;
  readonly answer: object;
}

/** Writes the entry of the audit log and the answer beside it (§7.5). */
function recordChange(
  { projects, database }: RelationRouteParts,
  { caller: author, project: { id: projectId } }: FastifyRequest,
  { action, relation, record, answer }: RecordedChange,
): Promise<void> {
  const subject = relation
    ? { type: 'relation', id: relation.id, name: relation.definition.name }
    : { type: 'project', id: projectId };
  return database.write(async (tx) => {
    await projects.recordChange({ author, projectId, action: `relation.${action}`, subject }, tx);
    await record(tx, answer);
  });
}

/** Of an answer, which may be one that was kept (§7.5): the definition is what the service did not add. */
function markOfWire({ id, state, misconfigured, createdAt, updatedAt, ...answer }: AnsweredRelation): string {
  const { problem, ...definition } = answer;
  return markOfRelation({ definition });
}

type AnsweredRelation = ReturnType<typeof toWireRelation>;

function serveQuestions(server: Server, { relations, countLook }: RelationRouteParts): void {
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
    const { project } = request;
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
      const { project } = request;
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
      const { project } = request;
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
