import type { PipelineFormat } from '@relata/client';
import { t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { OptionFields } from '../parts/forms/option-field.tsx';
import { Card } from '../parts/page.tsx';
import { hintOf } from '../rules/choices.ts';
import { listFormats, needOfMapping } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';

type Found = Readonly<Record<string, string>> | undefined;

export function FormatCard({ draft, onChange, found }: PipelineShape & { found: Found }) {
  const { format, mapping } = draft;
  const setType = (type: PipelineFormat['type']) => {
    const keeps = needOfMapping({ format: { type } }) === 'needed' && needOfMapping({ format }) === 'needed';
    onChange({ format: { type }, mapping: keeps ? mapping : undefined });
  };
  return (
    <Card title={t('Format')}>
      <div className="fields">
        <SelectField
          label={t('Type')}
          hint={hintOf('PipelineFormat', format)}
          choices={listFormats()}
          value={format.type}
          onChange={setType}
        />
        <OptionFields
          kind="PipelineFormat"
          part={format}
          place="/format"
          onChange={(next) => onChange({ format: next })}
        />
      </div>
      {found && Object.keys(found).length > 0 && (
        <p className="soft small">
          {t('Detected in the file: {found}', {
            found: Object.entries(found)
              .map(([name, value]) => `${name} ${value === '\t' ? t('tab') : value}`)
              .join(', '),
          })}
        </p>
      )}
    </Card>
  );
}
