import type {
  MappedColumn,
  Mapping,
  PipelineDefinition,
  PipelineFormat,
  PipelinePreview,
} from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { AreaField, TextField } from '../parts/forms/field.tsx';
import { Card } from '../parts/page.tsx';
import { useMistake, useMistakeOf } from '../state/mistakes.ts';
import { MappedAttributesFields } from './pipeline-attributes.tsx';
import { ColumnField, ColumnsField } from './pipeline-column.tsx';
import { nameFormat, needOfMapping, splitList, withField } from './pipeline-draft.ts';
import type { PipelineShape } from './pipeline-form.tsx';
import { LinkFields, TableFields } from './pipeline-links.tsx';

/** As an identifier is needed, a mapping that has none yet is one too while it is being made. */
const NO_MAPPING = {} as Mapping;

interface Previewed {
  preview: PipelinePreview | undefined;
}

/** Which column becomes which part of a product. Source: docs/interface.md §13.8. */
export function MappingCard({ draft, onChange, preview }: PipelineShape & Previewed) {
  const { mapping } = draft;
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
      <FoundLists preview={preview} mapping={mapping} onChange={put} />
      {isSuggested && <Reasons reasons={preview?.suggestion.reasons} />}
      {preview === undefined && (
        <p className="soft">{t('Read the source, or a file to try, to choose columns.')}</p>
      )}
      {need === 'own' && mapping === undefined ? (
        <p className="soft">{t('This format has a default mapping, so you need none.')}</p>
      ) : (
        <Fields mode={draft.mode} mapping={mapping ?? NO_MAPPING} columns={preview?.columns} onChange={put} />
      )}
    </Card>
  );
}

/** A file that was read as a more general format than its own. */
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

/** Columns whose cells look like lists, each divided by one click. */
function FoundLists({
  preview,
  mapping = NO_MAPPING,
  onChange,
}: Previewed & { mapping: Mapping | undefined } & Pick<FieldsShape, 'onChange'>) {
  return preview?.lists.map((list) => (
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
}

/** What was taken for what, and why; what is not sure stands out. */
function Reasons({ reasons = [] }: Partial<Pick<PipelinePreview['suggestion'], 'reasons'>>) {
  return (
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
}

interface FieldsShape {
  mapping: Mapping;
  columns: readonly string[];
  onChange(mapping: Mapping): void;
}

const listSimple = () =>
  [
    ['identifier', t('Identifier')],
    ['name', t('Name')],
    ['groupIdentifier', t('Group of variants')],
    ['productUrl', t('URL of the product')],
  ] as const;

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
        {listSimple().map(([field, label]) => (
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

/** Everything that a mapping can say, for those who need more than columns. */
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
