import { t } from '../../languages/text.ts';
import { type Typed, textOf, valueNamed, withOption } from '../../rules/choices.ts';
import { capital } from '../../rules/format.ts';
import { describeCron } from '../../rules/schedule.ts';
import { useMistake } from '../../state/mistakes.ts';
import { type Choice, NumberField, SelectField, TextField } from './field.tsx';

/** Every night, where the browser is. */
export const startSchedule = () => ({
  type: 'schedule' as const,
  cron: '0 3 * * *',
  timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
});

interface TriggerShape<Trigger extends Typed, Type extends string> {
  label: string;
  choices: readonly Choice<Type>[];
  trigger: Trigger;
  start(type: Type): Trigger;
  /** Of a trigger that may come too often: how it is asked for, and what then happens. */
  pause: readonly [label: string, hint: string];
  onChange(trigger: Trigger): void;
}

/** What makes a definition do its work, with what each kind says. */
export function TriggerFields<Trigger extends Typed, Type extends string>({
  label,
  choices,
  trigger,
  start,
  pause,
  onChange,
}: TriggerShape<Trigger, Type>) {
  const mistake = useMistake();
  const { type } = trigger;
  return (
    <div className="fields">
      <SelectField
        label={label}
        choices={choices}
        value={type as Type}
        onChange={(next) => onChange(start(next))}
      />
      {type === 'schedule' && <ScheduleFields trigger={trigger} onChange={onChange} />}
      {(type === 'change' || type === 'webhook') && (
        <NumberField
          label={pause[0]}
          hint={pause[1]}
          value={valueNamed(trigger, 'minSecondsBetween') as number | undefined}
          mistake={mistake('/trigger/minSecondsBetween')}
          onChange={(seconds) => onChange(withOption(trigger, 'minSecondsBetween', seconds))}
        />
      )}
    </div>
  );
}

interface Schedule<Trigger> {
  trigger: Trigger;
  onChange(trigger: Trigger): void;
}

/** When a definition is run by itself. Source: docs/interface.md §13.3. */
function ScheduleFields<Trigger extends Typed>({ trigger, onChange }: Schedule<Trigger>) {
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
