import {
  type AnswerOnce,
  ErrorAnswer,
  ListQuery,
  ProjectQuery,
  type Routes,
  type Server,
} from '../../http/http.ts';
import type { Beside, Projects } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { ApiKey } from './api-key.ts';
import {
  ApiKeyChange,
  ApiKeyPage,
  DoneAnswer,
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

const management = { guard: 'management', access: 'manage' } as const;
const failures = { '4xx': ErrorAnswer };
const done = { status: 'success' } as const;
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
  const schema = {
    tags: ['Projects'],
    summary: 'Check whether a key reaches a project',
    querystring: ProjectQuery,
    response: { 200: DoneAnswer, ...failures },
  };
  // Without a project only the key is checked: this endpoint answers success or 401, never 400.
  server.get('/project/check-credentials', { config: { guard: 'key' }, schema }, async (request) => {
    const { scope } = request.caller;
    const projectId = request.query.projectId ?? (scope.type === 'project' ? scope.id : undefined);
    if (projectId !== undefined) await projects.chooseProject(request.caller, projectId);
    return done;
  });
}

function serveKeys(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const listSchema = {
    tags: ['Management'],
    summary: 'List API keys',
    querystring: ListQuery,
    response: { 200: ApiKeyPage, ...failures },
  };
  server.get('/management/api-keys', { config: management, schema: listSchema }, async (request) => {
    const { items, nextCursor } = await access.listKeys(request.caller, request.query);
    return { items: items.map(toWireKey), nextCursor };
  });

  const createSchema = {
    tags: ['Management'],
    summary: 'Create an API key',
    description: `A key creates keys of its own scope or below, with no more access, no higher rate limit and no later end than its own. ${onlyOnce}`,
    body: NewApiKey,
    response: { 201: WireMadeKey, ...failures },
  };
  server.post(
    '/management/api-keys',
    { config: management, schema: createSchema },
    async (request, reply) => {
      const answer = await answerOnce(request, async (record) => {
        // The answer kept for an idempotency key is stored, and values of keys must not be.
        const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
        return toWireMadeKey(await access.createKey(request.caller, request.body, beside));
      });
      return reply.code(201).send(answer);
    },
  );
}

function serveKey(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const path = '/management/api-keys/:id';
  const about = { tags: ['Management'], params: KeyParams };

  const readSchema = { ...about, summary: 'Read an API key', response: { 200: WireApiKey, ...failures } };
  server.get(path, { config: management, schema: readSchema }, async (request) =>
    toWireKey(await access.getKey(request.caller, request.params.id)),
  );

  const changeSchema = {
    ...about,
    summary: 'Change an API key',
    body: ApiKeyChange,
    response: { 200: WireApiKey, ...failures },
  };
  server.patch(path, { config: management, schema: changeSchema }, async (request) =>
    answerOnce(request, async (record) => {
      const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
      const change = { ...request.body, id: request.params.id };
      return toWireKey(await access.changeKey(request.caller, change, beside));
    }),
  );

  const deleteSchema = {
    ...about,
    summary: 'Delete an API key',
    description: 'It is refused from the answer on.',
    response: { 200: DoneAnswer, ...failures },
  };
  server.delete(path, { config: management, schema: deleteSchema }, async (request) =>
    answerOnce(request, async (record) => {
      await access.deleteKey(request.caller, request.params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}

function serveRotation(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const schema = {
    tags: ['Management'],
    summary: 'Rotate an API key',
    description: `Makes a new key with the same properties; the old one ends after the overlap. ${onlyOnce}`,
    params: KeyParams,
    body: KeyRotation,
    response: { 200: WireMadeKey, ...failures },
  };
  server.post(
    '/management/api-keys/:id/rotate',
    {
      config: management,
      schema,
      // Without a body the overlap is 0.
      preValidation: async (request) => {
        request.body ??= {};
      },
    },
    async (request) =>
      answerOnce(request, async (record) => {
        const beside: Beside<ApiKey> = (tx, key) => record(tx, toWireKey(key));
        const rotation = { id: request.params.id, overlapSeconds: request.body.overlapSeconds ?? 0 };
        return toWireMadeKey(await access.rotateKey(request.caller, rotation, beside));
      }),
  );
}
