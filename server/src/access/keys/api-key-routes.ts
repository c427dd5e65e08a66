import type { FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  DoneAnswer,
  done,
  ListQuery,
  ProjectQuery,
  type Routes,
  type Server,
  serve,
  serveOnce,
} from '../../http/http.ts';
import type { Beside, Projects } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { ApiKey } from './api-key.ts';
import {
  ApiKeyChange,
  ApiKeyPage,
  KeyParams,
  KeyRotation,
  NewApiKey,
  toWireKey,
  toWireMadeKey,
  WireApiKey,
  WireMadeKey,
} from './api-key-schemas.ts';

export interface ApiKeyRouteParts {
  readonly access: Access;
  readonly projects: Pick<Projects, 'chooseProject'>;
  readonly answerOnce: AnswerOnce;
}

const config = { guard: 'management', access: 'manage' } as const;
const tags = ['Management'];
const onlyOnce =
  'The value stands in this answer and never again; a repetition by `Idempotency-Key` has no `key`.';

/** Source: docs/interface.md §4.1 rule 3, §5.2 and §14.2. */
export const apiKeyRoutes =
  (parts: ApiKeyRouteParts): Routes =>
  (server) => {
    serveCheckCredentials(server, parts);
    serveKeys(server, parts);
    serveKey(server, parts);
    serveRotation(server, parts);
  };

function serveCheckCredentials(server: Server, { projects }: ApiKeyRouteParts): void {
  const endpoint = {
    method: 'GET',
    path: '/project/check-credentials',
    config: { guard: 'key' },
    tags: ['Projects'],
    summary: 'Check whether a key reaches a project',
    ...{ query: ProjectQuery, answer: { 200: DoneAnswer } },
  } as const;
  // Without a project only the key is checked: this endpoint answers success or 401, never 400.
  serve(server, endpoint, async ({ caller, query }) => {
    const { scope } = caller;
    const projectId = query.projectId ?? (scope.type === 'project' ? scope.id : undefined);
    if (projectId !== undefined) await projects.chooseProject(caller, projectId);
    return done;
  });
}

function serveKeys(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const about = { path: '/management/api-keys', config, tags };
  const list = {
    ...about,
    method: 'GET',
    summary: 'List API keys',
    ...{ query: ListQuery, answer: { 200: ApiKeyPage } },
  } as const;
  serve(server, list, async ({ caller, query }) => {
    const { items, nextCursor } = await access.listKeys(caller, query);
    return { items: items.map(toWireKey), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    summary: 'Create an API key',
    description: `A key creates keys of its own scope or below, with no more access, no higher rate limit and no later end than its own. ${onlyOnce}`,
    ...{ body: NewApiKey, answer: { 201: WireMadeKey }, answerOnce },
  } as const;
  serveOnce(server, create, ({ caller, body }, once) =>
    once(async (record) => {
      // The answer kept for an idempotency key is stored, and values of keys must not be.
      const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
      return toWireMadeKey(await access.createKey(caller, body, beside));
    }),
  );
}

function serveKey(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const about = {
    ...{ path: '/management/api-keys/:id', config, tags, params: KeyParams },
    answer: { 200: WireApiKey },
  };
  const read = { ...about, method: 'GET', summary: 'Read an API key' } as const;
  serve(server, read, async ({ caller, params }) => toWireKey(await access.getKey(caller, params.id)));

  const change = {
    ...about,
    method: 'PATCH',
    ...{ summary: 'Change an API key', body: ApiKeyChange, answerOnce },
  } as const;
  serveOnce(server, change, ({ caller, params, body }, once) =>
    once(async (record) => {
      const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
      return toWireKey(await access.changeKey(caller, { ...body, id: params.id }, beside));
    }),
  );

  const remove = {
    ...about,
    method: 'DELETE',
    summary: 'Delete an API key',
    description: 'It is refused from the answer on.',
    ...{ answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, ({ caller, params }, once) =>
    once(async (record) => {
      await access.deleteKey(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveRotation(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const endpoint = {
    method: 'POST',
    path: '/management/api-keys/:id/rotate',
    ...{ config, tags },
    summary: 'Rotate an API key',
    description: `Makes a new key with the same properties; the old one ends after the overlap. ${onlyOnce}`,
    ...{ params: KeyParams, body: KeyRotation, answer: { 200: WireMadeKey }, answerOnce },
    hooks: {
      // Without a body the overlap is 0.
      preValidation: async (request: FastifyRequest) => {
        request.body ??= {};
      },
    },
  } as const;
  serveOnce(server, endpoint, ({ caller, params, body }, once) =>
    once(async (record) => {
      const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
      const rotation = { id: params.id, overlapSeconds: body.overlapSeconds ?? 0 };
      return toWireMadeKey(await access.rotateKey(caller, rotation, beside));
    }),
  );
}
