import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import {
  type AnswerOnce,
  type CountLook,
  DoneAnswer,
  done,
  ProjectParams,
  type Routes,
  type Sent,
  type Server,
  serve,
  serveOnce,
} from '../http/http.ts';
import type { Projects } from '../projects/projects.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Suggestion } from './suggestion.ts';
import { SuggestionList, SuggestionParams, SuggestionQuery } from './suggestion-schemas.ts';
import type { Suggestions } from './suggestions.ts';

export interface SuggestionRouteParts {
  readonly suggestions: Suggestions;
  readonly answerOnce: AnswerOnce;
  readonly countLook: CountLook;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Suggestions'];
const PATH = '/management/projects/:id/suggestions';

/** Source: docs/interface.md §17. */
export const suggestionRoutes =
  (parts: SuggestionRouteParts): Routes =>
  (server) => {
    serveList(server, parts);
    serveDismissal(server, parts);
  };

function serveList(server: Server, { suggestions, countLook }: SuggestionRouteParts): void {
  const list = {
    method: 'GET',
    path: PATH,
    config: { ...config, isPatient: true },
    ...{ tags, params: ProjectParams, query: SuggestionQuery, answer: { 200: SuggestionList } },
    summary: 'What the data shows: relations, types of attributes, attributes that mean one',
    description:
      'Nothing is applied. The first call after a change of the catalog or the ontology counts, for some seconds.',
  } as const;
  serve(server, list, async (request, reply) => {
    countLook(request, reply);
    const { items, ...looked } = await suggestions.list(request.project.id);
    const { kind, dismissed = false } = request.query;
    const wanted = items.filter((one) => one.dismissed === dismissed && (kind ?? one.kind) === one.kind);
    return { ...looked, items: wanted } as unknown as Sent<Static<typeof SuggestionList>>;
  });
}

interface NotedChange {
  readonly tx: ControlTransaction;
  readonly action: 'dismissed' | 'restored';
  /** Of what was suggested. */
  readonly name?: string;
}

const nameOf = ({ draft }: Suggestion) => ('attribute' in draft ? draft.attribute.name : draft.name);

function serveDismissal(server: Server, { suggestions, answerOnce, projects }: SuggestionRouteParts): void {
  const about = {
    path: `${PATH}/:suggestionId/dismissal`,
    ...{ config, tags, params: SuggestionParams, answer: { 200: DoneAnswer }, answerOnce },
  };
  const note = (
    { caller: author, params, project }: FastifyRequest & { params: Static<typeof SuggestionParams> },
    { tx, action, name }: NotedChange,
  ) =>
    projects.recordChange(
      {
        ...{ author, projectId: project.id, action: `suggestion.${action}` },
        subject: { type: 'suggestion', id: params.suggestionId, ...(name !== undefined && { name }) },
      },
      tx,
    );

  const dismiss = { ...about, method: 'PUT', summary: 'Dismiss a suggestion for good' } as const;
  serveOnce(server, dismiss, (request, once) =>
    once(async (record) => {
      const { suggestionId } = request.params;
      await suggestions.dismiss({ projectId: request.project.id, suggestionId }, async (tx, dismissed) => {
        if (dismissed !== undefined)
          await note(request, { action: 'dismissed', tx, name: nameOf(dismissed) });
        await record(tx, done);
      });
      return done;
    }),
  );

  const restore = { ...about, method: 'DELETE', summary: 'Take the dismissal of a suggestion back' } as const;
  serveOnce(server, restore, (request, once) =>
    once(async (record) => {
      const { suggestionId } = request.params;
      await suggestions.restore({ projectId: request.project.id, suggestionId }, async (tx) => {
        await note(request, { action: 'restored', tx });
        await record(tx, done);
      });
      return done;
    }),
  );
}
