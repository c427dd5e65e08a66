import type { Static } from 'typebox';
import { cutPage, ProjectParams } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  answerAs,
  inProject,
  type Routes,
  type Sent,
  type Server,
  serve,
  serveKind,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { markOf } from '../../storage/storage.ts';
import { createRecorder, type DefinitionRouteParts } from './change-record.ts';
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
  toWireSurvey,
  WireRelation,
} from './relation-schemas.ts';

const config = { guard: 'management', access: 'manage' } as const;
/**
 * Enough for 10,000 identifiers of 255 characters that are mostly escaped in JSON, or for a document of many
 * relations with tables.
 */
const takesDefinition = { ...config, maxBodyMib: 16 } as const;
/** The method is POST because the body is long. It changes nothing, so viewers may call it. */
const question = { ...config, role: 'viewer' } as const;
const patientQuestion = { ...question, isPatient: true } as const;
const PATH = '/management/projects/:id/relations';
const about = { config, tags: ['Relations'], params: ProjectParams };
const aboutOne = { ...about, params: RelationParams };

/** Source: docs/interface §12. */
export const relationRoutes =
  (parts: DefinitionRouteParts): Routes =>
  (server) => {
    const kind = serveKind<Relation, ChosenProject>(server, {
      ...inProject,
      path: PATH,
      idName: 'relationId',
      tags: about.tags,
      answerOnce: parts.answerOnce,
      answer: answerAs(WireRelation, toWireRelation),
      markOf: markOfRelation,
      markOfAnswer: markOfWire,
    });
    const record = createRecorder<Relation>(parts, ({ id, definition }) => {
      return { type: 'relation', id, name: definition.name };
    });
    serveLists(kind, parts);
    serveCreation(kind, parts, record);
    serveExport(server, parts);
    serveImport(server, parts);
    serveRelation(kind, parts, record);
    servePreview(server, parts);
    serveHealth(server, parts);
    serveExplanation(server, parts);
  };

type RelationKind = ReturnType<typeof serveKind<Relation, ChosenProject>>;
type Recorder = ReturnType<typeof createRecorder<Relation>>;

function serveLists(kind: RelationKind, { relations }: DefinitionRouteParts): void {
  kind.list({
    summary: 'List the relations of a project, by id',
    query: RelationListQuery,
    page: RelationPage,
    async list({ id: projectId }, query) {
      const isListedHere = ({ definition, state }: Relation) =>
        (query.tag ?? definition.tag) === definition.tag && (query.state ?? state) === state;
      const listed = (await relations.list(projectId)).filter(isListedHere);
      const { page, nextCursor } = cutPage(listed, query, ({ id }) => id);
      return { items: page, nextCursor };
    },
  });
}

function serveCreation(kind: RelationKind, { relations }: DefinitionRouteParts, record: Recorder): void {
  kind.create({
    summary: 'Create a relation; its index is made by a task',
    description: 'A definition that cannot work is also stored, with the state misconfigured and the reason.',
    body: SentRelation,
    config: takesDefinition,
    async create(change, sent) {
      return record(change, 'created', await relations.create(change.place, checkDefinition(sent)));
    },
  });
}

function serveExport(server: Server, { relations }: DefinitionRouteParts): void {
  serve(server, `GET ${PATH}/export`, {
    ...about,
    summary: 'Export all relations of a project as one document',
    answer: { 200: RelationDocument },
    async handle({ project }) {
      const listed = await relations.list(project.id);
      const tables = await relations.tables.listUsed(project.id, listed);
      return {
        relations: listed.map(({ id, definition }) => ({ id, ...definition })),
        ...(tables.length > 0 && { tables }),
      };
    },
  });
}

function serveImport(
  server: Server,
  { relations, projects, database, answerOnce }: DefinitionRouteParts,
): void {
  serve(server, `POST ${PATH}/import`, {
    ...about,
    config: { ...takesDefinition, isOnce: true },
    summary: 'Replace all relations of a project by those of a document',
    description:
      'Relations are recognised by their ids first, then by name and tag. Other relations of the document are created, and relations that it does not have are deleted. Tables of the document are created or replaced, and other tables stay.',
    body: RelationDocument,
    answer: { 200: RelationPage },
    async handle(request) {
      const { caller: author, project, body } = request;
      const sent = body.relations.map((relation, index) => ({
        id: relation.id,
        definition: checkDefinition(relation, `/relations/${index}`),
      }));
      return answerOnce(request, async (record) => {
        for (const table of body.tables ?? []) await relations.tables.put(project, table);
        const items = (await relations.importAll(project, sent)).map(toWireRelation);
        const answer = { items, nextCursor: null };
        const subject = { type: 'project', id: project.id };
        await database.write('all', async (tx) => {
          const change = { author, projectId: project.id, action: 'relation.imported', subject };
          await projects.recordChange(change, tx);
          await record(tx, answer);
        });
        return answer;
      });
    },
  });
}

/** Routes that read, replace and delete one relation. */
function serveRelation(kind: RelationKind, { relations }: DefinitionRouteParts, record: Recorder): void {
  kind.read({
    summary: 'Read a relation; the ETag is for If-Match',
    get: (project, id) => relations.get(project.id, id),
  });
  kind.change({
    method: 'PUT',
    body: SentRelation,
    config: takesDefinition,
    summary: 'Replace a relation; it gives its old answers until its new index is complete',
    async change(change, chosen, sent) {
      const definition = checkDefinition(sent);
      return record(change, 'changed', await relations.replace(change.place, { ...chosen, definition }));
    },
  });
  kind.remove({
    summary: 'Delete a relation',
    async remove(change, chosen) {
      const relation = await relations.get(change.place.id, chosen.id);
      await relations.remove(change.place.id, chosen);
      await record(change, 'deleted', relation);
    },
  });
}

function servePreview(server: Server, { relations, limitScans }: DefinitionRouteParts): void {
  serve(server, `POST ${PATH}/preview`, {
    ...about,
    config: { ...patientQuestion, ...takesDefinition },
    summary: 'Try a definition on the catalog without storing it',
    description:
      'The preview reads the whole catalog. A relation of links is tried with the stored links of the relation whose id it has. If there are more than 10,000 sources, only a sample is searched. The search time is limited; see endedEarly.',
    query: PreviewQuery,
    body: SentRelation,
    answer: { 200: Survey },
    async handle(request, reply) {
      const { project, body, query } = request;
      const definition = checkDefinition(body);
      limitScans(request, reply);
      const { cards: hasCards, locale } = query;
      const tried = { projectId: project.id, definition, id: body.id, hasCards, locale };
      return whileCallerWaits(reply, async (signal) =>
        toWireSurvey(await relations.tryDefinition(tried, signal)),
      );
    },
  });
}

function serveHealth(server: Server, { relations, limitScans }: DefinitionRouteParts): void {
  serve(server, `GET ${PATH}/:relationId/health`, {
    ...aboutOne,
    config: patientQuestion,
    summary: 'Survey the results of a relation on the catalog',
    answer: { 200: Survey },
    async handle(request, reply) {
      const { project, params } = request;
      limitScans(request, reply);
      return whileCallerWaits(reply, async (signal) =>
        toWireSurvey(await relations.survey(project.id, params.relationId, signal)),
      );
    },
  });
}

function serveExplanation(server: Server, { relations }: DefinitionRouteParts): void {
  serve(server, `POST ${PATH}/:relationId/explain`, {
    ...aboutOne,
    config: question,
    summary: 'Explain why a product is, or is not, among the results of another',
    body: PairToExplain,
    answer: { 200: Explanation },
    async handle({ project, params, body }, reply) {
      const pair = { projectId: project.id, id: params.relationId, ...body };
      return whileCallerWaits(reply, (signal) => relations.explain(pair, signal));
    },
  });
}

function toWireRelation({ id, definition, state, problem, createdAt, updatedAt }: Relation) {
  return {
    id,
    ...definition,
    state,
    misconfigured: state === 'misconfigured',
    ...(problem !== undefined && { problem }),
    createdAt,
    updatedAt,
  };
}

/**
 * @returns the mark of an answer, which may be a stored one (§7.5). The mark is computed without the members
 * that the service adds.
 */
function markOfWire(answer: Sent<Static<typeof WireRelation>>): string {
  const { id, state, misconfigured, problem, createdAt, updatedAt, ...definition } = answer;
  return markOf(definition);
}
