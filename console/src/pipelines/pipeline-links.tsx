import type { MappedColumn, Mapping } from '@relata/client';
import { t } from '../languages/text.ts';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { useRelations } from '../state/definitions.ts';
import { useMistake } from '../state/mistakes.ts';
import { ColumnField, ColumnsField } from './pipeline-column.tsx';
import { withField } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';

/** Whose links a pipeline of the mode links replaces. Source: docs/interface.md §13.9. */
export function LinkedRelationField({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  const relations = useRelations();
  const listed = relations.data?.filter(({ kind }) => kind === 'links') ?? [];
  return (
    <SelectField
      label={t('Relation')}
      hint={
        relations.data && listed.length === 0
          ? t('There is no relation of the kind links yet. Create one first.')
          : t('A run replaces all of its links.')
      }
      choices={[['', '—'], ...listed.map(({ id, name }) => [String(id), name] as const)]}
      value={String(draft.relationId ?? '')}
      mistake={mistake('/relationId')}
      onChange={(id) => onChange({ relationId: id === '' ? undefined : Number(id) })}
    />
  );
}

interface FieldsShape {
  mapping: Mapping;
  columns: readonly string[];
  onChange(mapping: Mapping): void;
}

/** Which columns have the values that go together. */
export function TableFields({ mapping, columns, onChange }: FieldsShape) {
  const mistake = useMistake();
  return (
    <div className="fields">
      {(['source', 'target'] as const).map((side) => (
        <ColumnField
          key={side}
          label={side === 'source' ? t('Value of the source') : t('Value of the target')}
          columns={columns}
          spec={mapping[side]}
          mistake={mistake(`/mapping/${side}`)}
          onChange={(spec) => onChange(withField(mapping, side, spec))}
        />
      ))}
    </div>
  );
}

/** Which columns list what goes with what. */
export function LinkFields({ mapping, columns, onChange }: FieldsShape) {
  const mistake = useMistake();
  return (
    <>
      <div className="fields">
        <ColumnField
          label={t('Source: the product that lists others')}
          columns={columns}
          spec={mapping.source}
          mistake={mistake('/mapping/source')}
          onChange={(source) => onChange(withField(mapping, 'source', source))}
        />
        <TextField
          label={t('Separator of targets')}
          hint={t('Between several identifiers in one cell.')}
          value={mapping.separator ?? ''}
          mistake={mistake('/mapping/separator')}
          onChange={(value) => onChange(withField(mapping, 'separator', value || undefined))}
        />
      </div>
      <ColumnsField
        label={t('Targets')}
        columns={columns}
        specs={mapping.targets as MappedColumn | MappedColumn[] | undefined}
        mistake={mistake('/mapping/targets')}
        onChange={(targets) => onChange(withField(mapping, 'targets', targets as Mapping['targets']))}
      />
    </>
  );
}
