// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { hashPassword, isPassword, refuseWeakPassword } from './password.ts';

test('only the same password matches a hash, and each hash has its own salt', async () => {
  const stored = await hashPassword('correct horse battery');
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(stored, await hashPassword('correct horse battery'));
  assert.equal(await isPassword('correct horse battery', stored), true);
  for (const other of ['Correct horse battery', 'correct horse battery ', 'correct horse batter', '']) {
    assert.equal(await isPassword(other, stored), false, other);
  }
  assert.equal(
    await isPassword('correct horse battery', undefined),
    false,
    'an unknown user has no password',
  );
});

test('a password matches in any Unicode normal form', async () => {
  const composed = 'Grüße aus Köln';
  const stored = await hashPassword(composed.normalize('NFC'));
  assert.equal(await isPassword(composed.normalize('NFD'), stored), true);
});

test('a hash that another program made with other parameters is accepted', async () => {
  // From the tests of the reference implementation, phc-winner-argon2.
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.equal(await isPassword('password', stored), true);
  assert.equal(await isPassword('passwort', stored), false);
  await assert.rejects(isPassword('password', 'plain text'), /no known form/);
});

test('two hashes run at a time, others wait in a queue, and a hash is refused when the queue is full', async () => {
  const hashes = Array.from({ length: 140 }, () => hashPassword('correct horse battery'));
  const results = await Promise.allSettled(hashes);
  const refused = results.filter((result) => result.status === 'rejected');
  assert.equal(refused.length, 10);
  for (const { reason } of refused) {
    assert.ok(reason instanceof ServiceError);
    assert.equal(reason.code, 'not_ready');
  }
  assert.equal(await isPassword('x', await hashPassword('x')), true, 'a later hash is accepted again');
});

test('a password that is easy to guess is refused with a message that does not contain it', () => {
  const owner = { email: 'ada.lovelace@shop.example', name: 'Ada Augusta Lovelace' };
  for (const weak of ['ADA.lovelace@shop.example', 'ada augusta lovelace', 'abababababab', '1111111111111']) {
    assert.throws(
      () => refuseWeakPassword('password', weak, owner),
      (error) => error instanceof ServiceError && !error.message.toLowerCase().includes(weak.toLowerCase()),
    );
  }
  for (const weakened of [
    'Lovelace-Augusta-1815',
    'Relata-Passwort-2026!',
    'password123456',
    'Admin@Shop.example1',
  ]) {
    assert.throws(
      () => refuseWeakPassword('password', weakened, owner),
      (error) => error instanceof ServiceError && /must not consist only of your name/.test(error.message),
      weakened,
    );
  }
  for (const strong of ['correct horse battery', 'Lovelace likes 7 bicycles', '8413-5500-2297-6164'])
    refuseWeakPassword('password', strong, owner);
});
