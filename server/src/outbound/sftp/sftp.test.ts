// runs: test
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  makeKeys,
  type PosixRename,
  type SftpTestUser,
  startSftpServer,
} from '../../../test/support/outbound/sftp-server.ts';
import { allowAddresses, createTimeouts, OutboundProblem } from '../outbound.ts';
import { openSftp, type SftpServer } from './sftp.ts';

const LIMITS = { connectMs: 60_000, idleMs: 60_000, wholeMs: 600_000 };
const via = (allow: readonly string[] = ['127.0.0.1']) => ({
  allows: allowAddresses(allow),
  resolve: undefined,
  timeouts: createTimeouts(LIMITS, 'The server'),
  signal: undefined,
});
const PASSWORD = 'pass-4711';

async function startServer(
  t: TestContext,
  user: SftpTestUser = { user: 'erp', password: PASSWORD },
  posixRename?: PosixRename,
) {
  const root = mkdtempSync(join(tmpdir(), 'relata-sftp-'));
  const server = await startSftpServer(root, user, posixRename);
  t.after(async () => {
    await server.close();
    rmSync(root, { recursive: true });
  });
  const sftpServer = { host: '127.0.0.1', port: server.port, user: 'erp', hostKey: server.hostKey };
  return { root, server, place: sftpServer };
}

async function open(t: TestContext, sftpServer: SftpServer) {
  const sftp = await openSftp(sftpServer, via());
  t.after(sftp.close);
  return sftp;
}

async function* pieces(bytes: Uint8Array, size: number) {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size);
}

test('a file is written under a hidden name, renamed at the end, and read back', async (t) => {
  const { root, server, place: sftpServer } = await startServer(t);
  const sftp = await open(t, { ...sftpServer, password: PASSWORD });
  mkdirSync(join(root, 'out'));
  writeFileSync(join(root, 'out/feed.csv'), 'old');
  // More than the read-ahead, and not a multiple of a piece.
  const bytes = randomBytes(3 * 1024 * 1024 + 7);
  assert.equal(await sftp.write('out/feed.csv', pieces(bytes, 100_000)), bytes.length);
  assert.deepEqual(readdirSync(join(root, 'out')), ['feed.csv']);
  assert.ok(server.calls.indexOf('rename') > server.calls.lastIndexOf('write'));
  assert.ok(readFileSync(join(root, 'out/feed.csv')).equals(bytes));
  const [file] = await Array.fromAsync(sftp.list('out'));
  assert.ok(file);
  assert.equal(file.name, 'feed.csv');
  assert.ok(Buffer.concat(await Array.fromAsync(sftp.read('out/feed.csv', file))).equals(bytes));
});

test('a failed write leaves the old file and no other', async (t) => {
  const { root, place: sftpServer } = await startServer(t);
  const sftp = await open(t, { ...sftpServer, password: PASSWORD });
  writeFileSync(join(root, 'feed.csv'), 'old');
  async function* failing() {
    yield Buffer.from('new');
    throw new Error('no more');
  }
  await assert.rejects(sftp.write('feed.csv', failing()), /no more/);
  // The next answer arrives after that of the removal.
  await sftp.stat('feed.csv');
  assert.deepEqual(readdirSync(root), ['feed.csv']);
  assert.equal(readFileSync(join(root, 'feed.csv'), 'utf8'), 'old');
});

test('a write replaces the old file in one step if the server supports it', async (t) => {
  const { root, server, place: sftpServer } = await startServer(t, undefined, 'done');
  const sftp = await open(t, { ...sftpServer, password: PASSWORD });
  writeFileSync(join(root, 'feed.csv'), 'old');
  await sftp.write('feed.csv', pieces(Buffer.from('new'), 3));
  assert.equal(readFileSync(join(root, 'feed.csv'), 'utf8'), 'new');
  assert.ok(server.calls.includes('posix-rename') && !server.calls.includes('remove'));
});

test('a write moves the old file aside if the server does not support replacing it, or refuses to', async (t) => {
  for (const posixRename of ['unknown', 'unsupported', 'refused'] as const) {
    const { root, place: sftpServer } = await startServer(t, undefined, posixRename);
    const sftp = await open(t, { ...sftpServer, password: PASSWORD });
    // The remains of an interrupted delivery.
    writeFileSync(join(root, '.feed.csv.old'), 'older');
    for (const text of ['first', 'new']) {
      await sftp.write('feed.csv', pieces(Buffer.from(text), 3));
      assert.equal(readFileSync(join(root, 'feed.csv'), 'utf8'), text);
    }
    assert.deepEqual(readdirSync(root), ['feed.csv']);
  }
});

/** The time limit for the removal, which usually takes milliseconds. */
const REMOVED_MS = 10_000;

test('the old file remains, whichever call the server refuses, and the error names its path', async (t) => {
  for (const posixRename of ['unknown', 'refused'] as const) {
    const { root, server, place: sftpServer } = await startServer(t, undefined, posixRename);
    const sftp = await open(t, { ...sftpServer, password: PASSWORD });
    const check = async (stuck: readonly string[], left: string, message: RegExp) => {
      writeFileSync(join(root, 'feed.csv'), 'old');
      for (const path of stuck) server.stuck.add(path);
      await assert.rejects(sftp.write('feed.csv', pieces(Buffer.from('new'), 3)), { message });
      // The failed write does not wait for the removal of its part by the server.
      for (const end = Date.now() + REMOVED_MS; `${readdirSync(root)}` !== left; await setTimeout(10))
        assert.ok(Date.now() < end, `${readdirSync(root)} instead of ${left}`);
      assert.equal(readFileSync(join(root, left), 'utf8'), 'old');
      server.stuck.clear();
    };
    await check(['feed.csv'], 'feed.csv', /off$/);
    await check(['.feed.csv.part'], 'feed.csv', /broke the transfer of feed\.csv off$/);
    const both = ['.feed.csv.part', '.feed.csv.old'];
    await check(both, '.feed.csv.old', / feed\.csv off, the file that was there is \.feed\.csv\.old now$/);
    await sftp.write('feed.csv', pieces(Buffer.from('new'), 3));
    assert.equal(readFileSync(join(root, 'feed.csv'), 'utf8'), 'new');
    assert.deepEqual(readdirSync(root), ['feed.csv']);
  }
});

test('reading is refused if the file has changed since it was listed', async (t) => {
  const { root, place: sftpServer } = await startServer(t);
  const sftp = await open(t, { ...sftpServer, password: PASSWORD });
  writeFileSync(join(root, 'a.csv'), 'one');
  const listed = await sftp.stat('a.csv');
  writeFileSync(join(root, 'a.csv'), 'another');
  await assert.rejects(Array.fromAsync(sftp.read('a.csv', listed)), /a\.csv changed while it was read/);
  await assert.rejects(sftp.stat('b.csv'), /127\.0\.0\.1 has no b\.csv/);
});

test('nothing is sent to a server with another host key, and the error names that key', async (t) => {
  const { server, place: sftpServer } = await startServer(t);
  const hostKey = `SHA256:${'A'.repeat(43)}`;
  const opening = openSftp({ ...sftpServer, hostKey, password: PASSWORD }, via());
  await assert.rejects(opening, (error: Error) => {
    assert.ok(error instanceof OutboundProblem && error.reason === 'refused');
    assert.ok(error.message.includes(server.hostKey), error.message);
    return true;
  });
  assert.equal(server.signedIn(), 0);
});

test('a private key with a passphrase signs in, and errors about wrong secrets do not contain them', async (t) => {
  const passphrase = 'phrase-4711';
  const keys = makeKeys(passphrase);
  const { server, place: sftpServer } = await startServer(t, { user: 'erp', publicKey: keys.public });
  await open(t, { ...sftpServer, privateKey: keys.private, passphrase });
  assert.equal(server.signedIn(), 1);
  const wrong: [object, RegExp][] = [
    [{ password: PASSWORD }, /does not accept the user, the password or the private key$/],
    [{ privateKey: keys.private, passphrase: 'other-4711' }, /passphrase is wrong$/],
    [{ privateKey: 'nonsense-4711' }, /The private key cannot be read/],
  ];
  for (const [secrets, text] of wrong)
    await assert.rejects(openSftp({ ...sftpServer, ...secrets }, via()), (error: Error) => {
      assert.match(error.message, text);
      assert.doesNotMatch(error.message, /4711/);
      return true;
    });
});

test('connecting to a private address is refused before anything is sent', async (t) => {
  const { server, place: sftpServer } = await startServer(t);
  await assert.rejects(
    openSftp({ ...sftpServer, password: PASSWORD }, via([])),
    /it leads to a loopback address/,
  );
  assert.equal(server.signedIn(), 0);
});
