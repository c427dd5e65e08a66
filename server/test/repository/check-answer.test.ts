// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CheckedAnswer, checkAnswer } from '../support/check-answer.ts';

const group = { id: 1, name: 'Shop', createdAt: 0 };
const refusal = { status: 'failure', code: 404, reason: 'not_found', message: 'Not Found', requestId: '1' };
const answer: CheckedAnswer = {
  method: 'GET',
  path: '/management/project-groups/1',
  status: 200,
  body: group,
};
const message = (pattern: RegExp) => ({ name: 'AssertionError', message: pattern });

test('an answer passes if it matches its operation and status in docs/openapi.json', () => {
  checkAnswer(answer);
  checkAnswer({ ...answer, status: 404, body: refusal });
  checkAnswer({ ...answer, status: 503, body: { ...refusal, code: 503 } });
  const list = { items: [group], nextCursor: null };
  checkAnswer({ ...answer, path: '/management/project-groups?limit=1', body: list });
  checkAnswer({ ...answer, path: '/management/projects/1/relations/export', body: { relations: [] } });
  checkAnswer({ ...answer, path: '/nowhere', status: 404, body: refusal });
});

test('a missing, additional or wrongly typed field, an unknown status and an unknown operation do not pass', () => {
  const { name: _, ...nameless } = group;
  const wrong: [Partial<CheckedAnswer>, RegExp][] = [
    [{ body: nameless }, /GET \/management\/project-groups\/1 200 does not match .* must have .* 'name'/],
    [{ body: { ...group, colour: 'red' } }, /must NOT have additional properties .*colour/],
    [{ body: { ...group, id: '1' } }, /\/id must be integer/],
    [{ status: 202 }, /the operation has no such status/],
    [{ status: 404 }, /does not match docs/],
    [{ path: '/nowhere' }, /no such operation/],
    [{ method: 'PUT' }, /no such operation/],
    [{ path: '/metrics' }, /no JSON answer there/],
  ];
  for (const [part, pattern] of wrong)
    assert.throws(() => checkAnswer({ ...answer, ...part }), message(pattern));
});
