import type { ChannelDefinition } from '@relata/client';
import { t } from '../languages/text.ts';
import { NumberField, SelectField, TextField } from '../parts/forms/field.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { ScheduleFields, startSchedule } from '../parts/forms/schedule-fields.tsx';
import { Card } from '../parts/page.tsx';
import { sayOf } from '../rules/choices.ts';
import { EVERY_PRODUCT } from '../rules/filters.ts';
import { capital } from '../rules/format.ts';
import { useAttributes } from '../state/attributes.ts';
import { useMistake } from '../state/mistakes.ts';
import { type ChannelShape, findFormat, listFormats } from './channel-draft.ts';

type Format = ChannelDefinition['format'];

const listPackings = () =>
  [
    ['', t('As usual for the format')],
    ['none', t('Not packed')],
    ['gzip', t('Packed with gzip')],
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
    <Card title={t('Channel')}>
      <div className="fields">
        <TextField
          label={t('Name')}
          value={draft.name}
          maxLength={255}
          placeholder={'Google Shopping'}
          mistake={mistake('/name')}
          onChange={({ target }) => onChange({ name: target.value })}
        />
        <SelectField
          label={t('Format')}
          hint={found && capital(sayOf(found.description))}
          choices={listFormats()}
          value={format.type}
          mistake={mistake('/format/type')}
          onChange={({ target }) => setType(target.value)}
        />
        {found && found.variants.length > 1 && (
          <SelectField
            label={t('Variant')}
            choices={found.variants.map((variant) => [variant, variant.toUpperCase()])}
            value={format.variant ?? found.variants[0]}
            mistake={mistake('/format/variant')}
            onChange={({ target }) => onChange({ format: { ...format, variant: target.value } })}
          />
        )}
        <SelectField
          label={t('Compression')}
          choices={listPackings()}
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
    <Card title={t('Products that go out')}>
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

const listTriggers = () =>
  [
    ['manual', t('By hand')],
    ['schedule', t('By schedule')],
    ['change', t('After changes of the catalog')],
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
    <Card title={t('Trigger')}>
      <div className="fields">
        <SelectField
          label={t('Builds start')}
          choices={listTriggers()}
          value={trigger.type}
          onChange={({ target }) => onChange({ trigger: startTrigger(target.value as Trigger['type']) })}
        />
        {trigger.type === 'schedule' && (
          <ScheduleFields trigger={trigger} onChange={(next) => onChange({ trigger: next })} />
        )}
        {trigger.type === 'change' && (
          <NumberField
            label={t('Seconds between two builds')}
            hint={t('Changes in between go out together.')}
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
    <Card title={t('Guards')}>
      <div className="fields">
        <NumberField
          label={t('Fewer rows at most, in %')}
          hint={t('A build that would lose a larger share of the published rows is not published.')}
          value={draft.maxDeletePercent}
          mistake={mistake('/maxDeletePercent')}
          onChange={(maxDeletePercent) => onChange({ maxDeletePercent })}
        />
        <NumberField
          label={t('Left out at most, in %')}
          hint={t('A build in which more products lack what the format requires is not published.')}
          value={draft.maxLeftOutPercent}
          mistake={mistake('/maxLeftOutPercent')}
          onChange={(maxLeftOutPercent) => onChange({ maxLeftOutPercent })}
        />
      </div>
    </Card>
  );
}
