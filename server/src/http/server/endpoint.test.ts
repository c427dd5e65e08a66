// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { AnswerOnce } from '../answers/answers.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer, serve, serveOnce, serveRaw } from './server.ts';

const Bike = Type.Object({ id: Type.Integer(), colours: Type.Array(Type.String()) });
/** An empty object suffices, because no code writes to it. */
const tx = {} as ControlTransaction;
const about = { summary: 'A bike', config: { guard: 'none' } } as const;

test('the compiler checks the parameters and answers of an endpoint against its schemas', async (t) => {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, {} as Guards);
  t.after(() => server.close());
  const colours: readonly string[] = Object.freeze(['red']);
  const creation = { ...about, body: Bike, answer: { 201: Bike } };
  serve(server, 'POST /bikes', { ...creation, handle: async ({ body }) => ({ id: body.id, colours }) });
  serve(server, 'POST /other', {
    ...about,
    answer: { 200: Bike },
    // @ts-expect-error: a colour does not have the type of the list of colours
    handle: async () => ({ id: 1, colours: 'red' }),
  });
  const answerOnce: AnswerOnce = (_, work) => work(async () => {});
  const whole = { id: 1, colours };
  serveOnce(server, 'POST /once', {
    ...creation,
    answerOnce,
    async handle(_, record) {
      // @ts-expect-error: the answer that is stored for a repetition is also checked
      await record(tx, { id: 1 });
      return whole;
    },
  });
  serveRaw(server, 'POST /raw', {
    ...about,
    answer: { 200: Bike },
    why: 'a test',
    // @ts-expect-error: bytes are sent with sendRaw, and other answers are checked
    handle: async () => ({ id: 1 }),
  });

  const payload = { id: 7, colours: [] };
  const answer = await server.inject({ method: 'POST', url: '/bikes', payload });
  assert.deepEqual([answer.statusCode, answer.json()], [201, { id: 7, colours: ['red'] }]);
  const refused = await server.inject({ method: 'POST', url: '/bikes', payload: { id: 7 } });
  assert.equal(refused.statusCode, 400);
});
