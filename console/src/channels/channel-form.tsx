import type { ChannelDefinition } from '@relata/client';
import { NumberField, SelectField, TextField } from '../parts/forms/field.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { ScheduleFields, startSchedule } from '../parts/forms/schedule-fields.tsx';
import { Card } from '../parts/page.tsx';
import { EVERY_PRODUCT } from '../rules/filters.ts';
import { capital } from '../rules/format.ts';
import { useAttributes } from '../state/attributes.ts';
import { useMistake } from '../state/mistakes.ts';
import { type ChannelShape, FORMATS, findFormat } from './channel-draft.ts';

type Format = ChannelDefinition['format'];

const PACKINGS = [
  ['', 'As usual for the format'],
  ['none', 'Not packed'],
  ['gzip', 'Packed with gzip'],
] as const;

export function BasicsCard({ draft, onChange }: ChannelShape) {
  const { format } = draft;
  const mistake = useMistake();
  const found = findFormat(format);
  // Formats have no fields in common.
  const setType = (type: string) => onChange({ format: { type } as Format, mapping: undefined });
  const setPacking = ({ compression: _, ...rest }: Format, compression: string) =>
    onChange({ format: compression === '' ? rest : { ...rest, compression: compression as 'gzip' } });
  return (
    <Card title="Channel">
      <div className="fields">
        <TextField
          label="Name"
          value={draft.name}
          maxLength={255}
          placeholder="Google Shopping"
          mistake={mistake('/name')}
          onChange={({ target }) => onChange({ name: target.value })}
        />
        <SelectField
          label="Format"
          hint={found && capital(found.description)}
          choices={FORMATS}
          value={format.type}
          mistake={mistake('/format/type')}
          onChange={({ target }) => setType(target.value)}
        />
        {found && found.variants.length > 1 && (
          <SelectField
            label="Variant"
            choices={found.variants.map((variant) => [variant, variant.toUpperCase()])}
            value={format.variant ?? found.variants[0]}
            mistake={mistake('/format/variant')}
            onChange={({ target }) => onChange({ format: { ...format, variant: target.value } })}
          />
        )}
        <SelectField
          label="Compression"
          choices={PACKINGS}
          value={format.compression ?? ''}
          mistake={mistake('/format/compression')}
          onChange={({ target }) => setPacking(format, target.value)}
        />
      </div>
    </Card>
  );
}

export function FilterCard({ draft, onChange }: ChannelShape) {
  const attributes = useAttributes();
  const refused = useMistake()('/filter');
  return (
    <Card title="Products that go out">
      <FilterEditor
        filter={draft.filter ?? EVERY_PRODUCT}
        attributes={attributes}
        onChange={(filter) => onChange({ filter })}
      />
      {refused && <p className="mistake small">{refused}</p>}
    </Card>
  );
}

type Trigger = NonNullable<ChannelDefinition['trigger']>;

const TRIGGERS = [
  ['manual', 'By hand'],
  ['schedule', 'By schedule'],
  ['change', 'After changes of the catalog'],
] as const;

const DEFAULT_SECONDS = 300;

function startTrigger(type: Trigger['type']): Trigger {
  if (type === 'schedule') return startSchedule();
  return type === 'change' ? { type, minSecondsBetween: DEFAULT_SECONDS } : { type };
}

export function TriggerCard({ draft, onChange }: ChannelShape) {
  const { trigger = { type: 'manual' } } = draft;
  const mistake = useMistake();
  return (
    <Card title="Trigger">
      <div className="fields">
        <SelectField
          label="Builds start"
          choices={TRIGGERS}
          value={trigger.type}
          onChange={({ target }) => onChange({ trigger: startTrigger(target.value as Trigger['type']) })}
        />
        {trigger.type === 'schedule' && (
          <ScheduleFields trigger={trigger} onChange={(next) => onChange({ trigger: next })} />
        )}
        {trigger.type === 'change' && (
          <NumberField
            label="Seconds between two builds"
            hint="Changes in between go out together."
            value={trigger.minSecondsBetween}
            mistake={mistake('/trigger/minSecondsBetween')}
            onChange={(minSecondsBetween) =>
              onChange({
                trigger: { type: 'change', ...(minSecondsBetween !== undefined && { minSecondsBetween }) },
              })
            }
          />
        )}
      </div>
    </Card>
  );
}

export function GuardsCard({ draft, onChange }: ChannelShape) {
  const mistake = useMistake();
  return (
    <Card title="Guards">
      <div className="fields">
        <NumberField
          label="Fewer rows at most, in %"
          hint="A build that would lose a larger share of the published rows is not published."
          value={draft.maxDeletePercent}
          mistake={mistake('/maxDeletePercent')}
          onChange={(maxDeletePercent) => onChange({ maxDeletePercent })}
        />
        <NumberField
          label="Left out at most, in %"
          hint="A build in which more products lack what the format requires is not published."
          value={draft.maxLeftOutPercent}
          mistake={mistake('/maxLeftOutPercent')}
          onChange={(maxLeftOutPercent) => onChange({ maxLeftOutPercent })}
        />
      </div>
    </Card>
  );
}
