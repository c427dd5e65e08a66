import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FeedMembers } from './feed-rows.ts';

test('verdicts are found again, whatever the identifiers, and nothing that was not noted', () => {
  const members = new FeedMembers();
  const made = (at: number) => [`P${at}`, `${at}`, `${'x'.repeat(at % 50)}-${at}`, `Ü${at} ß`];
  const identifiers = Array.from({ length: 20_000 }, (_, at) => made(at)).flat();
  for (const [at, identifier] of identifiers.entries()) members.note(identifier, at % 3 === 0);
  assert.ok(identifiers.every((identifier, at) => members.find(identifier) === (at % 3 === 0)));
  const others = Array.from({ length: 20_000 }, (_, at) => [`Q${at}`, `P${at} `, `p${at}`]).flat();
  assert.ok(others.every((identifier) => members.find(identifier) === undefined));
  members.note('P1', true);
  members.note('P1', false);
  assert.equal(members.find('P1'), false, 'the last verdict counts');
});
