import { t } from '../../languages/text.ts';
import { type Typed, textOf } from '../../rules/choices.ts';
import { capital } from '../../rules/format.ts';
import { describeCron } from '../../rules/schedule.ts';
import { useMistake } from '../../state/mistakes.ts';
import { TextField } from './field.tsx';

/** Every night, where the browser is. */
export const startSchedule = () => ({
  type: 'schedule' as const,
  cron: '0 3 * * *',
  timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
});

interface Schedule<Trigger> {
  trigger: Trigger;
  onChange(trigger: Trigger): void;
}

/** When a definition is run by itself. Source: docs/interface.md §13.3. */
export function ScheduleFields<Trigger extends Typed>({ trigger, onChange }: Schedule<Trigger>) {
  const mistake = useMistake();
  const words = describeCron(textOf(trigger, 'cron'));
  return (
    <>
      <TextField
        label={t('Schedule (cron)')}
        hint={
          <>
            {words && <strong>{capital(words)}. </strong>}
            {t('Minute, hour, day of the month, month, day of the week.')}
          </>
        }
        className="input mono"
        value={textOf(trigger, 'cron')}
        mistake={mistake('/trigger/cron')}
        onChange={(cron) => onChange({ ...trigger, cron })}
      />
      <TextField
        label={t('Time zone')}
        list="time-zones"
        value={textOf(trigger, 'timeZone')}
        mistake={mistake('/trigger/timeZone')}
        onChange={(timeZone) => onChange({ ...trigger, timeZone })}
      />
      <datalist id="time-zones">
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}
