// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCron, describeSchedule } from './schedule.ts';

const SAID: readonly (readonly [cron: string, words: string | undefined])[] = [
  ['0 3 * * *', 'every night at 3:00'],
  ['30 17 * * *', 'every day at 17:30'],
  ['0 6,18 * * *', 'every day at 6:00 and 18:00'],
  ['15 4 * * 1', 'every Monday at 4:15'],
  ['0 8 * * mon-fri', 'every weekday at 8:00'],
  ['0 8 * * SAT,SUN', 'every Saturday and Sunday at 8:00'],
  ['0 2 1 * *', 'every month on day 1 at 2:00'],
  ['*/15 * * * *', 'every 15 minutes'],
  ['*/1 * * * *', 'every minute'],
  ['* * * * *', 'every minute'],
  ['0 */4 * * *', 'every 4 hours'],
  ['0 * * * *', 'every hour'],
  ['20 * * * *', 'every hour at minute 20'],
  ['0 3 * 6 *', undefined],
  ['0 3 1 * 1', undefined],
  ['0 3-5 * * *', undefined],
  ['*/45 * * * *', undefined],
  ['*/15 */4 * * *', undefined],
  ['61', undefined],
  ['', undefined],
];

for (const [cron, words] of SAID)
  test(`${JSON.stringify(cron)} is ${words ?? 'not described in words'}`, () =>
    assert.equal(describeCron(cron), words));

test('shows the stored cron expression beside the words', () => {
  const schedule = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
  assert.equal(describeSchedule(schedule), 'every night at 3:00, 0 3 * * * (Europe/Berlin)');
});
