import { DoneAnswer, done, ProjectQuery } from '../../http/answers/answers.ts';
import {
  answerAs,
  inReach,
  type Routes,
  type RouteTools,
  serve,
  serveKind,
} from '../../http/server/server.ts';
import type { Projects, Reach } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { ApiKey } from './api-key.ts';
import * as schemas from './api-key-schemas.ts';

interface ApiKeyRouteParts extends Pick<RouteTools, 'answerOnce'> {
  readonly access: Access;
  readonly projects: Pick<Projects, 'chooseProject'>;
}

const onlyOnce =
  'The value stands in this answer and never again; a repetition by `Idempotency-Key` has no `key`.';

/** Source: docs/interface.md §4.1 rule 3, §5.2 and §14.2. */
export const apiKeyRoutes =
  ({ access, projects, answerOnce }: ApiKeyRouteParts): Routes =>
  (server) => {
    serve(server, 'GET /project/check-credentials', {
      config: { guard: 'key' },
      tags: ['Projects'],
      summary: 'Check whether a key reaches a project',
      ...{ query: ProjectQuery, answer: { 200: DoneAnswer } },
      async handle({ caller, query }) {
        const { scope } = caller;
        const projectId = query.projectId ?? (scope.type === 'project' ? scope.id : undefined);
        if (projectId !== undefined) await projects.chooseProject(caller, projectId);
        return done;
      },
    });

    const keys = serveKind<ApiKey, Reach>(server, {
      ...{ ...inReach, path: '/management/api-keys', tags: ['Management'], answerOnce },
      answer: answerAs(schemas.WireApiKey, schemas.toWireKey),
    });
    const made = answerAs(schemas.WireMadeKey, schemas.toWireMadeKey);
    keys.list({ summary: 'List API keys', list: access.listKeys });
    keys.create({
      summary: 'Create an API key',
      description: `A key creates keys of its own scope or below, with no more access, no higher rate limit and no later end than its own. ${onlyOnce}`,
      ...{ body: schemas.NewApiKey, made },
      create: ({ author, beside }, sent) => access.createKey(author, sent, beside),
    });
    keys.read({ summary: 'Read an API key', get: access.getKey });
    keys.change({
      ...{ method: 'PATCH', summary: 'Change an API key', body: schemas.ApiKeyChange },
      change: ({ author, beside }, { id }, sent) => access.changeKey(author, { ...sent, id }, beside),
    });
    keys.remove({
      ...{ summary: 'Delete an API key', description: 'It is refused from the answer on.' },
      remove: ({ author, beside }, { id }) => access.deleteKey(author, id, beside),
    });
    keys.change({
      ...{ method: 'POST', below: '/rotate', summary: 'Rotate an API key' },
      description: `Makes a new key with the same properties; the old one ends after the overlap. ${onlyOnce}`,
      ...{ body: schemas.KeyRotation, made },
      change: ({ author, beside }, { id }, { overlapSeconds = 0 }) =>
        access.rotateKey(author, { id, overlapSeconds }, beside),
    });
  };
