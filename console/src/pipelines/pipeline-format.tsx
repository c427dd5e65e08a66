import type { ChangeEvent } from 'react';
import { type Choice, SelectField, TextField } from '../parts/field.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake } from './mistakes.ts';
import { FORMATS, needOfMapping, textOf, typeOf, withOption } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';

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
    hint: 'Row with the column names. Empty: row 1; 0: none.',
  },
  path: {
    name: 'path',
    label: 'Path to the list',
    hint: 'Keys with dots, for example data.products. Empty: detected.',
  },
  record: { name: 'record', label: 'Repeated element', hint: 'Name or path. Empty: detected.' },
  sheet: { name: 'sheet', label: 'Sheet', hint: 'Name of the sheet. Empty: the first.' },
  language: {
    name: 'language',
    label: 'Language',
    hint: 'As written in the file. Empty: that of the catalog.',
  },
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
          Detected in the file:{' '}
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
