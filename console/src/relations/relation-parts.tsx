import type { Attribute, RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';
import { Fields, SelectField } from '../parts/forms/field.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { Rows } from '../parts/forms/rows.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import { Card } from '../parts/page.tsx';
import { EVERY_PRODUCT, listDirections, OWN_FIELDS } from '../rules/filters.ts';
import { useAttributes } from '../state/definitions.ts';
import { BLANK_MATCH, MatchEditor, type MatchElement } from './match-editor.tsx';

interface Shape {
  draft: RelationDefinition;
  onChange(changed: Partial<RelationDefinition>): void;
}

/** A rule part by part: what the sentence cannot say, too. */
export function RelationParts({ draft, onChange }: Shape) {
  const attributes = useAttributes();
  return (
    <Fields>
      <Card title={t('From these products')}>
        <FilterEditor
          filter={draft.source ?? EVERY_PRODUCT}
          attributes={attributes}
          onChange={(source) => onChange({ source })}
        />
      </Card>
      <Card title={t('To these products')}>
        <FilterEditor
          filter={draft.target ?? EVERY_PRODUCT}
          attributes={attributes}
          onChange={(target) => onChange({ target })}
        />
      </Card>
      {draft.kind !== 'total' && (
        <>
          <Matches draft={draft} onChange={onChange} attributes={attributes} />
          <Sorts draft={draft} onChange={onChange} attributes={attributes} />
        </>
      )}
    </Fields>
  );
}

type WithAttributes = Shape & { attributes: readonly Attribute[] };

function Matches({ draft, onChange, attributes }: WithAttributes) {
  const match = draft.match ?? [];
  const names = [...attributes.map(({ name }) => name), ...OWN_FIELDS];
  return (
    <Card title={t('What must match')}>
      {match.length === 0 && (
        <p className="soft">
          {t('Nothing: every product of one side is related to every product of the other.')}
        </p>
      )}
      <Rows
        values={match}
        removing={t('Remove this match')}
        kinds={{ [t('Match')]: BLANK_MATCH as MatchElement }}
        onChange={(next) => onChange({ match: [...next] })}
      >
        {({ value, change, remove }) => (
          <div className="filter-row">
            <MatchEditor element={value} names={names} onChange={change} />
            {remove}
          </div>
        )}
      </Rows>
    </Card>
  );
}

function Sorts({ draft, onChange, attributes }: WithAttributes) {
  const sort = draft.sort ?? [];
  return (
    <Card title={t('Sort order')}>
      {sort.length === 0 && <p className="soft">{t('Without a sort: the oldest products.')}</p>}
      <Rows
        values={sort}
        removing={t('Remove this sort')}
        kinds={{ [t('Sort')]: { attribute: '', direction: 'asc' as const } }}
        onChange={(next) => onChange({ sort: [...next] })}
      >
        {({ value, change, remove }) => (
          <div className="filter-row named-value">
            <AttributeField
              label={t('Attribute')}
              placeholder={t('Attribute')}
              isQuiet
              value={value.attribute}
              choices={attributes.map(({ name }) => name)}
              onChange={(attribute) => change({ ...value, attribute })}
            />
            <SelectField
              label={t('Direction')}
              isQuiet
              choices={listDirections()}
              value={value.direction}
              onChange={(direction) => change({ ...value, direction })}
            />
            {remove}
          </div>
        )}
      </Rows>
    </Card>
  );
}
