import { plural } from './format.ts';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const NAMED = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const NIGHT_ENDS = 6;

const isNumber = (text: string) => /^\d+$/.test(text);
const joinWords = (list: readonly string[]) =>
  list.length < 2 ? list.join('') : `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`;

/** @returns a cron expression as people say it, `every night at 3:00`; undefined where it takes more than a few words */
export function describeCron(cron: string): string | undefined {
  const [minute = '', hour = '', day = '', month = '', weekday = '', ...rest] = cron.trim().split(/\s+/);
  if (month !== '*' || rest.length > 0) return undefined;
  const isDaily = day === '*' && weekday === '*';
  const often = isDaily ? describeOften(minute, hour) : undefined;
  if (often !== undefined) return often;
  if (!isNumber(minute) || !hour.split(',').every(isNumber)) return undefined;
  const times = hour.split(',').map((one) => `${Number(one)}:${minute.padStart(2, '0')}`);
  const when = isDaily ? nameDaily(hour) : nameDays(day, weekday);
  return when && `every ${when} at ${joinWords(times)}`;
}

function describeOften(minute: string, hour: string): string | undefined {
  if (hour === '*') return describeMinutes(minute);
  const step = stepOf(hour, 24);
  return step > 0 && isNumber(minute) ? `${everyNth(step, 'hour')}${atMinute(minute)}` : undefined;
}

function describeMinutes(minute: string): string | undefined {
  const step = minute === '*' ? 1 : stepOf(minute, 60);
  if (step > 0) return everyNth(step, 'minute');
  return isNumber(minute) ? `every hour${atMinute(minute)}` : undefined;
}

/** @returns 0 also for a step after which the last one of a round is shorter */
function stepOf(text: string, round: number): number {
  const step = Number(/^\*\/(\d+)$/.exec(text)?.[1] ?? 0);
  return step > 0 && round % step === 0 ? step : 0;
}

const everyNth = (step: number, noun: string) => `every ${step === 1 ? '' : `${step} `}${plural(step, noun)}`;
const atMinute = (minute: string) => (Number(minute) === 0 ? '' : ` at minute ${Number(minute)}`);

const nameDaily = (hour: string) => (isNumber(hour) && Number(hour) < NIGHT_ENDS ? 'night' : 'day');

function nameDays(day: string, weekday: string): string | undefined {
  if (weekday === '*') return isNumber(day) ? `month on day ${day}` : undefined;
  if (day !== '*') return undefined;
  const known = weekday.toLowerCase().replace(/[a-z]{3}/g, (name) => String(NAMED.indexOf(name)));
  if (known === '1-5') return 'weekday';
  const days = known.split(',').map((one) => (isNumber(one) ? DAYS[Number(one)] : undefined));
  return days.includes(undefined) ? undefined : joinWords(days as string[]);
}

interface Schedule {
  readonly cron?: string;
  readonly timeZone?: string;
}

/** In words where they are short, and always as it is stored. */
export function describeSchedule({ cron = '', timeZone = '' }: Schedule): string {
  const words = describeCron(cron);
  return `${words ? `${words}, ` : ''}${cron} (${timeZone})`;
}
