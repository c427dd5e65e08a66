import {
  type AnswerOnce,
  DoneAnswer,
  done,
  type Routes,
  type Server,
  serve,
  serveOnce,
} from '../../http/http.ts';
import type { Access } from '../access.ts';
import { originOf } from './console-links.ts';
import {
  NewPasskey,
  PasskeyList,
  PasskeyOptions,
  toOptions,
  toWirePasskey,
  WirePasskey,
} from './passkey-schemas.ts';
import { userOf } from './user.ts';
import { UserParams } from './user-schemas.ts';

export interface PasskeyRouteParts {
  readonly access: Access;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
  readonly answerOnce: AnswerOnce;
}

/** For every role. */
const own = { guard: 'session', role: 'viewer' } as const;
const tags = ['Sign in'];

/** Source: docs/interface.md §5.8. */
export const passkeyRoutes =
  (parts: PasskeyRouteParts): Routes =>
  (server) => {
    serveOwnPasskeys(server, parts);
    serveRemoval(server, parts);
  };

function serveOwnPasskeys(server: Server, parts: PasskeyRouteParts): void {
  const { access, findBaseUrl } = parts;
  const about = { config: own, tags, path: '/management/session/passkeys' } as const;
  const list = {
    ...about,
    method: 'GET',
    ...{ summary: 'List your own passkeys', answer: { 200: PasskeyList } },
  } as const;
  serve(server, list, async ({ caller }) => ({
    items: (await access.listPasskeys(userOf(caller))).map(toWirePasskey),
  }));

  const begin = {
    ...about,
    method: 'POST',
    path: '/management/session/passkeys/start',
    ...{ summary: 'Begin to add a passkey', answer: { 200: PasskeyOptions } },
  } as const;
  serve(server, begin, async (request) => {
    const user = userOf(request.caller);
    const wish = await access.beginPasskey(user, originOf(request.headers, findBaseUrl()));
    return toOptions(wish, { id: user.userId, name: user.userName });
  });

  const add = {
    ...about,
    method: 'POST',
    ...{ summary: 'Add the passkey that the browser made', body: NewPasskey, answer: { 201: WirePasskey } },
  } as const;
  serve(server, add, async (request) => {
    const origin = originOf(request.headers, findBaseUrl());
    return toWirePasskey(await access.addPasskey(userOf(request.caller), request.body, origin));
  });

  const remove = {
    ...about,
    method: 'DELETE',
    path: '/management/session/passkeys/:id',
    ...{ summary: 'Remove one of your own passkeys', params: UserParams, answer: { 200: DoneAnswer } },
  } as const;
  serve(server, remove, async ({ caller, params }) => {
    await access.removePasskey(userOf(caller), params.id);
    return done;
  });
}

function serveRemoval(server: Server, { access, answerOnce }: PasskeyRouteParts): void {
  const endpoint = {
    method: 'DELETE',
    path: '/management/users/:id/passkeys',
    config: { guard: 'management', access: 'manage', role: 'owner' },
    ...{ tags: ['Users'], summary: 'Remove the passkeys of a user who lost them' },
    ...{ params: UserParams, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, ({ caller, params }, once) =>
    once(async (record) => {
      await access.removePasskeysOf(caller, params.id, (tx) => record(tx, done));
      return done;
    }),
  );
}
