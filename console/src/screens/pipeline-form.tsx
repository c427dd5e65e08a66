import type { PipelineDefinition } from '@relata/client';
import type { ChangeEvent } from 'react';
import { type Choice, SelectField, TextField } from '../parts/field.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake } from '../state/mistakes.ts';
import { FORMATS, MODES, needOfMapping, textOf, typeOf, withOption } from '../state/pipelines.ts';

export interface PipelineShape {
  draft: PipelineDefinition;
  onChange(changed: Partial<PipelineDefinition>): void;
}

export function BasicsCard({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  return (
    <Card title="Pipeline">
      <div className="fields">
        <TextField
          label="Name"
          value={draft.name}
          maxLength={255}
          placeholder="Nightly catalog"
          mistake={mistake('/name')}
          onChange={(event) => onChange({ name: event.target.value })}
        />
        <SelectField
          label="Mode"
          choices={MODES}
          value={draft.mode}
          onChange={(event) => onChange({ mode: event.target.value as PipelineDefinition['mode'] })}
        />
      </div>
    </Card>
  );
}

const FOUND: Choice = ['', 'found by itself'];
const ENCODINGS: readonly Choice[] = [
  FOUND,
  ...[
    ...['utf-8', 'utf-16le', 'utf-16be', 'windows-1250', 'windows-1251', 'windows-1252'],
    ...['iso-8859-1', 'iso-8859-2', 'iso-8859-15'],
  ].map((name) => [name, name] as const),
];

interface Option {
  readonly name: string;
  readonly label: string;
  readonly choices?: readonly Choice[];
  readonly hint?: string;
  readonly isNumber?: boolean;
  /** The choice that stands for an empty text, which is another thing than nothing. */
  readonly none?: string;
}

const OPTION: Readonly<Record<string, Option>> = {
  delimiter: {
    name: 'delimiter',
    label: 'Delimiter',
    choices: [FOUND, [',', 'comma'], [';', 'semicolon'], ['\t', 'tab'], ['|', 'pipe']],
  },
  quote: {
    name: 'quote',
    label: 'Quotes',
    choices: [FOUND, ['"', '"'], ["'", "'"], ['none', 'none']],
    none: 'none',
  },
  encoding: { name: 'encoding', label: 'Encoding', choices: ENCODINGS },
  headerRow: {
    name: 'headerRow',
    label: 'Header row',
    isNumber: true,
    hint: 'With the names of the columns: 1 when left empty, 0 for none.',
  },
  path: { name: 'path', label: 'Path to the list', hint: 'Keys with dots, as data.products; else found.' },
  record: { name: 'record', label: 'Repeated element', hint: 'Name or path; else found.' },
  sheet: { name: 'sheet', label: 'Sheet', hint: 'By its name; else the first.' },
  language: { name: 'language', label: 'Language', hint: 'As the file names it; else that of the catalog.' },
};

const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  csv: ['delimiter', 'quote', 'encoding', 'headerRow'],
  tsv: ['quote', 'encoding', 'headerRow'],
  json: ['path'],
  xml: ['record'],
  xlsx: ['sheet', 'headerRow'],
  'google-merchant': ['encoding'],
  'shopify-csv': ['delimiter', 'encoding'],
  bmecat: ['language'],
};

type Found = Readonly<Record<string, string>> | undefined;

export function FormatCard({ draft, onChange, found }: PipelineShape & { found: Found }) {
  const { format, mapping } = draft;
  const mistake = useMistake();
  const options = (OPTIONS_OF[typeOf(format)] ?? []).flatMap((name) => OPTION[name] ?? []);
  const setType = (type: string) => {
    const keeps = needOfMapping({ type }) === 'needed' && needOfMapping(format) === 'needed';
    onChange({ format: { type }, mapping: keeps ? mapping : undefined });
  };
  return (
    <Card title="Format">
      <div className="fields">
        <SelectField
          label="Type"
          choices={FORMATS}
          value={typeOf(format)}
          onChange={(event) => setType(event.target.value)}
        />
        {options.map((option) => (
          <OptionField
            key={option.name}
            option={option}
            value={option.none && format[option.name] === '' ? option.none : textOf(format, option.name)}
            mistake={mistake(`/format/${option.name}`)}
            onChange={(value) =>
              onChange({
                format:
                  value === option.none
                    ? { ...format, [option.name]: '' }
                    : withOption(format, option.name, value),
              })
            }
          />
        ))}
      </div>
      {found && Object.keys(found).length > 0 && (
        <p className="soft small">
          Found in the file:{' '}
          {Object.entries(found)
            .map(([name, value]) => `${name} ${value === '\t' ? 'tab' : value}`)
            .join(', ')}
        </p>
      )}
    </Card>
  );
}

function OptionField({
  option: { label, choices, hint, isNumber },
  value,
  mistake,
  onChange,
}: {
  option: Option;
  value: string;
  mistake: string | undefined;
  onChange(value: string | number): void;
}) {
  const change = ({ target }: ChangeEvent<HTMLInputElement | HTMLSelectElement>) =>
    onChange(isNumber && target.value !== '' ? Number(target.value) : target.value);
  if (choices)
    return <SelectField label={label} choices={choices} value={value} mistake={mistake} onChange={change} />;
  return (
    <TextField
      label={label}
      hint={hint}
      type={isNumber ? 'number' : 'text'}
      min={0}
      value={value}
      mistake={mistake}
      onChange={change}
    />
  );
}

const TRIGGERS = [
  ['manual', 'By hand'],
  ['schedule', 'By schedule'],
  ['webhook', 'By webhook'],
] as const;

const DEFAULT_SECONDS = 3_600;

function startTrigger(type: string): Record<string, unknown> {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  if (type === 'schedule') return { type, cron: '0 3 * * *', timeZone };
  return type === 'webhook' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type };
}

export function TriggerCard({ draft, onChange }: PipelineShape) {
  const { trigger, source } = draft;
  const mistake = useMistake();
  const type = typeOf(trigger);
  // Whatever else started a run of it would find no file.
  const isUpload = typeOf(source) === 'upload';
  const set = (name: string, value: unknown) => onChange({ trigger: withOption(trigger, name, value) });
  return (
    <Card title="Trigger">
      {isUpload && <p className="soft">Each file that is sent in starts a run anyway.</p>}
      <div className="fields">
        <SelectField
          label="Runs start"
          choices={TRIGGERS.filter(([one]) => !isUpload || one === 'manual' || one === type)}
          value={type}
          onChange={(event) => onChange({ trigger: startTrigger(event.target.value) })}
        />
        {type === 'schedule' && (
          <>
            <TextField
              label="Schedule (cron)"
              hint="Minute, hour, day of the month, month, day of the week. 0 3 * * * is every night at three."
              className="input mono"
              value={textOf(trigger, 'cron')}
              mistake={mistake('/trigger/cron')}
              onChange={(event) => onChange({ trigger: { ...trigger, cron: event.target.value } })}
            />
            <TextField
              label="Time zone"
              list="time-zones"
              value={textOf(trigger, 'timeZone')}
              mistake={mistake('/trigger/timeZone')}
              onChange={(event) => onChange({ trigger: { ...trigger, timeZone: event.target.value } })}
            />
            <datalist id="time-zones">
              {Intl.supportedValuesOf('timeZone').map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
        {type === 'webhook' && (
          <TextField
            label="Seconds between two calls"
            hint="Calls that come earlier are refused with 429."
            type="number"
            min={0}
            value={textOf(trigger, 'minSecondsBetween')}
            mistake={mistake('/trigger/minSecondsBetween')}
            onChange={({ target }) =>
              set('minSecondsBetween', target.value === '' ? undefined : Number(target.value))
            }
          />
        )}
      </div>
    </Card>
  );
}

const REJECTED = [
  ['stop', 'The first one ends the run'],
  ['continue', 'They are left out'],
  ['share', 'They are left out, up to a share'],
] as const;

const DEFAULT_SHARE = 0.05;

export function GuardsCard({ draft, onChange }: PipelineShape) {
  const { onRejectedRow = 'stop' } = draft;
  const mistake = useMistake();
  const isShare = typeof onRejectedRow === 'number';
  const setRejected = (value: string) =>
    onChange({ onRejectedRow: value === 'share' ? DEFAULT_SHARE : (value as 'stop' | 'continue') });
  return (
    <Card title="Guards">
      <div className="fields">
        <SelectField
          label="Rows that make no product"
          choices={REJECTED}
          value={isShare ? 'share' : onRejectedRow}
          mistake={isShare ? undefined : mistake('/onRejectedRow')}
          onChange={(event) => setRejected(event.target.value)}
        />
        {isShare && (
          <NumberField
            label="Rejected rows at most, in %"
            value={Math.round(onRejectedRow * 10_000) / 100}
            mistake={mistake('/onRejectedRow')}
            onChange={(percent) => onChange({ onRejectedRow: (percent ?? 0) / 100 })}
          />
        )}
        <NumberField
          label="Products at least"
          hint="A run that finds fewer changes nothing."
          value={draft.minProducts}
          mistake={mistake('/minProducts')}
          onChange={(minProducts) => onChange({ minProducts })}
        />
        <NumberField
          label="Deleted at most, in %"
          hint="A run that would delete more of the catalog changes nothing."
          value={draft.maxDeletePercent}
          mistake={mistake('/maxDeletePercent')}
          onChange={(maxDeletePercent) => onChange({ maxDeletePercent })}
        />
      </div>
    </Card>
  );
}

function NumberField({
  value,
  onChange,
  ...rest
}: {
  label: string;
  hint?: string;
  value: number | undefined;
  mistake: string | undefined;
  onChange(value: number | undefined): void;
}) {
  return (
    <TextField
      {...rest}
      type="number"
      min={0}
      step="any"
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
    />
  );
}
