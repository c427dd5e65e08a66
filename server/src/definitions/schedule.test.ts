// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSchedule, findNextRun } from './schedule.ts';

const NOW = Date.UTC(2026, 0, 1);

/** @returns the next times after that one, as UTC */
function listNext(cron: string, timeZone: string, { after, count }: { after: string; count: number }) {
  const times: string[] = [];
  for (let instant = Date.parse(after); times.length < count; ) {
    const next = findNextRun({ cron, timeZone }, instant);
    assert.ok(next !== undefined && next > instant);
    times.push(new Date(next).toISOString().slice(0, 16));
    instant = next;
  }
  return times;
}

test('a schedule is due at the local time of its time zone in summer and winter (§13.3)', () => {
  const berlin = (after: string) => listNext('15 3 * * *', 'Europe/Berlin', { after, count: 1 });
  assert.deepEqual(berlin('2026-01-10T00:00Z'), ['2026-01-10T02:15']);
  assert.deepEqual(berlin('2026-07-10T00:00Z'), ['2026-07-10T01:15']);
  const tokyo = listNext('0 0 * * MON', 'Asia/Tokyo', { after: '2026-01-01T00:00Z', count: 2 });
  assert.deepEqual(tokyo, ['2026-01-04T15:00', '2026-01-11T15:00']);
});

test('a local time that the change to summer time skips is due at the change (§13.3)', () => {
  const gap = listNext('30 2 * * *', 'Europe/Berlin', { after: '2026-03-28T12:00Z', count: 2 });
  assert.deepEqual(gap, ['2026-03-29T01:00', '2026-03-30T00:30']);
  const midnight = listNext('0 0 * * *', 'America/Sao_Paulo', { after: '2018-11-03T12:00Z', count: 2 });
  assert.deepEqual(midnight, ['2018-11-04T03:00', '2018-11-05T02:00']);
});

test('a local time that occurs twice in autumn is due once (§13.3)', () => {
  const twice = listNext('30 2 * * *', 'Europe/Berlin', { after: '2026-10-24T12:00Z', count: 2 });
  assert.deepEqual(twice, ['2026-10-25T00:30', '2026-10-26T01:30']);
});

test('an hourly schedule is due every hour across clock changes (§13.3)', () => {
  const spring = listNext('15 * * * *', 'Europe/Berlin', { after: '2026-03-28T23:30Z', count: 4 });
  assert.deepEqual(spring, ['2026-03-29T00:15', '2026-03-29T01:15', '2026-03-29T02:15', '2026-03-29T03:15']);
  const autumn = listNext('15 * * * *', 'Europe/Berlin', { after: '2026-10-24T23:30Z', count: 4 });
  assert.deepEqual(autumn, ['2026-10-25T00:15', '2026-10-25T01:15', '2026-10-25T02:15', '2026-10-25T03:15']);
});

test('an invalid schedule is refused with its problems (§13.3)', () => {
  const check = (cron: string, timeZone = 'UTC') => checkSchedule({ cron, timeZone }, NOW);
  for (const good of ['* * * * *', '0 3 * * MON-FRI', '*/15 6-18 1,15 * *', '0 3 29 2 *', '0 0 L * *'])
    assert.deepEqual(check(good), [], good);
  for (const bad of [
    '',
    '@daily',
    '0 3 * *',
    '0 0 3 * * *',
    '61 3 * * *',
    '0 3 * * MOON',
    '2026-01-01T00:00:00',
  ])
    assert.match(check(bad).join(), /^\/trigger\/cron: ./, bad);
  assert.match(check('0 3 30 2 *').join(), /must name a day that exists/);
  for (const zone of ['Mars/Base', '', 'Berlin'])
    assert.match(check('0 3 * * *', zone).join(), /^\/trigger\/timeZone: ./, zone);
  assert.equal(check('x', 'y').length, 2, 'both are named');
});
