import type { MappedColumn } from '@relata/client';
import { t } from '../languages/text.ts';
import { type Choice, SelectField } from '../parts/forms/field.tsx';
import { columnOf, withColumn } from './pipeline-draft.ts';

/** A constant, an expression, several columns: what a list of columns cannot say. */
const NOT_SIMPLE = '…';

/** @returns the found columns, and the present one where it is none of them */
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

/** Where a part of a product comes from. */
export function ColumnField({ columns, spec, onChange, ...rest }: ColumnShape) {
  const present = columnOf(spec);
  const choices = listChoices(columns, present);
  const isMore = typeof spec === 'object' && present !== undefined;
  return (
    <SelectField
      {...rest}
      hint={isMore ? t('changed on the way: {changes}', { changes: describeChange(spec) }) : undefined}
      choices={present === undefined ? [...choices, [NOT_SIMPLE, t('as the JSON says')]] : choices}
      value={present ?? NOT_SIMPLE}
      onChange={(column) => column !== NOT_SIMPLE && onChange(withColumn(spec, column))}
    />
  );
}

interface ColumnsShape extends Omit<ColumnShape, 'spec' | 'onChange' | 'isQuiet'> {
  specs: MappedColumn | readonly MappedColumn[] | undefined;
  onChange(specs: MappedColumn | MappedColumn[] | undefined): void;
}

/** Each chosen column, and an empty field for the next one. */
export function ColumnsField({ label, columns, specs = [], mistake, onChange }: ColumnsShape) {
  const chosen = [specs].flat() as MappedColumn[];
  const put = (at: number, spec: MappedColumn | undefined) => {
    const next = chosen.toSpliced(at, 1, ...(spec === undefined ? [] : [spec]));
    onChange(next.length > 1 ? next : next[0]);
  };
  return (
    <div className="fields">
      {[...chosen, undefined].map((spec, at) => (
        <ColumnField
          key={at}
          label={at === 0 ? label : `${label} ${at + 1}`}
          columns={columns}
          spec={spec}
          mistake={at === 0 ? mistake : undefined}
          onChange={(next) => put(at, next)}
        />
      ))}
    </div>
  );
}

const describeChange = (spec: object) =>
  Object.keys(spec)
    .filter((name) => name !== 'column')
    .join(', ');
