// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { translatePostgresError } from './connection-errors.ts';

/** The classification of a database error: an outage that may pass, or a wrong statement. */

const codeOf = (message: string, code?: string) => {
  const translated = translatePostgresError(Object.assign(new Error(message), code && { code }));
  return translated instanceof ServiceError ? translated.code : undefined;
};

test('a Citus error about a lost worker counts as an outage, and other internal errors do not', () => {
  const lost = [
    'failure on connection marked as essential: 127.0.0.1:5433',
    'could not commit transaction for shard 102010 on at least one active node',
    'could not connect to any active placements',
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally',
    'could not receive data from server: Connection reset by peer',
    'could not send data to server: Broken pipe',
    'no connection to the server',
    'connection not open',
    'terminating connection due to unexpected postmaster exit',
    "failed to prepare transaction 'citus_0_1_2_3' on host 127.0.0.1:5433",
    'cannot connect to 127.0.0.1:5433 to fetch intermediate results',
    'failed to read result "1_2" from node 127.0.0.1:5433',
    '',
  ];
  for (const message of lost) assert.equal(codeOf(message, 'XX000'), 'not_ready', message);
  assert.equal(codeOf('cache lookup failed for type 7', 'XX000'), undefined);
  assert.equal(codeOf('could not send data to server', '22023'), undefined, 'a text of a user');
});

test('errors of an unreachable, full or failing database become refusals, and a refused statement remains an error', () => {
  for (const code of ['08006', '57P01', '53300', '40001', 'ECONNREFUSED'])
    assert.equal(codeOf('', code), 'not_ready');
  assert.equal(codeOf('Connection terminated unexpectedly'), 'not_ready');
  assert.equal(codeOf('No space left on device', '53100'), 'storage_full');
  assert.equal(codeOf('could not read block', 'XX001'), 'storage_failed');
  assert.equal(codeOf('syntax error', '42601'), undefined);
});
