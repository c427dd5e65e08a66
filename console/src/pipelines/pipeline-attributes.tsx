import type { MappedColumn, Mapping } from '@relata/client';
import { t } from '../languages/text.ts';
import { IconButton } from '../parts/button.tsx';
import { NameField, SwitchField } from '../parts/forms/field.tsx';
import { ColumnField } from './pipeline-column.tsx';
import { type MappedAttributes, readAttributes, withField, writeAttributes } from './pipeline-draft.ts';

interface Shape {
  mapping: Mapping;
  columns: readonly string[];
  onChange(mapping: Mapping): void;
}

type Chosen = MappedAttributes[string];

/** All the rest, or those that are chosen, or both: the chosen ones have names of their own. */
export function MappedAttributesFields({ mapping, columns, onChange }: Shape) {
  const { chosen, hasRest } = readAttributes(mapping);
  const entries = Object.entries(chosen);
  const put = (next: readonly (readonly [string, Chosen])[], rest = hasRest) =>
    onChange(withField(mapping, 'attributes', writeAttributes(Object.fromEntries(next), rest)));
  const rename = (at: number, key: string) => {
    if (key !== '' && key !== '*' && !(key in chosen))
      put(entries.map((entry, place) => (place === at ? [key, entry[1]] : entry)));
  };
  const choose = (at: number, spec: MappedColumn | undefined) =>
    put(
      entries.flatMap((entry, place) => {
        if (place !== at) return [entry];
        return spec === undefined ? [] : [[entry[0], spec as Chosen] as const];
      }),
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
      {entries.map(([key, spec], at) => (
        <div key={key} className="filter-row named-value">
          <NameField
            label={t('Name of the attribute {key}', { key })}
            value={key}
            onChange={(next) => rename(at, next)}
          />
          <ColumnField
            label={t('Column of {key}', { key })}
            isQuiet
            columns={columns}
            // A list of columns is shown as what only the JSON says.
            spec={Array.isArray(spec) ? {} : (spec as MappedColumn)}
            onChange={(next) => choose(at, next)}
          />
          <IconButton icon="cross" label={t('Remove {key}', { key })} onClick={() => choose(at, undefined)} />
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
