// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RelataError } from '@relata/client';
import { describeDetail, describeMistake, describeRefusal, findMistake, listDetails } from './mistakes.ts';

test('a mistake is shown at its field and at the fields around it', () => {
  const details = ['/trigger/cron: must have five fields', '/source/headers/X-A: must be text'];
  assert.equal(findMistake(details, '/trigger/cron'), 'must have five fields');
  assert.equal(findMistake(details, '/source/headers'), 'must be text');
  assert.equal(findMistake(details, '/trigger/c'), undefined);
});

test('describes schema violations in words, with the label of the field', () => {
  const mistakes = {
    "/mapping must have required property 'identifier'": '/mapping/identifier: is missing',
    '/mapping must have required properties identifier': '/mapping/identifier: is missing',
    '/name must NOT have fewer than 1 characters': '/name: must not be empty',
    '/trigger/minSecondsBetween must be >= 1': '/trigger/minSecondsBetween: must be at least 1',
    '/format/type must be equal to one of the allowed values: csv, xml':
      '/format/type: must be one of csv, xml',
    '/tag must match pattern "^[a-z]+$"': '/tag: does not have the required form',
    '/source/headers/X-A: must be text': '/source/headers/X-A: must be text',
    'the ontology has no attribute "Cost"': 'the ontology has no attribute "Cost"',
    "must have required property 'name'": '/name: is missing',
  };
  assert.deepEqual(Object.keys(mistakes).map(describeMistake), Object.values(mistakes));
  assert.equal(
    describeDetail('/relations/0/limit must be >= 1'),
    'Limit must be at least 1 (Related products › 1)',
  );
  assert.equal(
    describeDetail('the ontology has no attribute "Cost"'),
    'the ontology has no attribute "Cost"',
  );
  assert.equal(
    describeDetail("/mapping must have required property 'identifier'"),
    'Identifier is missing (Mapping)',
  );
});

test('words a refusal by its reason, whatever its message is (§7.7)', () => {
  const words = 'Something is missing or not right yet';
  for (const reason of ['request_invalid', 'product_invalid'] as const)
    assert.equal(describeRefusal(new RelataError(400, { reason, message: 'Worded anew' })), words);
  const ended = new RelataError(401, { reason: 'token_missing', message: 'Worded anew' });
  assert.match(describeRefusal(ended), /^Your session has ended/);
  const other = new RelataError(400, { reason: 'task_ended', message: 'Your body params are not valid' });
  assert.equal(describeRefusal(other), 'Your body params are not valid');
  assert.equal(describeRefusal(new Error('No token set')), 'No token set');
});

test('no detail shows a path, an ETag or the name of a parameter', () => {
  const details = {
    '/relations/0: name either a tag or an id': 'Related products 1: name either a tag or an id',
    '/trigger/minSecondsBetween must be >= 1': 'Seconds between two calls must be at least 1 (Trigger)',
    '/format/headerRow must be integer': 'Header row must be a whole number (Format)',
    '/tags must NOT have more than 20 items': 'Tags must have at most 20 entries',
    '/name must NOT have more than 255 characters': 'Name must have at most 255 characters',
    'A1: /attributes/0/key must be string': 'A1: Key must be text (Attributes › 1)',
    'the update would delete 33 of 66 products (50 %)': '33 of 66 would be deleted (50 %).',
    'the project allows 10 %; send start?allowDeletes=33 to delete them anyway': 'The project allows 10 %.',
    'allowDeletes is 32, but must be exactly 33': 'The confirmed number is 32, but it must be exactly 33.',
  };
  assert.deepEqual(Object.keys(details).map(describeDetail), Object.values(details));
  const changed = new RelataError(412, {
    reason: 'changed_meanwhile',
    message: 'It was changed meanwhile',
    details: ['the present ETag is "5": read it again, and send the change with that If-Match'],
  });
  assert.match(describeRefusal(changed), /^Somebody else has changed it/);
  assert.deepEqual(listDetails(changed), []);
});
