import type { PipelineDefinition, PipelineTrigger } from '@relata/client';
import { NumberField, SelectField, TextField } from '../parts/forms/field.tsx';
import { ScheduleFields, startSchedule } from '../parts/forms/schedule-fields.tsx';
import { Card } from '../parts/page.tsx';
import { withOption } from '../rules/typed.ts';
import { useMistake } from '../state/mistakes.ts';
import { MODES } from './pipeline-draft.ts';
import { LinkedRelationField } from './pipeline-links.tsx';

export interface PipelineShape {
  draft: PipelineDefinition;
  onChange(changed: Partial<PipelineDefinition>): void;
}

export function BasicsCard({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  const setMode = (mode: PipelineDefinition['mode']) => {
    const isOther = (mode === 'links') !== (draft.mode === 'links');
    // Products and links have no field in common.
    onChange({ mode, ...(isOther && { mapping: undefined, relationId: undefined }) });
  };
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
          onChange={(event) => setMode(event.target.value as PipelineDefinition['mode'])}
        />
        {draft.mode === 'links' && <LinkedRelationField draft={draft} onChange={onChange} />}
      </div>
    </Card>
  );
}

const TRIGGERS = [
  ['manual', 'Manual'],
  ['schedule', 'Schedule'],
  ['webhook', 'Webhook'],
] as const;

const DEFAULT_SECONDS = 3_600;

function startTrigger(type: string): PipelineTrigger {
  if (type === 'schedule') return startSchedule();
  return type === 'webhook' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type: 'manual' };
}

export function TriggerCard({ draft, onChange }: PipelineShape) {
  const { trigger, source } = draft;
  const mistake = useMistake();
  const { type } = trigger;
  // Whatever else started a run of it would find no file.
  const isUpload = source.type === 'upload';
  const set = (name: string, value: unknown) => onChange({ trigger: withOption(trigger, name, value) });
  return (
    <Card title="Trigger">
      {isUpload && <p className="soft">Each uploaded file also starts a run.</p>}
      <div className="fields">
        <SelectField
          label="Runs start"
          choices={TRIGGERS.filter(([one]) => !isUpload || one === 'manual' || one === type)}
          value={type}
          onChange={(event) => onChange({ trigger: startTrigger(event.target.value) })}
        />
        {trigger.type === 'schedule' && (
          <ScheduleFields trigger={trigger} onChange={(next) => onChange({ trigger: next })} />
        )}
        {trigger.type === 'webhook' && (
          <TextField
            label="Seconds between two calls"
            hint="Calls that come earlier are refused with 429."
            type="number"
            min={0}
            value={trigger.minSecondsBetween ?? ''}
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
  ['stop', 'The first rejected row ends the run'],
  ['continue', 'Leave them out'],
  ['share', 'Leave them out, up to a share'],
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
            label="Maximum of rejected rows, in %"
            value={Math.round(onRejectedRow * 10_000) / 100}
            mistake={mistake('/onRejectedRow')}
            onChange={(percent) => onChange({ onRejectedRow: (percent ?? 0) / 100 })}
          />
        )}
        <NumberField
          label="Minimum products"
          hint="A run with fewer products changes nothing."
          value={draft.minProducts}
          mistake={mistake('/minProducts')}
          onChange={(minProducts) => onChange({ minProducts })}
        />
        <NumberField
          label="Delete guard, in %"
          hint="A run that would delete a larger share of the catalog changes nothing."
          value={draft.maxDeletePercent}
          mistake={mistake('/maxDeletePercent')}
          onChange={(maxDeletePercent) => onChange({ maxDeletePercent })}
        />
      </div>
    </Card>
  );
}
