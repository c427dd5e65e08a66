// runs: deep (not on postgres: the memory of bodies, before anything is stored)
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { asWriter, commandAuthor } from '../../src/projects/projects.ts';
import {
  byUpload,
  byUrl,
  createPipelineProject,
  FETCH_HERE,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { shareService } from '../support/shared-service.ts';

/** One body takes the whole body budget. */
const service = shareService({
  settings: {
    ...FETCH_HERE,
    RELATA_BODY_BUDGET_MIB: '1',
    RELATA_SOURCE_MAX_MIB: '1',
    RELATA_UPLOAD_MAX_MIB: '1',
  },
});
const MIB = 1024 * 1024;
const PATIENCE_MS = 10_000;
const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

interface Sender {
  readonly socket: Socket;
  /** @returns the status of the answer */
  readonly answered: Promise<number>;
}

/** Sends a request that does not end on its own. */
async function send(path: string, header: string, body: string | Uint8Array): Promise<Sender> {
  const socket = connect(Number(new URL(service().address).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${service().key}`, header, '', ''];
  const begun = untilRequested(path);
  socket.write(head.join('\r\n'));
  socket.write(body);
  const answered = once(socket, 'data').then(([data]) => Number(String(data).split(' ')[1]));
  answered.catch(() => {});
  await begun;
  return { socket, answered };
}

/** Waits until the service reads a request of this path. */
async function untilRequested(path: string): Promise<void> {
  for await (const [request] of on(service().app.server.server, 'request'))
    if ((request as IncomingMessage).url === path) return;
}

/** Asserts that memory is free, because otherwise a body of any kind would wait. */
async function assertRoom(what: string): Promise<void> {
  const call = service().call('POST', '/management/project-groups', { body: { name: 'G' } });
  const inTime = delay(PATIENCE_MS, undefined, { ref: false });
  assert.equal((await Promise.race([call, inTime]))?.status, 201, what);
}

test('announced bodies that do not arrive do not lock other callers out (§7.2 rule 8)', async (t) => {
  const project = await createPipelineProject(service());
  const files = await project.create(byUpload());
  const upload = `/management/projects/${project.projectId}/pipelines/${files.id}/upload`;
  const paths = [`/products?projectId=${project.projectId}`, '/management/project-groups', upload];
  const length = `Content-Length: ${MIB}`;
  const held = await Promise.all(
    paths.flatMap((path) => [send(path, length, '{'), send(path, CHUNKED, chunk(1))]),
  );
  t.after(() => held.map(({ socket }) => socket.destroy()));
  await assertRoom('six bodies are half received');
});

test('a body that is refused during the upload gives its memory back, announced or not (§7.2)', async (t) => {
  const project = await createPipelineProject(service());
  const files = await project.create(byUpload());
  const path = `/management/projects/${project.projectId}/pipelines/${files.id}/upload`;
  const announced = await send(path, `Content-Length: ${100 * MIB}`, 'x');
  const silent = await send(path, CHUNKED, chunk(MIB).concat(chunk(1)));
  t.after(() => [announced, silent].map(({ socket }) => socket.destroy()));
  assert.deepEqual([await announced.answered, await silent.answered], [413, 413]);
  await assertRoom('both senders are still connected');
});

test('a file that no pipeline accepts gives its memory back before the upload ends (§13.1)', async (t) => {
  const project = await createPipelineProject(service());
  const fetched = await project.create(byUrl('https://erp.example/feed.csv'));
  const path = `/management/projects/${project.projectId}/pipelines/${fetched.id}/upload`;
  const { socket, answered } = await send(path, CHUNKED, chunk(1));
  t.after(() => socket.destroy());
  assert.equal(await answered, 400);
  await assertRoom('the sender is still connected');
});

test('a caller that disconnects while its body waits for memory uses none and starts nothing (§7.2)', async () => {
  const project = await createPipelineProject(service());
  const files = await project.create(byUpload());
  const path = `/management/projects/${project.projectId}/pipelines/${files.id}/upload`;
  const first = await send(path, CHUNKED, chunk(MIB - 1));
  const waiting = await Promise.all([1, 2, 3].map(() => send(path, CHUNKED, chunk(MIB / 2))));
  for (const { socket } of [...waiting, first]) socket.destroy();
  await assertRoom('all have left');
  assert.equal((await project.read(files)).lastRun, null);
});

test('a caller that disconnects while a thread checks its pipeline gives its memory back (§7.2)', async () => {
  const project = await createPipelineProject(service());
  const body = gzipSync(JSON.stringify(byUpload()));
  const header = `Content-Encoding: gzip\r\nContent-Length: ${body.length}`;
  for (const path of [project.path, `${project.path}/preview`]) {
    const gone = await Promise.all(Array.from({ length: 5 }, () => send(path, header, body)));
    for (const { socket } of gone) socket.destroy();
    await assertRoom(`all have disconnected from ${path}`);
  }
});

test('callers without a key use none of the body memory, at the sign-in and at unknown paths (§8)', async (t) => {
  const paths = ['/management/session', '/management/owner', '/management/invitations/accept', '/nowhere'];
  const length = 'Content-Length: 16384';
  const strangers = await Promise.all(
    paths.flatMap((path) => [1, 2].flatMap(() => [send(path, length, '{'), send(path, CHUNKED, chunk(1))])),
  );
  t.after(() => strangers.map(({ socket }) => socket.destroy()));
  await assertRoom('all strangers are still sending');
  const large = await send('/management/session', 'Content-Length: 16385', '{');
  t.after(() => large.socket.destroy());
  assert.equal(await large.answered, 413);
});

test('the unpacked size of a small body counts for its key and account until the answer (§7.2 rule 8)', async () => {
  const project = await createPipelineProject(service());
  const { id } = await service().app.projects.createAccount('Other');
  const { value: key } = await service().app.access.createKey(asWriter(commandAuthor(id, 'test')), {
    name: 'Key',
    scope: { type: 'account' },
  });
  const source = await startSource();
  const release = source.hold();
  const attributes = Object.fromEntries(
    Array.from({ length: 32 }, (_, index) => [`Text ${index}`, { constant: 'x'.repeat(60_000) }]),
  );
  const tried = byUrl(source.url, { mapping: { identifier: 'sku', name: 'title', attributes } });
  const body = gzipSync(JSON.stringify(tried));
  assert.ok(body.length < 16 * 1024);
  const packed = { 'content-encoding': 'gzip' };
  const preview = project.manage('POST', '/preview', { body, headers: packed });
  while (source.requests.length === 0) await delay(10);

  let isServed = false;
  const beside = service()
    .call('POST', '/management/project-groups', { body: gzipSync('{"name":"G"}'), headers: packed })
    .finally(() => {
      isServed = true;
    });
  const group = { key, body: { name: 'G' } };
  for (let answered = 0; answered < 10; answered += 1)
    assert.equal((await service().call('POST', '/management/project-groups', group)).status, 201);
  assert.equal(isServed, false, 'the account has used its whole share');
  release();
  assert.equal((await preview).status, 200);
  assert.equal((await beside).status, 201);
});
