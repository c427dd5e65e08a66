import type { Attribute, RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';
import { AreaField, SelectField, SwitchField, TextField } from '../parts/forms/field.tsx';
import { Fields } from '../parts/forms/fields.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { Rows } from '../parts/forms/rows.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import { Card } from '../parts/page.tsx';
import { EVERY_PRODUCT, listMatchOperators, nameMatched, OWN_FIELDS } from '../rules/filters.ts';
import { useAttributes } from '../state/attributes.ts';
import { useMistake } from '../state/mistakes.ts';
import { useProject } from '../state/project.ts';
import { RelationLinks } from './relation-links.tsx';
import { RelationSentence } from './relation-sentence.tsx';

interface Shape {
  draft: RelationDefinition;
  /** Undefined for a relation that is not stored yet. */
  relationId?: number | undefined;
  onChange(changed: Partial<RelationDefinition>): void;
}

/** A rule as a sentence. */
export function RelationRule({ draft, onChange, onOpenForm }: Shape & { onOpenForm(): void }) {
  const attributes = useAttributes();
  return (
    <Fields>
      <Card title={t('What goes together')}>
        <RelationSentence draft={draft} attributes={attributes} onChange={onChange} onOpenForm={onOpenForm} />
        {['/source', '/target', '/match', '/sort'].map((place) => (
          <Refused key={place} place={place} />
        ))}
        <div className="fields">
          <Ways draft={draft} onChange={onChange} />
        </div>
      </Card>
    </Fields>
  );
}

interface FormShape extends Shape {
  /** Whether the rule is shown part by part too. */
  isOpen: boolean;
  /** Another one when the rule was said anew: the form begins anew. */
  said: number;
  onToggle(isOpen: boolean): void;
}

/** Everything else of the definition, and the rule part by part. Source: docs/interface.md §12.1. */
export function RelationForm({ draft, relationId, onChange, isOpen, said, onToggle }: FormShape) {
  if (draft.kind === 'links') {
    return (
      <div className="stack wide">
        <Fields>
          <Basics draft={draft} relationId={relationId} onChange={onChange} />
        </Fields>
        {relationId === undefined ? (
          <p className="note">{t('Create the relation, then upload its links.')}</p>
        ) : (
          <RelationLinks relationId={relationId} />
        )}
        <Fields>
          <Names draft={draft} onChange={onChange} />
        </Fields>
      </div>
    );
  }
  return (
    <div className="stack wide">
      <Fields>
        <Basics draft={draft} relationId={relationId} onChange={onChange} />
      </Fields>
      <details className="more" open={isOpen} onToggle={({ currentTarget }) => onToggle(currentTarget.open)}>
        <summary>{t('More: the rule as a form, with groups of conditions')}</summary>
        {isOpen && <Parts key={said} draft={draft} onChange={onChange} />}
      </details>
      <Fields>
        <Names draft={draft} onChange={onChange} />
      </Fields>
    </div>
  );
}

function Parts({ draft, onChange }: Shape) {
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
      <Matches draft={draft} onChange={onChange} attributes={attributes} />
      <Sorts draft={draft} onChange={onChange} attributes={attributes} />
    </Fields>
  );
}

function Basics({ draft, relationId, onChange }: Shape) {
  const mistake = useMistake();
  return (
    <Card title={t('Relation')}>
      <SelectField
        label={t('Kind')}
        hint={t('It cannot change once the relation is created.')}
        choices={[
          ['rule', t('A rule that finds products')],
          ['links', t('Links that you list')],
        ]}
        value={draft.kind ?? 'rule'}
        disabled={relationId !== undefined}
        onChange={(event) => onChange(emptyOf(event.target.value as 'rule' | 'links'))}
      />
      <div className="fields">
        <TextField
          label={t('Name')}
          value={draft.name}
          mistake={mistake('/name')}
          maxLength={255}
          placeholder={t('Bits for this drill')}
          onChange={(event) => onChange({ name: event.target.value })}
        />
        <TextField
          label={t('Tag')}
          value={draft.tag}
          mistake={mistake('/tag')}
          maxLength={255}
          placeholder="accessories"
          hint={t('Callers ask for all relations of a tag.')}
          onChange={(event) => onChange({ tag: event.target.value })}
        />
      </div>
      <AreaField
        label={t('Description')}
        value={draft.description ?? ''}
        maxLength={4096}
        rows={2}
        onChange={(event) => onChange({ description: event.target.value })}
      />
      <div className="fields">
        <SwitchField
          label={t('Answers')}
          checked={draft.enabled ?? true}
          onChange={(enabled) => onChange({ enabled })}
        />
        {draft.kind === 'links' && <Ways draft={draft} onChange={onChange} />}
      </div>
    </Card>
  );
}

/** Of rules and of links. */
function Ways({ draft, onChange }: Shape) {
  return (
    <>
      <SwitchField
        label={t('Both ways')}
        hint={t('If a product leads to nothing, the sides are exchanged.')}
        checked={draft.twoWay ?? false}
        onChange={(twoWay) => onChange({ twoWay })}
      />
      <SwitchField
        label={t('Exclude variants')}
        hint={t('Products of the same group are not results.')}
        checked={draft.excludeSameGroup ?? true}
        onChange={(excludeSameGroup) => onChange({ excludeSameGroup })}
      />
    </>
  );
}

/** A relation of links has no filters, no matches and no sort. */
const emptyOf = (kind: 'rule' | 'links'): Partial<RelationDefinition> => ({
  ...{ kind, source: EVERY_PRODUCT, target: EVERY_PRODUCT, match: [], sort: [] },
});

/** Why a part was refused. */
function Refused({ place }: { place: string }) {
  const mistake = useMistake()(place);
  return mistake && <p className="mistake small">{mistake}</p>;
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
        kinds={{ [t('Match')]: { target: '', operator: 'equals' as const, source: '' } }}
        onChange={(next) => onChange({ match: [...next] })}
      >
        {({ value, change, remove }) => (
          <div className="filter-row three">
            <AttributeField
              label={t('Attribute of the result')}
              placeholder={t('Attribute of the result')}
              isQuiet
              value={nameMatched(value.target)}
              choices={names}
              onChange={(target) => change({ ...value, target })}
            />
            <SelectField
              label={t('Comparison')}
              isQuiet
              choices={listMatchOperators()}
              value={value.operator}
              onChange={(event) => change({ ...value, operator: event.target.value as 'equals' })}
            />
            <AttributeField
              label={t('Attribute of the requested product')}
              placeholder={t('Attribute of the requested product')}
              isQuiet
              value={nameMatched(value.source)}
              choices={names}
              onChange={(source) => change({ ...value, source })}
            />
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
              choices={[
                ['asc', t('smallest first')],
                ['desc', t('largest first')],
              ]}
              value={value.direction}
              onChange={(event) => change({ ...value, direction: event.target.value as 'asc' })}
            />
            {remove}
          </div>
        )}
      </Rows>
    </Card>
  );
}

function Names({ draft, onChange }: Shape) {
  const project = useProject();
  const names = draft.names ?? [];
  return (
    <Card title={t('Names for shoppers')}>
      {names.length === 0 && (
        <p className="soft">{t('None: the shop uses its own name for the relation.')}</p>
      )}
      <Rows
        values={names}
        removing={t('Remove this name')}
        kinds={{ [t('Name')]: { locale: project.locale, name: '' } }}
        onChange={(next) => onChange({ names: [...next] })}
      >
        {({ value, change, remove }) => (
          <div className="filter-row named-value">
            <TextField
              label={t('Locale')}
              isQuiet
              value={value.locale}
              placeholder={'de-DE'}
              onChange={(event) => change({ ...value, locale: event.target.value })}
            />
            <TextField
              label={t('Name in this locale')}
              isQuiet
              value={value.name}
              placeholder={'Passende Bits'}
              onChange={(event) => change({ ...value, name: event.target.value })}
            />
            {remove}
          </div>
        )}
      </Rows>
      <Refused place="/names" />
    </Card>
  );
}
