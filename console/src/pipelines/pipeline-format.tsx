import type { PipelineFormat } from '@relata/client';
import { SelectField } from '../parts/field.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake } from '../state/mistakes.ts';
import { valueNamed, withValue } from '../state/typed.ts';
import { OptionField } from './option-field.tsx';
import { FORMATS, hintOf, needOfMapping, optionsOf } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';

type Found = Readonly<Record<string, string>> | undefined;

export function FormatCard({ draft, onChange, found }: PipelineShape & { found: Found }) {
  const { format, mapping } = draft;
  const mistake = useMistake();
  const setType = (type: PipelineFormat['type']) => {
    const keeps = needOfMapping({ format: { type } }) === 'needed' && needOfMapping({ format }) === 'needed';
    onChange({ format: { type }, mapping: keeps ? mapping : undefined });
  };
  return (
    <Card title="Format">
      <div className="fields">
        <SelectField
          label="Type"
          hint={hintOf('PipelineFormat', format)}
          choices={FORMATS}
          value={format.type}
          onChange={(event) => setType(event.target.value as PipelineFormat['type'])}
        />
        {optionsOf('PipelineFormat', format).map((option) => (
          <OptionField
            key={option.name}
            option={option}
            value={valueNamed(format, option.name)}
            mistake={mistake(`/format/${option.name}`)}
            onChange={(value) => onChange({ format: withValue(format, option.name, value) })}
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
