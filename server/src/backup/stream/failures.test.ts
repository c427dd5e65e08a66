// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutboundProblem } from '../../outbound/outbound.ts';
import { OtherSchema } from '../files/files.ts';
import { DamagedObject } from '../target/target.ts';
import { classify, inData } from './failures.ts';

const withCode = (code: string) => Object.assign(new Error(code), { code });
const throwing = (error: Error) => () => {
  throw error;
};

test('a failure is classified by what an operator can fix (docs/operating/backup.md, "Continuous backup")', () => {
  const cases = [
    [new OutboundProblem('connection', 'no'), 'unreachable'],
    [new OutboundProblem('refused', 'no'), 'refused'],
    [withCode('EIO'), 'unreachable'],
    [withCode('EROFS'), 'refused'],
    [withCode('ENOSPC'), 'full'],
    [new DamagedObject('no'), 'damaged'],
    [new OtherSchema('control.db', 2, 1), 'otherSchema'],
  ] as const;
  for (const [error, failure] of cases) assert.equal(classify(error), failure, error.message);
  const inside = (error: Error) => {
    try {
      return inData(throwing(error));
    } catch (thrown) {
      return classify(thrown);
    }
  };
  assert.equal(inside(withCode('ENOSPC')), 'dataDirectory');
  assert.equal(inside(new OtherSchema('control.db', 2, 1)), 'otherSchema');
});
