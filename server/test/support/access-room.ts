import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createAccess } from '../../src/access/access.ts';
import { apiKeyRoutes } from '../../src/access/keys/api-key-routes.ts';
import type { NewKey } from '../../src/access/keys/keys.ts';
import { createAnswerOnce } from '../../src/http/answers/answers.ts';
import { createServer } from '../../src/http/server/server.ts';
import type { Scope } from '../../src/kernel/caller.ts';
import { asWriter, commandAuthor, createProjects } from '../../src/projects/projects.ts';
import { makeTestStore } from './test-store.ts';

export const FIRST_KEY = 'a-first-key-that-is-long-enough-to-use';
/** The message for a key without access to a call. */
export const REFUSED = 'You are not allowed to access the requested resource';
/** The route that every key may call. */
export const CHECK = 'GET /project/check-credentials';

/** The fields of all answers. */
interface AnswerBody {
  id: number;
  name: string;
  key?: string;
  message: string;
  details?: string[];
  lastUsedAt: number | null;
  usedInUrlAt: number | null;
  expiresAt: number | null;
  access: unknown;
  rateLimit: unknown;
  items: { id: number; name: string; actor?: { name: string }; action?: string; lastUsedAt: number | null }[];
  nextCursor: string | null;
}

interface Call {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A service with the account Main and its first key. It has two project groups, with two projects and one project. */
export async function startRoom(context: TestContext) {
  const store = await makeTestStore();
  const storage = await store.open();
  const { database, postgres } = storage;
  const clock = { time: 1_767_225_600_000, now: () => clock.time };
  const logged: string[] = [];
  const projects = createProjects({ database, clock });
  const access = createAccess({ database, postgres, clock, projects });
  const server = createServer(
    {
      logLevel: 'debug',
      logTo: { write: (line) => void logged.push(line) },
      trustedProxies: [],
      corsOrigins: [],
      bodyBudgetMib: 16,
    },
    {
      findCaller: access.findCaller,
      findUser: access.findUser,
      countRequest: access.countRequest,
      chooseProject: projects.chooseProject,
      choosePathProject: projects.choosePathProject,
    },
  );
  apiKeyRoutes({ access, projects, answerOnce: createAnswerOnce(database, clock) })(server);
  await server.listen({ port: 0, host: '127.0.0.1' });
  context.after(async () => {
    await server.close();
    await access.close();
    await storage.close();
    await store.remove();
  });
  const { port } = server.server.address() as AddressInfo;

  async function call(line: string, { key, headers = {}, body }: Call = {}) {
    const [method = 'GET', path = '/'] = line.split(' ');
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as AnswerBody,
    };
  }

  await access.createFirstAccount(FIRST_KEY);
  const author = commandAuthor(1, 'test');
  const tools = (await projects.createGroup(asWriter(author), { name: 'Tools' })).id;
  const garden = (await projects.createGroup(asWriter(author), { name: 'Garden' })).id;
  const create = async (name: string, projectGroupId: number) =>
    (await projects.createProject(asWriter(author), { name, projectGroupId, locale: 'de-DE' })).id;
  const ids = { tools, garden, drills: await create('Drills', tools), hoses: await create('Hoses', garden) };
  const make = async (scope: Scope, more: Partial<NewKey> = {}) =>
    access.createKey(asWriter(author), { name: `${scope.type} key`, scope, ...more });
  return { ...ids, store, database, clock, logged, projects, access, author, call, make };
}
