import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { DoneAnswer, ProjectParams, successAnswer } from '../http/answers/answers.ts';
import { type Routes, type RouteTools, type Sent, serve, serveOnce } from '../http/server/server.ts';
import type { Projects } from '../projects/projects.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import { type Suggestion, SuggestionList, SuggestionParams, SuggestionQuery } from './suggestion-schemas.ts';
import type { Suggestions } from './suggestions.ts';

interface SuggestionRouteParts extends RouteTools {
  readonly suggestions: Suggestions;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Suggestions'];
const PATH = '/management/projects/:id/suggestions';

/** Source: docs/interface §17. */
export const suggestionRoutes =
  ({ suggestions, answerOnce, limitScans, projects }: SuggestionRouteParts): Routes =>
  (server) => {
    serve(server, `GET ${PATH}`, {
      config: { ...config, isPatient: true },
      tags,
      params: ProjectParams,
      query: SuggestionQuery,
      answer: { 200: SuggestionList },
      summary: 'List suggestions from the data: relations, types of attributes, duplicates',
      description:
        'No suggestion is applied by itself. The first call after a change of the catalog or the ontology takes some seconds, because it counts.',
      async handle(request, reply) {
        limitScans(request, reply);
        const { items, ...looked } = await suggestions.list(request.project.id);
        const { kind, dismissed = false } = request.query;
        const chosen = items.filter(
          (suggestion) => suggestion.dismissed === dismissed && (kind ?? suggestion.kind) === suggestion.kind,
        );
        // A cast, because each kind has its own schema and TypeScript cannot express that `filter` keeps the
        // kinds.
        return { ...looked, items: chosen } as unknown as Sent<Static<typeof SuggestionList>>;
      },
    });
    const dismissal = { config, tags, params: SuggestionParams, answer: { 200: DoneAnswer }, answerOnce };
    const note = (
      { caller: author, params, project }: FastifyRequest & { params: Static<typeof SuggestionParams> },
      { tx, action, name }: NotedChange,
    ) => {
      const subject = { type: 'suggestion', id: params.suggestionId, ...(name !== undefined && { name }) };
      const change = { author, projectId: project.id, action: `suggestion.${action}`, subject };
      return projects.recordChange(change, tx);
    };

    serveOnce(server, `PUT ${PATH}/:suggestionId/dismissal`, {
      ...dismissal,
      summary: 'Dismiss a suggestion permanently',
      async handle(request, record) {
        const { suggestionId } = request.params;
        await suggestions.dismiss({ projectId: request.project.id, suggestionId }, async (tx, dismissed) => {
          if (dismissed !== undefined)
            await note(request, { action: 'dismissed', tx, name: nameOf(dismissed) });
          await record(tx, successAnswer);
        });
        return successAnswer;
      },
    });

    serveOnce(server, `DELETE ${PATH}/:suggestionId/dismissal`, {
      ...dismissal,
      summary: 'Undo the dismissal of a suggestion',
      async handle(request, record) {
        const { suggestionId } = request.params;
        await suggestions.restore({ projectId: request.project.id, suggestionId }, async (tx) => {
          await note(request, { action: 'restored', tx });
          await record(tx, successAnswer);
        });
        return successAnswer;
      },
    });
  };

interface NotedChange {
  readonly tx: ControlTransaction;
  readonly action: 'dismissed' | 'restored';
  /** The name of the suggested relation or attribute. */
  readonly name?: string;
}

const nameOf = ({ draft }: Suggestion) => ('attribute' in draft ? draft.attribute.name : draft.name);
