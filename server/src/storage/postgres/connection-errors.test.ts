// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { translatePostgresError } from './connection-errors.ts';

/** The classification of a database error: a temporary outage, or a wrong statement. */

const codeOf = (message: string, code?: string) => {
  const found = translatePostgresError(Object.assign(new Error(message), code && { code }));
  return found instanceof ServiceError ? found.code : undefined;
};

test('a worker that a coordinator lost is away, whatever its words; other internal errors are faults', () => {
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

test('a database that is away, full or failing is said so, and a refused statement is an error', () => {
  for (const code of ['08006', '57P01', '53300', '40001', 'ECONNREFUSED'])
    assert.equal(codeOf('', code), 'not_ready');
  assert.equal(codeOf('Connection terminated unexpectedly'), 'not_ready');
  assert.equal(codeOf('No space left on device', '53100'), 'storage_full');
  assert.equal(codeOf('could not read block', 'XX001'), 'storage_failed');
  assert.equal(codeOf('syntax error', '42601'), undefined);
});
