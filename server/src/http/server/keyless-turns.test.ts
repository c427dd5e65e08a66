// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { takeTurnsWithoutKey } from './keyless-turns.ts';

type Sent = Pick<FastifyRequest, 'headers' | 'originalUrl'>;

/**
 * Sends requests to the hook.
 * @returns the names of the served ones, in order
 */
function openHook() {
  const hook = takeTurnsWithoutKey();
  const served: string[] = [];
  const send = (name: string, { headers = {}, originalUrl = '/health/live' }: Partial<Sent> = {}) =>
    Reflect.apply(hook, undefined, [
      { headers, originalUrl } as FastifyRequest,
      {} as FastifyReply,
      () => served.push(name),
    ]);
  return { served, send };
}

test('requests with a key are served immediately, and those without a key one per turn of the event loop', async () => {
  const { served, send } = openHook();
  for (const name of ['a', 'b', 'c']) send(name);
  send('key', { headers: { authorization: 'Bearer x' } });
  send('session', { headers: { cookie: 'relata_session=x' } });
  send('query', { originalUrl: '/projects?apiKey=x' });
  assert.deepEqual(served, ['key', 'session', 'query']);
  await nextTurn();
  assert.deepEqual(served.slice(3), ['a']);
  await nextTurn();
  send('later key', { headers: { authorization: 'Bearer x' } });
  assert.deepEqual(served.slice(3), ['a', 'b', 'later key']);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(served.slice(6), ['c']);
  send('d');
  await nextTurn();
  assert.deepEqual(served.slice(7), ['d'], 'the turns begin again after a pause');
});
