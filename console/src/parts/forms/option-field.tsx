import type { ChoiceOption } from '@relata/client';
import { t } from '../../languages/text.ts';
import {
  type Kind,
  optionsOf,
  type Typed,
  textOf,
  translateLabel,
  valueNamed,
  withOption,
  withValue,
} from '../../rules/choices.ts';
import { capital } from '../../rules/format.ts';
import { describeCron } from '../../rules/schedule.ts';
import { useMistake } from '../../state/mistakes.ts';
import { AreaField, type Choice, NumberField, SelectField, TextField } from './field.tsx';

/** Names for values that are hard to see. An empty value is not the same as no value. */
const nameValues = (): Readonly<Record<string, string>> => ({
  ',': t('comma'),
  ';': t('semicolon'),
  '\t': t('tab'),
  '|': t('pipe'),
  '': t('none'),
});
/** Stands for the empty value in a list whose first entry means no value. */
const EMPTY = 'none';

const toChoice = (value: string): Choice => [value || EMPTY, nameValues()[value] ?? value];

interface OptionFieldProps {
  option: ChoiceOption;
  value: unknown;
  mistake: string | undefined;
  /** Undefined leaves the option out. */
  onChange(value: string | number | undefined): void;
}

interface OptionsShape<Part extends Typed> {
  kind: Kind;
  part: Part;
  path: string;
  onChange(part: Part): void;
}

/** All options of a format, a source or a destination. */
export function OptionFields<Part extends Typed>({ kind, part, path, onChange }: OptionsShape<Part>) {
  const mistake = useMistake();
  return (
    <>
      {optionsOf(kind, part).map((option) => (
        <OptionField
          key={option.name}
          option={option}
          value={valueNamed(part, option.name)}
          mistake={mistake(`${path}/${option.name}`)}
          onChange={(value) => onChange(withValue(part, option.name, value))}
        />
      ))}
      {part.type === 's3' && <BucketPlace part={part} onChange={onChange} />}
    </>
  );
}

function BucketPlace<Part extends Typed>({ part, onChange }: Pick<OptionsShape<Part>, 'part' | 'onChange'>) {
  const change = (value: string) =>
    onChange(withOption(part, 'forcePathStyle', value === '' ? undefined : value === 'true'));
  return (
    <SelectField
      label={t('Bucket in the address')}
      choices={[
        ['', t('chosen by the endpoint')],
        ['true', t('in the path')],
        ['false', t('in the host name')],
      ]}
      value={textOf(part, 'forcePathStyle')}
      onChange={change}
    />
  );
}

/** An option of a format or a source, as docs/openapi.json describes it. */
function OptionField({ option, value, mistake, onChange }: OptionFieldProps) {
  const { values, isNumber, isRequired } = option;
  const label = translateLabel(option.label);
  const change = (text: string) => onChange(readValue(option, text));
  if (values.length > 0)
    return (
      <SelectField
        label={label}
        choices={[
          ...(isRequired ? [] : [['', t('detected automatically')] as const]),
          ...values.map(toChoice),
        ]}
        value={value === '' ? EMPTY : String(value ?? '')}
        mistake={mistake}
        onChange={change}
      />
    );
  if (option.secret !== undefined) return <SecretField {...{ option, value, mistake, change }} />;
  return (
    <TextField
      label={label}
      hint={capital(translateLabel(option.description))}
      type={isNumber ? 'number' : 'text'}
      min={0}
      value={String(value ?? '')}
      mistake={mistake}
      onChange={change}
    />
  );
}

interface SecretFieldProps extends Pick<OptionFieldProps, 'option' | 'value' | 'mistake'> {
  change(text: string): void;
}

/** The service returns a stored secret as `***`. Sending `***` keeps the secret. */
function SecretField({ option: { label, secret }, value, mistake, change }: SecretFieldProps) {
  const text = String(value ?? '');
  const hint = text === '***' ? t('Stored and never shown. Leave *** to keep it.') : undefined;
  const shared = { label: translateLabel(label), hint, mistake, value: text, onChange: change };
  return secret === 'text' ? (
    <AreaField rows={4} spellCheck={false} autoComplete="off" {...shared} />
  ) : (
    <TextField type="password" {...shared} autoComplete="new-password" />
  );
}

function readValue(
  { values, isNumber, isRequired }: ChoiceOption,
  text: string,
): string | number | undefined {
  if (values.includes('') && text === EMPTY) return '';
  if (text === '') return isRequired ? '' : undefined;
  return isNumber ? Number(text) : text;
}

/** A schedule for every night, in the browser's time zone. */
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
  /** The label and hint of the minimum pause, for a trigger that may fire too often. */
  pause: readonly [label: string, hint: string];
  onChange(trigger: Trigger): void;
}

/** The trigger of a definition, with the options of each kind. */
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

/** The schedule on which a definition runs. Source: docs/interface §13.3. */
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
