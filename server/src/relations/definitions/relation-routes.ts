import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import {
  type AnswerOnce,
  type CountLook,
  cutPage,
  DoneAnswer,
  done,
  IfMatch,
  ProjectParams,
  type Routes,
  readIfMatch,
  type Sent,
  type Server,
  sendMark,
  serve,
  serveOnce,
  whileCallerWaits,
} from '../../http/http.ts';
import type { Projects } from '../../projects/projects.ts';
import { type ControlTransaction, type Database, markOf } from '../../storage/storage.ts';
import type { Relations } from '../relations.ts';
import { checkDefinition } from './definition-check.ts';
import { markOfRelation, type Relation } from './relation.ts';
import {
  Explanation,
  PairToExplain,
  PreviewQuery,
  RelationDocument,
  RelationListQuery,
  RelationPage,
  RelationParams,
  SentRelation,
  Survey,
  toWireRelation,
  toWireSurvey,
  WireRelation,
} from './relation-schemas.ts';

export interface RelationRouteParts {
  readonly relations: Relations;
  readonly answerOnce: AnswerOnce;
  readonly countLook: CountLook;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
}

const config = { guard: 'management', access: 'manage' } as const;
/** 10,000 identifiers of 255 characters, most of which JSON may escape; and a document of many relations. */
const takesDefinition = { ...config, maxBodyMib: 16 } as const;
/** Asked by POST, because it is long; nothing is changed. */
const question = { ...config, role: 'viewer' } as const;
const PATH = '/management/projects/:id/relations';
const about = { config, tags: ['Relations'], params: ProjectParams };
const aboutOne = {
  ...{ ...about, path: `${PATH}/:relationId`, params: RelationParams },
  answer: { 200: WireRelation },
};

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
  const list = {
    ...about,
    method: 'GET',
    path: PATH,
    summary: 'List the relations of a project, by id',
    ...{ query: RelationListQuery, answer: { 200: RelationPage } },
  } as const;
  serve(server, list, async ({ project, query }) => {
    const all = (await relations.list(project.id)).map(toWireRelation);
    const isWanted = ({ tag, state }: (typeof all)[number]) =>
      (query.tag ?? tag) === tag && (query.state ?? state) === state;
    const { page, nextCursor } = cutPage(all.filter(isWanted), query, ({ id }) => id);
    return { items: page, nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    path: PATH,
    config: takesDefinition,
    summary: 'Create a relation; its index is made by a task',
    description:
      'A definition that cannot work is stored all the same, with the state misconfigured and the reason.',
    ...{ body: SentRelation, answer: { 201: WireRelation }, answerOnce },
  } as const;
  serveOnce(server, create, async (request, once, reply) => {
    const definition = checkDefinition(request.body);
    const answer = await once(async (record) => {
      const relation = await relations.create(request.project, definition);
      const created = toWireRelation(relation);
      await recordChange(parts, request, {
        action: 'created',
        relation,
        record: (tx) => record(tx, created),
      });
      return created;
    });
    sendMark(reply, markOfWire(answer));
    return answer;
  });
}

function serveExchange(server: Server, parts: RelationRouteParts): void {
  const { relations, answerOnce } = parts;
  const exported = {
    ...about,
    method: 'GET',
    path: `${PATH}/export`,
    summary: 'Export all relations of a project as one document',
    answer: { 200: RelationDocument },
  } as const;
  serve(server, exported, async ({ project }) => {
    const listed = await relations.list(project.id);
    return { relations: listed.map(({ id, definition }) => ({ id, ...definition })) };
  });

  const imported = {
    ...about,
    method: 'POST',
    path: `${PATH}/import`,
    config: takesDefinition,
    summary: 'Replace all relations of a project by those of a document',
    description:
      'Ids are matched first, then names with tags; other relations are made, those that are missing deleted.',
    ...{ body: RelationDocument, answer: { 200: RelationPage }, answerOnce },
  } as const;
  serveOnce(server, imported, async (request, once) => {
    const sent = request.body.relations.map((one, at) => ({
      id: one.id,
      definition: checkDefinition(one, `/relations/${at}`),
    }));
    return once(async (record) => {
      const items = (await relations.importAll(request.project, sent)).map(toWireRelation);
      const answer = { items, nextCursor: null };
      await recordChange(parts, request, { action: 'imported', record: (tx) => record(tx, answer) });
      return answer;
    });
  });
}

function serveRelation(server: Server, parts: RelationRouteParts): void {
  const { relations, answerOnce } = parts;
  const read = {
    ...aboutOne,
    method: 'GET',
    summary: 'Read a relation; the ETag is for If-Match',
  } as const;
  serve(server, read, async ({ project, params }, reply) => {
    const relation = await relations.get(project.id, params.relationId);
    sendMark(reply, markOfRelation(relation));
    return toWireRelation(relation);
  });

  const replace = {
    ...aboutOne,
    method: 'PUT',
    config: takesDefinition,
    summary: 'Replace a relation; the old answers stay until the new ones are complete',
    ...{ headers: IfMatch, body: SentRelation, answerOnce },
  } as const;
  serveOnce(server, replace, async (request, once, reply) => {
    const definition = checkDefinition(request.body);
    const replaced = { id: request.params.relationId, expected: readIfMatch(request), definition };
    const answer = await once(async (record) => {
      const relation = await relations.replace(request.project, replaced);
      const changed = toWireRelation(relation);
      await recordChange(parts, request, {
        action: 'changed',
        relation,
        record: (tx) => record(tx, changed),
      });
      return changed;
    });
    sendMark(reply, markOfWire(answer));
    return answer;
  });

  const remove = {
    ...aboutOne,
    method: 'DELETE',
    summary: 'Delete a relation',
    ...{ headers: IfMatch, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, async (request, once) => {
    const { project, params } = request;
    const expected = readIfMatch(request);
    return once(async (record) => {
      const relation = await relations.get(project.id, params.relationId);
      await relations.remove(project.id, { id: relation.id, expected });
      await recordChange(parts, request, { action: 'deleted', relation, record: (tx) => record(tx, done) });
      return done;
    });
  });
}

interface RecordedChange {
  readonly action: 'created' | 'changed' | 'deleted' | 'imported';
  readonly relation?: Pick<Relation, 'id' | 'definition'>;
  readonly record: (tx: ControlTransaction) => Promise<void>;
}

/** Writes the entry of the audit log and the answer beside it (§7.5). */
function recordChange(
  { projects, database }: RelationRouteParts,
  { caller: author, project: { id: projectId } }: FastifyRequest,
  { action, relation, record }: RecordedChange,
): Promise<void> {
  const subject = relation
    ? { type: 'relation', id: relation.id, name: relation.definition.name }
    : { type: 'project', id: projectId };
  return database.write(async (tx) => {
    await projects.recordChange({ author, projectId, action: `relation.${action}`, subject }, tx);
    await record(tx);
  });
}

/** Of an answer, which may be one that was kept (§7.5): the definition is what the service did not add. */
function markOfWire({
  id,
  state,
  misconfigured,
  problem,
  ...answer
}: Sent<Static<typeof WireRelation>>): string {
  const { createdAt, updatedAt, ...definition } = answer;
  return markOf(definition);
}

function serveQuestions(server: Server, { relations, countLook }: RelationRouteParts): void {
  const patient = { ...question, isPatient: true } as const;
  const preview = {
    ...about,
    method: 'POST',
    path: `${PATH}/preview`,
    config: { ...patient, ...takesDefinition },
    summary: 'Try a definition on the catalog without storing it',
    description:
      'The whole catalog is read; a relation of links is tried with the links of the relation with its id; above 10,000 sources a sample of them is searched, for a limited time: see endedEarly.',
    ...{ query: PreviewQuery, body: SentRelation, answer: { 200: Survey } },
  } as const;
  serve(server, preview, async (request, reply) => {
    const definition = checkDefinition(request.body);
    countLook(request, reply);
    return whileCallerWaits(reply, async (signal) =>
      toWireSurvey(
        await relations.tryDefinition(
          request.project.id,
          { definition, id: request.body.id, hasCards: request.query.cards },
          signal,
        ),
      ),
    );
  });

  const health = {
    ...aboutOne,
    method: 'GET',
    path: `${aboutOne.path}/health`,
    config: patient,
    ...{ summary: 'How a relation does on the catalog', answer: { 200: Survey } },
  } as const;
  serve(server, health, async (request, reply) => {
    const { project, params } = request;
    countLook(request, reply);
    return whileCallerWaits(reply, async (signal) =>
      toWireSurvey(await relations.survey(project.id, params.relationId, signal)),
    );
  });

  const explain = {
    ...aboutOne,
    method: 'POST',
    path: `${aboutOne.path}/explain`,
    config: question,
    summary: 'Why a product is among the results of another, or is not',
    ...{ body: PairToExplain, answer: { 200: Explanation } },
  } as const;
  serve(server, explain, async ({ project, params, body }, reply) => {
    const wanted = { projectId: project.id, id: params.relationId, ...body };
    return whileCallerWaits(reply, (signal) => relations.explain(wanted, signal));
  });
}
