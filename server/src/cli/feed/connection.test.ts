// runs: test
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connectWith } from './connection.ts';

test('an upload accepts an answer without a body from a proxy', async (t) => {
  for (const status of [204, 205, 304]) {
    const between = createServer((request, answer) => {
      request.resume().on('end', () => answer.writeHead(status).end());
    }).listen(0, '127.0.0.1');
    await once(between, 'listening');
    t.after(() => between.close());
    const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const { relata } = connectWith({ url, key: 'a key' }, 0);
    const outcome: unknown = await relata.products
      .upload(Buffer.from('[]'))
      .catch((error: Error) => ('status' in error ? error.status : error));
    // The client accepts any 2xx. The commit, which sends the count of batches, detects that nothing was stored.
    assert.deepEqual(outcome, status === 304 ? 304 : '', `${status}`);
  }
});
