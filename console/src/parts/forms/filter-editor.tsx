import type { Attribute, Condition, Filter, Operator } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../../languages/text.ts';
import { readPath, writePath } from '../../rules/category-path.ts';
import {
  asGroup,
  isCondition,
  listOperators,
  readGroup,
  readValue,
  showValue,
  writeGroup,
} from '../../rules/filters.ts';
import { Rows, SelectField, TextField } from './field.tsx';
import { AttributeField, CategoryField, ProductsField } from './suggest-field.tsx';

const listConditions = (): Readonly<Record<string, Filter>> => ({
  [t('Attribute')]: { attribute: '', operator: 'equals', value: '' },
  [t('Category')]: { category: [] },
  [t('Products')]: { identifiers: [] },
  [t('Group')]: { any: [] },
});

export interface FilterShape {
  filter: Filter;
  attributes: readonly Attribute[];
  onChange(filter: Filter): void;
}

/** The filter of a side's products: conditions in groups, nested as deep as needed. */
export function FilterEditor({ filter, attributes, onChange }: FilterShape) {
  const group = asGroup(filter);
  const change = (filters: readonly Filter[]) => onChange(writeGroup({ ...group, filters }));
  return (
    <div className="stack">
      <div className="row">
        <SelectField
          label={t('How the conditions are combined')}
          isQuiet
          choices={[
            ['all', t('All of these match')],
            ['any', t('At least one matches')],
            ['none', t('None of these match')],
          ]}
          value={group.kind}
          onChange={(kind) => onChange(writeGroup({ ...group, kind }))}
        />
        {group.filters.length === 0 && (
          <span className="soft">{t('Without a condition: every product')}</span>
        )}
      </div>
      <div className="filter-group">
        <Rows
          values={group.filters}
          removing={t('Remove this condition')}
          kinds={listConditions()}
          onChange={change}
        >
          {(row) => (
            <FilterItem
              filter={row.value}
              attributes={attributes}
              onChange={row.change}
              remove={row.remove}
            />
          )}
        </Rows>
      </div>
    </div>
  );
}

type Item = FilterShape & { remove: ReactNode };

function FilterItem({ filter, remove, ...editor }: Item) {
  if (readGroup(filter) !== undefined) {
    return (
      <div className="filter-row two">
        <FilterEditor filter={filter} {...editor} />
        {remove}
      </div>
    );
  }
  if (isCondition(filter)) return <ConditionRow condition={filter} remove={remove} {...editor} />;
  return (
    <div className="filter-row named">
      <span className="soft small">{'category' in filter ? t('Category') : t('Products')}</span>
      {'category' in filter ? (
        <PathField path={filter.category} onChange={(category) => editor.onChange({ category })} />
      ) : (
        <ProductsField
          identifiers={'identifiers' in filter ? filter.identifiers : []}
          onChange={(identifiers) => editor.onChange({ identifiers })}
        />
      )}
      {remove}
    </div>
  );
}

const ConditionRow = ({ remove, ...fields }: Omit<Item, 'filter'> & { condition: Condition }) => (
  <div className="filter-row">
    <ConditionFields {...fields} isQuiet />
    {remove}
  </div>
);

interface ConditionShape extends Omit<FilterShape, 'filter'> {
  condition: Condition;
  isQuiet?: boolean;
}

/** An attribute, the comparison, and its value. */
export function ConditionFields({ condition, attributes, onChange, isQuiet = false }: ConditionShape) {
  const definition = attributes.find(({ name }) => name === condition.attribute);
  const isNumeric = definition?.type === 'NUMERIC_ATTRIBUTE';
  const [text, setText] = useState(showValue(condition.value));
  const write = (attribute: string, operator: Operator, next: string) => {
    const value = readValue(next, operator, isNumeric);
    // The condition is passed on as typed. A preview leaves out an incomplete condition, and the service
    // refuses it.
    onChange((value === undefined ? { attribute, operator } : { attribute, operator, value }) as Condition);
  };
  return (
    <>
      <AttributeField
        label={t('Attribute')}
        isQuiet={isQuiet}
        placeholder={t('Attribute')}
        value={condition.attribute}
        choices={attributes.map(({ name }) => name)}
        onChange={(attribute) => write(attribute, condition.operator, text)}
      />
      <SelectField
        label={t('Comparison')}
        isQuiet={isQuiet}
        choices={listOperators()}
        value={condition.operator}
        onChange={(value) => write(condition.attribute, value, text)}
      />
      {condition.operator === 'exists' ? (
        <span />
      ) : (
        <TextField
          label={t('Value')}
          isQuiet={isQuiet}
          value={text}
          placeholder={describeInput(condition.operator, definition?.unitName)}
          onChange={(next) => {
            setText(next);
            write(condition.attribute, condition.operator, next);
          }}
        />
      )}
    </>
  );
}

function describeInput(operator: Operator, unit: string | undefined): string {
  if (operator === 'between') return t('low, high');
  if (operator === 'in') return t('several, comma-separated');
  return unit ? t('Value in {unit}', { unit }) : t('Value');
}

export function PathField({ path, onChange }: { path: readonly string[]; onChange(path: string[]): void }) {
  const [text, setText] = useState(writePath(path));
  return (
    <CategoryField
      isQuiet
      value={text}
      onChange={(next) => {
        setText(next);
        onChange(readPath(next));
      }}
    />
  );
}
