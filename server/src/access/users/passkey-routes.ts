import { Type } from 'typebox';
import { DoneAnswer, Instant, orNull, successAnswer, titled } from '../../http/answers/answers.ts';
import {
  fieldsOf,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveOnce,
} from '../../http/server/server.ts';
import { asWriter } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Access } from '../access.ts';
import { PasskeyOptions, toPasskeyOptions } from './passkey-option-schemas.ts';
import { NewPasskey } from './passkey-schemas.ts';
import { originOf, userOf } from './user.ts';
import { IdParams } from './user-schemas.ts';

const WirePasskey = titled('Passkey', {
  id: Type.Integer(),
  name: Type.String(),
  host: Type.String({ description: 'where it was added; browsers use it only there' }),
  createdAt: Instant,
  usedAt: orNull(Instant, 'the last sign-in with this passkey'),
});
const toWirePasskey = fieldsOf(WirePasskey);

interface PasskeyRouteParts extends RouteTools {
  readonly access: Access;
}

/** Source: docs/interface §5.8. */
export const passkeyRoutes =
  (parts: PasskeyRouteParts): Routes =>
  (server) => {
    serveOwnPasskeys(server, parts);
    serveLostPasskeys(server, parts);
  };

const own = { config: { guard: 'session', role: 'viewer' }, tags: ['Sign in'] } as const;

/** The passkeys of the user who is signed in. */
function serveOwnPasskeys(server: Server, { access, findBaseUrl }: PasskeyRouteParts): void {
  serve(server, 'GET /management/session/passkeys', {
    ...own,
    summary: 'List your own passkeys',
    answer: { 200: Type.Object({ items: Type.Array(WirePasskey) }) },
    handle: async ({ caller }) => ({
      items: (await access.listPasskeys(userOf(caller))).map(toWirePasskey),
    }),
  });

  serve(server, 'POST /management/session/passkeys/start', {
    ...own,
    summary: 'Start to add a passkey',
    answer: { 200: PasskeyOptions },
    async handle(request) {
      const user = userOf(request.caller);
      const begun = await access.beginPasskey(user, originOf(request.headers, findBaseUrl()));
      return toPasskeyOptions(begun, { id: user.userId, name: user.userName });
    },
  });

  serve(server, 'POST /management/session/passkeys', {
    ...own,
    body: NewPasskey,
    answer: { 201: WirePasskey },
    summary: 'Add the passkey that the browser created',
    handle: async ({ caller, body, headers }) =>
      toWirePasskey(await access.addPasskey(userOf(caller), body, originOf(headers, findBaseUrl()))),
  });

  serve(server, 'DELETE /management/session/passkeys/:id', {
    ...own,
    params: IdParams,
    answer: { 200: DoneAnswer },
    summary: 'Remove one of your own passkeys',
    async handle({ caller, params }) {
      await access.removePasskey(userOf(caller), params.id);
      return successAnswer;
    },
  });
}

/** Serves the removal of passkeys of a user who cannot sign in anymore. */
function serveLostPasskeys(server: Server, { access, answerOnce }: PasskeyRouteParts): void {
  serveOnce(server, 'DELETE /management/users/:id/passkeys', {
    config: { guard: 'management', access: 'manage', role: 'owner' },
    tags: ['Users'],
    summary: 'Remove the passkeys of a user who lost them',
    params: IdParams,
    answer: { 200: DoneAnswer },
    answerOnce,
    async handle({ caller, params }, record) {
      const writer = { ...asWriter(caller), beside: (tx: ControlTransaction) => record(tx, successAnswer) };
      await access.removePasskeysOf(writer, params);
      return successAnswer;
    },
  });
}
