// runs: test
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { brotliCompressSync, zstdCompressSync } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { streamBody } from './body.ts';

const MIB = 1024 * 1024;

const TERMS = { maxMib: 1, memory: undefined, findRefusal: async () => undefined };

/** A request, limited to the parts that a body reader uses. */
function openRequest(headers: Record<string, string> = {}) {
  const stream = Object.assign(new PassThrough(), { headers });
  // The reader uses only the stream and the headers of a message.
  return { stream, request: stream as unknown as IncomingMessage };
}

async function readAll(request: IncomingMessage, maxMib: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of streamBody(request, { ...TERMS, maxMib })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('streamBody passes a body on unchanged, plain or in gzip', async () => {
  for (const headers of [undefined, { 'content-encoding': 'gzip' }]) {
    const { stream, request } = openRequest(headers);
    const reading = readAll(request, 1);
    for (const part of ['one ', 'two ', 'three']) stream.write(part);
    stream.end();
    assert.equal(String(await reading), 'one two three');
  }
  await assert.rejects(readAll(openRequest({ 'content-encoding': 'compress' }).request, 1), {
    code: 'body_encoding',
  });
});

test('streamBody unpacks zstd and br, up to twice the limit (§8)', async () => {
  for (const [encoding, pack] of Object.entries({ zstd: zstdCompressSync, br: brotliCompressSync })) {
    const read = async (bytes: Uint8Array) => {
      const { stream, request } = openRequest({ 'content-encoding': encoding });
      stream.end(bytes);
      return readAll(request, 1);
    };
    assert.equal((await read(pack(Buffer.alloc(2 * MIB)))).length, 2 * MIB);
    await assert.rejects(read(pack(Buffer.alloc(2 * MIB + 1))), { code: 'body_too_large' });
    await assert.rejects(read(Buffer.from('plain')), { code: 'body_not_unpacked' });
  }
});

test('streamBody accepts exactly the limit and refuses one byte more, with or without Content-Length (§8)', async () => {
  const exact = openRequest();
  exact.stream.end(Buffer.alloc(MIB));
  assert.equal((await readAll(exact.request, 1)).length, MIB);
  const announced = openRequest({ 'content-length': String(MIB + 1) });
  await assert.rejects(readAll(announced.request, 1), { code: 'body_too_large' });
  const silent = openRequest();
  silent.stream.end(Buffer.alloc(MIB + 1));
  await assert.rejects(readAll(silent.request, 1), { code: 'body_too_large' });
  assert.equal(silent.stream.destroyed, false, 'the refusal can still be sent');
});

test('a stream is refused when its sender is silent for 30 seconds, but not when its reader is slow (§7.2 rule 7)', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { stream, request } = openRequest();
  const chunks = streamBody(request, TERMS);
  stream.write('x');
  await chunks.next();
  t.mock.timers.tick(60_000);
  stream.write('y');
  await chunks.next();
  const silent = assert.rejects(chunks.next(), { code: 'body_stalled' });
  t.mock.timers.tick(29_999);
  await new Promise(setImmediate);
  t.mock.timers.tick(1);
  await silent;
});

test('a stream is refused when its sender has lost access, even before it is read again (§7.2 rule 9)', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { stream, request } = openRequest();
  const findRefusal = async () => new ServiceError('scope_refused');
  const chunks = streamBody(request, { ...TERMS, findRefusal });
  stream.write('x');
  await chunks.next();
  t.mock.timers.tick(1_000);
  await new Promise(setImmediate);
  await assert.rejects(chunks.next(), { code: 'scope_refused' });
});

test('a streamed body whose connection breaks is refused', async () => {
  const { stream, request } = openRequest();
  const refused = assert.rejects(readAll(request, 1), { code: 'body_stalled' });
  stream.write('half');
  stream.destroy();
  await refused;
});
