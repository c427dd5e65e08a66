// runs: long
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { KeyCaller } from '../../kernel/caller.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer } from './server.ts';

const MIB = 1024 * 1024;
const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };

/**
 * Serves texts of given sizes. The key of an account is its number.
 * @returns a function that reads one text
 */
function servePacked(t: TestContext) {
  const findCaller = ({ value }: { value: string }): KeyCaller => ({
    accountId: Number(value),
    keyId: 1,
    keyName: value,
    scope: { type: 'account' },
    access: 'read',
  });
  const guards = { findCaller, countRequest: async () => undefined } as Partial<Guards> as Guards;
  const settings = {
    logLevel: 'silent',
    trustedProxies: [],
    corsOrigins: [],
    bodyBudgetMib: 512,
    closeMs: 0,
  };
  const server = createServer(settings, guards);
  const config = { guard: 'key' } as const;
  const texts = new Map([1_000, MIB, 5 * MIB].map((bytes) => [bytes, randomBytes(bytes).toString('base64')]));
  for (const [bytes, text] of texts) {
    server.get(`/${bytes}`, { config }, async (_, reply) => reply.type('text/plain').send(text));
    server.get(`/${bytes}/lines`, { config }, async (_, reply) =>
      reply.type('application/x-ndjson').send(Readable.from(text.match(/.{1,100000}/g) ?? [])),
    );
  }
  t.after(() => server.close());
  return {
    server,
    texts,
    read: async (path: string, account: number, encoding: keyof typeof UNPACK = 'br') => {
      const headers = { authorization: String(account), 'accept-encoding': encoding };
      const answer = await server.inject({ url: path, headers });
      assert.deepEqual([answer.statusCode, answer.headers['content-encoding']], [200, encoding]);
      return UNPACK[encoding](answer.rawPayload).toString();
    },
  };
}

test('an answer arrives unchanged in each encoding, packed as a whole or in parts (§4 rule 8)', async (t) => {
  const { texts, read } = servePacked(t);
  for (const encoding of ['br', 'gzip', 'zstd'] as const)
    for (const [bytes, text] of texts)
      for (const path of [`/${bytes}`, `/${bytes}/lines`])
        assert.ok((await read(path, 1, encoding)) === text, `${path} as ${encoding}`);
});

for (const bytes of [MIB, 5 * MIB])
  test(`accounts take turns when an account reads many answers of ${bytes} bytes (§8)`, async (t) => {
    const { read } = servePacked(t);
    let left = 20;
    const many = Array.from({ length: left }, async () => {
      await read(`/${bytes}`, 1);
      left -= 1;
    });
    // All answers wait for packing now.
    await new Promise((resolve) => setImmediate(resolve));
    await read(`/1000`, 2);
    assert.ok(left >= 18, `${left} of 20 were left when a short answer was packed`);
    await read(`/${bytes}`, 3);
    assert.ok(left >= 10, `${left} of 20 were left when another account had its answer`);
    await Promise.all(many);
  });

test('a caller that disconnects, or a source that fails, frees its turn (§8)', async (t) => {
  const { server, texts, read } = servePacked(t);
  let closed = 0;
  server.get('/failing', { config: { guard: 'key' } }, async (_, reply) => {
    const lines = Readable.from(writeAndFail(), { objectMode: false });
    return reply.type('application/x-ndjson').send(
      lines.once('close', () => {
        closed += 1;
      }),
    );
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (path: string, headers = { authorization: '1', 'accept-encoding': 'br' }) => {
    const left = new AbortController();
    const { body } = await fetch(`${address}${path}`, { headers, signal: left.signal });
    await body?.getReader().read();
    left.abort();
  };
  await Promise.all(Array.from({ length: 20 }, () => ask(`/${5 * MIB}`)));
  await Promise.allSettled(Array.from({ length: 5 }, () => ask('/failing')));
  while (closed < 5) await new Promise((resolve) => setImmediate(resolve));
  assert.ok((await read(`/${MIB}`, 2)) === texts.get(MIB));
});

async function* writeAndFail() {
  yield randomBytes(MIB).toString('base64');
  throw new Error('the source failed');
}
