import { t } from '../languages/text.ts';
import { formatAll } from './format.ts';

const listDays = () => [
  t('Sunday'),
  t('Monday'),
  t('Tuesday'),
  t('Wednesday'),
  t('Thursday'),
  t('Friday'),
  t('Saturday'),
  t('Sunday'),
];
const NAMED = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const NIGHT_ENDS = 6;

const isNumber = (text: string) => /^\d+$/.test(text);
/** @returns a cron expression in words, `every night at 3:00`; undefined if it needs too many words */
export function describeCron(cron: string): string | undefined {
  const [minute = '', hour = '', day = '', month = '', weekday = '', ...rest] = cron.trim().split(/\s+/);
  if (month !== '*' || rest.length > 0) return undefined;
  const isDaily = day === '*' && weekday === '*';
  const often = isDaily ? describeOften(minute, hour) : undefined;
  if (often !== undefined) return often;
  if (!isNumber(minute) || !hour.split(',').every(isNumber)) return undefined;
  const times = hour.split(',').map((hourText) => `${Number(hourText)}:${minute.padStart(2, '0')}`);
  const clockTimes = formatAll(times);
  return isDaily ? describeDaily(hour, clockTimes) : describeDays({ day, weekday, at: clockTimes });
}

function describeOften(minute: string, hour: string): string | undefined {
  if (hour === '*') return describeMinutes(minute);
  const step = stepOf(hour, 24);
  return step > 0 && isNumber(minute) ? atMinute(everyHours(step), minute) : undefined;
}

function describeMinutes(minute: string): string | undefined {
  const step = minute === '*' ? 1 : stepOf(minute, 60);
  if (step > 0) return t('{count, plural, one {every minute} other {every # minutes}}', { count: step });
  return isNumber(minute) ? atMinute(everyHours(1), minute) : undefined;
}

/** @returns the step, or 0 if there is none or it does not divide `round` evenly */
function stepOf(text: string, round: number): number {
  const step = Number(/^\*\/(\d+)$/.exec(text)?.[1] ?? 0);
  return step > 0 && round % step === 0 ? step : 0;
}

const everyHours = (step: number) =>
  t('{count, plural, one {every hour} other {every # hours}}', { count: step });

const atMinute = (hours: string, minute: string) =>
  Number(minute) === 0 ? hours : t('{hours} at minute {minute}', { hours, minute: Number(minute) });

const describeDaily = (hour: string, clockTime: string) =>
  isNumber(hour) && Number(hour) < NIGHT_ENDS
    ? t('every night at {at}', { at: clockTime })
    : t('every day at {at}', { at: clockTime });

function describeDays({
  day,
  weekday,
  at,
}: Readonly<Record<'day' | 'weekday' | 'at', string>>): string | undefined {
  if (weekday === '*') return isNumber(day) ? t('every month on day {day} at {at}', { day, at }) : undefined;
  if (day !== '*') return undefined;
  const numbers = weekday.toLowerCase().replace(/[a-z]{3}/g, (name) => String(NAMED.indexOf(name)));
  if (numbers === '1-5') return t('every weekday at {at}', { at });
  const names = listDays();
  const days = numbers.split(',').map((day) => (isNumber(day) ? names[Number(day)] : undefined));
  return days.includes(undefined)
    ? undefined
    : t('every {days} at {at}', { days: formatAll(days as string[]), at });
}

interface Schedule {
  readonly cron?: string;
  readonly timeZone?: string;
}

/** The schedule in words if it needs only a few, and always the stored expression. */
export function describeSchedule({ cron = '', timeZone = '' }: Schedule): string {
  const words = describeCron(cron);
  return `${words ? `${words}, ` : ''}${cron} (${timeZone})`;
}
