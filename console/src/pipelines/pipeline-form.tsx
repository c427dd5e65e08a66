import type { PipelineDefinition, PipelineTrigger } from '@relata/client';
import { t } from '../languages/text.ts';
import { NumberField, SelectField, TextField, useBinding } from '../parts/forms/field.tsx';
import { startSchedule, TriggerFields } from '../parts/forms/schedule-fields.tsx';
import { TableField } from '../parts/forms/table-field.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake } from '../state/mistakes.ts';
import { listModes, makesProducts } from './pipeline-draft.ts';
import { LinkedRelationField } from './pipeline-links.tsx';

export interface PipelineShape {
  draft: PipelineDefinition;
  onChange(changed: Partial<PipelineDefinition>): void;
}

export function BasicsCard({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  const bind = useBinding(draft, onChange);
  const setMode = (mode: NonNullable<PipelineDefinition['mode']>) => {
    const isOther = mode !== draft.mode && !(makesProducts(mode) && makesProducts(draft.mode));
    // Products, links and tables have no field in common.
    onChange({ mode, ...(isOther && { mapping: undefined, relationId: undefined, tableName: undefined }) });
  };
  return (
    <Card title={t('Pipeline')}>
      <div className="fields">
        <TextField label={t('Name')} maxLength={255} placeholder={t('Nightly catalog')} {...bind('name')} />
        <SelectField label={t('Mode')} choices={listModes()} value={draft.mode} onChange={setMode} />
        {draft.mode === 'links' && <LinkedRelationField draft={draft} onChange={onChange} />}
        {draft.mode === 'table' && (
          <TableField
            label={t('Table')}
            hint={t('A run replaces all of its pairs, or makes it.')}
            value={draft.tableName ?? ''}
            mistake={mistake('/tableName')}
            onChange={(name) => onChange({ tableName: name || undefined })}
          />
        )}
      </div>
    </Card>
  );
}

const listTriggers = () =>
  [
    ['manual', t('Manual')],
    ['schedule', t('Schedule')],
    ['webhook', t('Webhook')],
  ] as const;

const DEFAULT_SECONDS = 3_600;

function startTrigger(type: string): PipelineTrigger {
  if (type === 'schedule') return startSchedule();
  return type === 'webhook' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type: 'manual' };
}

export function TriggerCard({ draft, onChange }: PipelineShape) {
  const { trigger, source } = draft;
  // Whatever else started a run of it would find no file.
  const isUpload = source.type === 'upload';
  return (
    <Card title={t('Trigger')}>
      {isUpload && <p className="soft">{t('Each uploaded file also starts a run.')}</p>}
      <TriggerFields<PipelineTrigger, PipelineTrigger['type']>
        label={t('Runs start')}
        choices={listTriggers().filter(([type]) => !isUpload || type === 'manual' || type === trigger.type)}
        trigger={trigger}
        start={startTrigger}
        pause={[t('Seconds between two calls'), t('Calls that come earlier are refused with 429.')]}
        onChange={(next) => onChange({ trigger: next })}
      />
    </Card>
  );
}

const listRejected = () =>
  [
    ['stop', t('The first rejected row ends the run')],
    ['continue', t('Leave them out')],
    ['share', t('Leave them out, up to a share')],
  ] as const;

const DEFAULT_SHARE = 0.05;

export function GuardsCard({ draft, onChange }: PipelineShape) {
  const { onRejectedRow = 'stop' } = draft;
  const mistake = useMistake();
  const bind = useBinding(draft, onChange);
  const isShare = typeof onRejectedRow === 'number';
  const setRejected = (value: string) =>
    onChange({ onRejectedRow: value === 'share' ? DEFAULT_SHARE : (value as 'stop' | 'continue') });
  return (
    <Card title={t('Limits')}>
      <div className="fields">
        <SelectField
          label={t('Rows that make no product')}
          choices={listRejected()}
          value={isShare ? 'share' : onRejectedRow}
          mistake={isShare ? undefined : mistake('/onRejectedRow')}
          onChange={setRejected}
        />
        {isShare && (
          <NumberField
            label={t('Maximum of rejected rows, in %')}
            value={Math.round(onRejectedRow * 10_000) / 100}
            mistake={mistake('/onRejectedRow')}
            onChange={(percent) => onChange({ onRejectedRow: (percent ?? 0) / 100 })}
          />
        )}
        <NumberField
          label={t('Minimum products')}
          hint={t('A run with fewer products changes nothing.')}
          {...bind('minProducts')}
        />
        <NumberField
          label={t('Deletion limit, in %')}
          hint={t('A run that would delete a larger share of the catalog changes nothing.')}
          {...bind('maxDeletePercent')}
        />
      </div>
    </Card>
  );
}
