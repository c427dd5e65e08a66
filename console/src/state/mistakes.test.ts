// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RelataError } from '@relata/client';
import { mistakeAt, readDetail, sayMistake, sayRefusal } from './mistakes.ts';

test('a mistake is shown at its place and above', () => {
  const details = ['/trigger/cron: must have five fields', '/source/headers/X-A: must be text'];
  assert.equal(mistakeAt(details, '/trigger/cron'), 'must have five fields');
  assert.equal(mistakeAt(details, '/source/headers'), 'must be text');
  assert.equal(mistakeAt(details, '/trigger/c'), undefined);
});

test('what a body lacks of its form is told in words, at its place', () => {
  const told = {
    "/mapping must have required property 'identifier'": '/mapping/identifier: is missing',
    '/mapping must have required properties identifier': '/mapping/identifier: is missing',
    '/name must NOT have fewer than 1 characters': '/name: must not be empty',
    '/trigger/minSecondsBetween must be >= 1': '/trigger/minSecondsBetween: must be at least 1',
    '/format/type must be equal to one of the allowed values: csv, xml':
      '/format/type: must be one of csv, xml',
    '/tag must match pattern "^[a-z]+$"': '/tag: is not written as it must be',
    '/source/headers/X-A: must be text': '/source/headers/X-A: must be text',
    'the ontology has no attribute "Cost"': 'the ontology has no attribute "Cost"',
    "must have required property 'name'": '/name: is missing',
  };
  assert.deepEqual(Object.keys(told).map(sayMistake), Object.values(told));
  assert.equal(
    readDetail('/relations/0/limit must be >= 1'),
    'Limit must be at least 1 (Related products › 1)',
  );
  assert.equal(readDetail('the ontology has no attribute "Cost"'), 'the ontology has no attribute "Cost"');
  assert.equal(
    readDetail("/mapping must have required property 'identifier'"),
    'Identifier is missing (Mapping)',
  );
});

test('a refusal is told by its reason, whatever its message says (§7.7)', () => {
  const said = 'Something is missing or not right yet';
  for (const reason of ['request_invalid', 'product_invalid'] as const)
    assert.equal(sayRefusal(new RelataError(400, { reason, message: 'Worded anew' })), said);
  const ended = new RelataError(401, { reason: 'token_missing', message: 'Worded anew' });
  assert.match(sayRefusal(ended), /^Your session has ended/);
  const other = new RelataError(400, { reason: 'delete_guard', message: 'Your body params are not valid' });
  assert.equal(sayRefusal(other), 'Your body params are not valid');
  assert.equal(sayRefusal(new Error('No token set')), 'No token set');
});
