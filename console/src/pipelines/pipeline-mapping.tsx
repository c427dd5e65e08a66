import type {
  MappedColumn,
  Mapping,
  PipelineDefinition,
  PipelineFormat,
  PipelinePreview,
} from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, IconButton } from '../parts/button.tsx';
import {
  AreaField,
  type Choice,
  NameField,
  SelectField,
  SwitchField,
  TextField,
} from '../parts/forms/field.tsx';
import { Card } from '../parts/page.tsx';
import { useRelations } from '../state/catalog.ts';
import { useMistake, useMistakeOf } from '../state/mistakes.ts';
import {
  columnOf,
  type MappedAttributes,
  nameFormat,
  needOfMapping,
  readAttributes,
  splitList,
  withColumn,
  withField,
  writeAttributes,
} from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-editor.tsx';

/** An empty mapping to start from, although a valid one requires an identifier. */
const NO_MAPPING = {} as Mapping;

interface Previewed {
  preview: PipelinePreview | undefined;
}

/** Assigns columns to the parts of a product. Source: docs/interface §13.8. */
export function MappingCard({ draft, onChange, preview }: PipelineShape & Previewed) {
  const { mapping } = draft;
  const present = mapping ?? NO_MAPPING;
  const need = needOfMapping(draft);
  const refused = useMistakeOf('/mapping');
  const suggested = preview?.suggestion.mapping;
  const put = (next: Mapping | undefined) => onChange({ mapping: next });
  if (need === 'none') return null;
  const isSuggested = suggested && JSON.stringify(suggested) === JSON.stringify(mapping);
  return (
    <Card
      title={t('Mapping')}
      actions={
        <>
          {need === 'own' && mapping && !isSuggested && (
            <Button onClick={() => put(undefined)}>{t('Use the mapping of the format')}</Button>
          )}
          {suggested && !isSuggested && (
            <Button onClick={() => put(suggested)}>{t('Use the suggested mapping')}</Button>
          )}
        </>
      }
    >
      {refused && <p className="mistake small">{refused}</p>}
      <OtherFormat preview={preview} onChange={onChange} />
      <FoundLists preview={preview} mapping={present} onChange={put} />
      {isSuggested && <Reasons reasons={preview?.suggestion.reasons} />}
      {preview === undefined && (
        <p className="soft">{t('Read the source or a sample file to choose columns.')}</p>
      )}
      {need === 'own' && mapping === undefined ? (
        <p className="soft">{t('This format has a default mapping, so you need none.')}</p>
      ) : (
        <Fields mode={draft.mode} mapping={present} columns={preview?.columns} onChange={put} />
      )}
    </Card>
  );
}

/** Offers the exact format of a file that was read in a more general format. */
function OtherFormat({ preview, onChange }: Pick<PipelineShape, 'onChange'> & Previewed) {
  const format = preview?.suggestion.format;
  if (format === undefined) return null;
  const read = () => {
    const next = { type: format.type } as PipelineFormat;
    onChange({ format: next, mapping: undefined });
  };
  return (
    <div className="note warn">
      <span>
        {t('This may be a {format} file: {reason}.', { format: nameFormat(format), reason: format.reason })}
      </span>
      <Button onClick={read}>{t('Read it as {format}', { format: nameFormat(format) })}</Button>
    </div>
  );
}

/** Columns whose cells look like lists, each split with one click. */
const FoundLists = ({ preview, mapping, onChange }: Previewed & Omit<FieldsShape, 'columns'>) =>
  preview?.lists.map((list) => (
    <div key={list.field} className="note warn small">
      <span>
        <strong>{list.field}</strong>: {list.message}.
      </span>
      <Button onClick={() => onChange(splitList(mapping, list))}>
        {list.separator === '\n'
          ? t('Split at line breaks')
          : t('Split at {separator}', { separator: list.separator })}
      </Button>
    </div>
  ));

const Reasons = ({ reasons = [] }: Partial<Pick<PipelinePreview['suggestion'], 'reasons'>>) => (
  <>
    <p className="soft">{t('Suggested from the names and values of the columns. Change what is wrong.')}</p>
    <ul className="stack small" aria-label={t('Reasons for the suggestion')}>
      {reasons.map(({ field, column, confidence, reason }) => (
        <li key={`${field} ${column}`} className={confidence === 'low' ? 'note warn' : 'soft'}>
          <span>
            {rich('{field} from {column}: {reason}', { field: <strong>{field}</strong>, column, reason })}
            {confidence === 'low' && `. ${t('Please check')}`}
          </span>
        </li>
      ))}
    </ul>
  </>
);

interface FieldsShape {
  mapping: Mapping;
  columns: readonly string[];
  onChange(mapping: Mapping): void;
}

function Fields({
  mode,
  columns = [],
  ...shape
}: Omit<FieldsShape, 'columns'> & Partial<Pick<FieldsShape, 'columns'>> & Pick<PipelineDefinition, 'mode'>) {
  const Shown = mode === 'links' ? LinkFields : mode === 'table' ? TableFields : ProductFields;
  return (
    <>
      <Shown columns={columns} {...shape} />
      <MappingText {...shape} />
    </>
  );
}

function ProductFields({ mapping, columns, onChange }: FieldsShape) {
  const mistake = useMistake();
  return (
    <>
      <div className="fields">
        {(
          [
            ['identifier', t('Identifier')],
            ['name', t('Name')],
            ['groupIdentifier', t('Group of variants')],
            ['productUrl', t('URL of the product')],
          ] as const
        ).map(([field, label]) => (
          <ColumnField
            key={field}
            label={label}
            columns={columns}
            spec={mapping[field]}
            mistake={mistake(`/mapping/${field}`)}
            onChange={(spec) => onChange(withField(mapping, field, spec as MappedColumn))}
          />
        ))}
        <CategoryFields mapping={mapping} columns={columns} onChange={onChange} />
      </div>
      <ColumnsField
        label={t('Image')}
        columns={columns}
        specs={mapping.images as MappedColumn | MappedColumn[] | undefined}
        mistake={mistake('/mapping/images')}
        onChange={(images) => onChange(withField(mapping, 'images', images))}
      />
      <MappedAttributesFields mapping={mapping} columns={columns} onChange={onChange} />
    </>
  );
}

function CategoryFields({ mapping, columns, onChange }: FieldsShape) {
  const mistake = useMistake();
  const put = (next: Mapping['categories']) => onChange(withField(mapping, 'categories', next));
  if (Array.isArray(mapping.categories))
    return (
      <p className="soft">{t('Categories come from several columns; change them in the JSON below.')}</p>
    );
  const { categories } = mapping;
  return (
    <>
      <ColumnField
        label={t('Categories')}
        columns={columns}
        spec={categories?.from}
        mistake={mistake('/mapping/categories/from')}
        onChange={(from) => put(from === undefined ? undefined : { separator: ' > ', ...categories, from })}
      />
      {categories && (
        <TextField
          label={t('Separator of category levels')}
          value={categories.separator ?? ''}
          mistake={mistake('/mapping/categories/separator')}
          onChange={(value) =>
            put(value === '' ? { from: categories.from } : { ...categories, separator: value })
          }
        />
      )}
    </>
  );
}

function MappingText({ mapping, onChange }: Omit<FieldsShape, 'columns'>) {
  const [text, setText] = useState<string>();
  const [mistake, setMistake] = useState<string>();
  const change = (next: string) => {
    setText(next);
    try {
      onChange(JSON.parse(next) as Mapping);
      setMistake(undefined);
    } catch (error) {
      setMistake(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <details>
      <summary>{t('The mapping as JSON: transformations, filters, expressions')}</summary>
      <AreaField
        label={t('Mapping')}
        isQuiet
        className="input mono"
        rows={14}
        spellCheck={false}
        value={text ?? JSON.stringify(mapping, null, 2)}
        mistake={mistake}
        onChange={change}
        onBlur={() => mistake === undefined && setText(undefined)}
      />
    </details>
  );
}

type Chosen = MappedAttributes[string];

/** All other columns, chosen ones, or both; chosen ones have names of their own. */
export function MappedAttributesFields({ mapping, columns, onChange }: FieldsShape) {
  const { chosen, hasRest } = readAttributes(mapping);
  const entries = Object.entries(chosen);
  const put = (next: readonly (readonly [string, Chosen])[], rest = hasRest) =>
    onChange(withField(mapping, 'attributes', writeAttributes(Object.fromEntries(next), rest)));
  const rename = (index: number, key: string, spec: Chosen) => {
    if (key !== '' && key !== '*' && !(key in chosen)) put(entries.with(index, [key, spec]));
  };
  const choose = (index: number, key: string, spec: MappedColumn | undefined) =>
    put(
      entries.toSpliced(index, 1, ...(spec === undefined ? [] : [[key, spec as Chosen] as [string, Chosen]])),
    );
  const free = columns.filter((column) => !(column in chosen));
  return (
    <fieldset className="stack">
      <legend className="label">{t('Attributes')}</legend>
      <SwitchField
        label={t('All other columns')}
        hint={t('Each under its own name.')}
        value={hasRest}
        onChange={(isOn) => put(entries, isOn)}
      />
      {entries.map(([key, spec], index) => (
        <div key={key} className="filter-row named-value">
          <NameField
            label={t('Name of the attribute {key}', { key })}
            value={key}
            onChange={(next) => rename(index, next, spec)}
          />
          <ColumnField
            label={t('Column of {key}', { key })}
            isQuiet
            columns={columns}
            // A list of columns can be edited as JSON only.
            spec={Array.isArray(spec) ? {} : (spec as MappedColumn)}
            onChange={(next) => choose(index, key, next)}
          />
          <IconButton
            icon="cross"
            label={t('Remove {key}', { key })}
            onClick={() => choose(index, key, undefined)}
          />
        </div>
      ))}
      <ColumnField
        label={t('Another attribute, from the column')}
        columns={free}
        spec={undefined}
        onChange={(spec) => {
          if (typeof spec === 'string') put([...entries, [spec, spec]]);
        }}
      />
    </fieldset>
  );
}

/** Stands for a constant, an expression or several columns, which a list of columns cannot express. */
const NOT_SIMPLE = '…';

/** @returns the columns of the file, and the current column if the file does not have it */
function listChoices(columns: readonly string[], present: string | undefined): Choice[] {
  const all = !present || columns.includes(present) ? columns : [present, ...columns];
  return [['', '—'], ...all.map((column) => [column, column] as const)];
}

interface ColumnShape {
  label: string;
  isQuiet?: boolean;
  columns: readonly string[];
  spec: MappedColumn | undefined;
  mistake?: string | undefined;
  onChange(spec: MappedColumn | undefined): void;
}

export function ColumnField({ columns, spec, onChange, ...rest }: ColumnShape) {
  const present = columnOf(spec);
  const choices = listChoices(columns, present);
  const isMore = typeof spec === 'object' && present !== undefined;
  return (
    <SelectField
      {...rest}
      hint={isMore ? t('transformed: {changes}', { changes: describeChange(spec) }) : undefined}
      choices={present === undefined ? [...choices, [NOT_SIMPLE, t('as in the JSON')]] : choices}
      value={present ?? NOT_SIMPLE}
      onChange={(column) => column !== NOT_SIMPLE && onChange(withColumn(spec, column))}
    />
  );
}

interface ColumnsShape extends Omit<ColumnShape, 'spec' | 'onChange' | 'isQuiet'> {
  specs: MappedColumn | readonly MappedColumn[] | undefined;
  onChange(specs: MappedColumn | MappedColumn[] | undefined): void;
}

export function ColumnsField({ label, columns, specs = [], mistake, onChange }: ColumnsShape) {
  const chosen = [specs].flat() as MappedColumn[];
  const put = (index: number, spec: MappedColumn | undefined) => {
    const next = chosen.toSpliced(index, 1, ...(spec === undefined ? [] : [spec]));
    onChange(next.length > 1 ? next : next[0]);
  };
  return (
    <div className="fields">
      {[...chosen, undefined].map((spec, index) => (
        <ColumnField
          key={index}
          label={index === 0 ? label : `${label} ${index + 1}`}
          columns={columns}
          spec={spec}
          mistake={index === 0 ? mistake : undefined}
          onChange={(next) => put(index, next)}
        />
      ))}
    </div>
  );
}

const describeChange = (spec: object) =>
  Object.keys(spec)
    .filter((name) => name !== 'column')
    .join(', ');

/** The relation whose links a pipeline in the mode links replaces. Source: docs/interface §13.9. */
export function LinkedRelationField({ draft, onChange }: PipelineShape) {
  const mistake = useMistake();
  const relations = useRelations();
  const listed = relations.data?.filter(({ kind }) => kind === 'links') ?? [];
  return (
    <SelectField
      label={t('Relation')}
      hint={
        relations.data && listed.length === 0
          ? t('There is no relation with links yet. Create one first.')
          : t('A run replaces all links of the relation.')
      }
      choices={[['', '—'], ...listed.map(({ id, name }) => [String(id), name] as const)]}
      value={String(draft.relationId ?? '')}
      mistake={mistake('/relationId')}
      onChange={(id) => onChange({ relationId: id === '' ? undefined : Number(id) })}
    />
  );
}

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
