import type { Attribute, RelationDefinition } from '@relata/client';
import { Button, IconButton } from '../parts/button.tsx';
import { AreaField, SelectField, SwitchField, TextField } from '../parts/field.tsx';
import { FilterEditor } from '../parts/filter-editor.tsx';
import { Card } from '../parts/page.tsx';
import { SuggestField } from '../parts/suggest-field.tsx';
import { useAttributes } from '../state/attributes.ts';
import { EVERY_PRODUCT, MATCH_OPERATORS, nameMatched, OWN_FIELDS } from '../state/filters.ts';
import { useProject } from '../state/project.ts';
import { RelationLinks } from './relation-links.tsx';

interface Shape {
  draft: RelationDefinition;
  /** Undefined for a relation that is not stored yet. */
  relationId?: number | undefined;
  onChange(changed: Partial<RelationDefinition>): void;
}

/** The definition, part by part. Source: docs/interface.md §12.1. */
export function RelationForm({ draft, relationId, onChange }: Shape) {
  const attributes = useAttributes();
  if (draft.kind === 'links') {
    return (
      <div className="stack wide">
        <Basics draft={draft} relationId={relationId} onChange={onChange} />
        {relationId === undefined ? (
          <p className="note">Create the relation, then upload its links.</p>
        ) : (
          <RelationLinks relationId={relationId} />
        )}
        <Names draft={draft} onChange={onChange} />
      </div>
    );
  }
  return (
    <div className="stack wide">
      <Basics draft={draft} relationId={relationId} onChange={onChange} />
      <Card title="From these products">
        <FilterEditor
          filter={draft.source ?? EVERY_PRODUCT}
          attributes={attributes}
          onChange={(source) => onChange({ source })}
        />
      </Card>
      <Card title="To these products">
        <FilterEditor
          filter={draft.target ?? EVERY_PRODUCT}
          attributes={attributes}
          onChange={(target) => onChange({ target })}
        />
      </Card>
      <Matches draft={draft} onChange={onChange} attributes={attributes} />
      <Sorts draft={draft} onChange={onChange} attributes={attributes} />
      <Names draft={draft} onChange={onChange} />
    </div>
  );
}

function Basics({ draft, relationId, onChange }: Shape) {
  return (
    <Card title="Relation">
      <SelectField
        label="Kind"
        hint="It cannot change once the relation is created."
        choices={[
          ['rule', 'A rule that finds products'],
          ['links', 'Links that you list'],
        ]}
        value={draft.kind ?? 'rule'}
        disabled={relationId !== undefined}
        onChange={(event) => onChange(emptyOf(event.target.value as 'rule' | 'links'))}
      />
      <div className="fields">
        <TextField
          label="Name"
          value={draft.name}
          maxLength={255}
          placeholder="Bits for this drill"
          onChange={(event) => onChange({ name: event.target.value })}
        />
        <TextField
          label="Tag"
          value={draft.tag}
          maxLength={255}
          placeholder="accessories"
          hint="Callers ask for all relations of a tag."
          onChange={(event) => onChange({ tag: event.target.value })}
        />
      </div>
      <AreaField
        label="Description"
        value={draft.description ?? ''}
        maxLength={4096}
        rows={2}
        onChange={(event) => onChange({ description: event.target.value })}
      />
      <div className="fields">
        <SwitchField
          label="Answers"
          checked={draft.enabled ?? true}
          onChange={(enabled) => onChange({ enabled })}
        />
        <SwitchField
          label="Both ways"
          hint="If a product leads to nothing, the sides are exchanged."
          checked={draft.twoWay ?? false}
          onChange={(twoWay) => onChange({ twoWay })}
        />
        <SwitchField
          label="Exclude variants"
          hint="Products of the same group are not results."
          checked={draft.excludeSameGroup ?? true}
          onChange={(excludeSameGroup) => onChange({ excludeSameGroup })}
        />
      </div>
    </Card>
  );
}

/** A relation of links has no filters, no matches and no sort. */
const emptyOf = (kind: 'rule' | 'links'): Partial<RelationDefinition> => ({
  ...{ kind, source: EVERY_PRODUCT, target: EVERY_PRODUCT, match: [], sort: [] },
});

type WithAttributes = Shape & { attributes: readonly Attribute[] };

function Matches({ draft, onChange, attributes }: WithAttributes) {
  const match = draft.match ?? [];
  const names = [...attributes.map(({ name }) => name), ...OWN_FIELDS];
  const put = (at: number, changed: Partial<(typeof match)[number]>) =>
    onChange({ match: match.map((old, place) => (place === at ? { ...old, ...changed } : old)) });
  return (
    <Card title="What must match">
      {match.length === 0 && (
        <p className="soft">Nothing: every product of one side is related to every product of the other.</p>
      )}
      {match.map((one, at) => (
        <div key={at} className="filter-row three">
          <SuggestField
            label="Attribute of the result"
            placeholder="Attribute of the result"
            isQuiet
            value={nameMatched(one.target)}
            choices={names}
            onChange={(target) => put(at, { target })}
          />
          <SelectField
            label="Comparison"
            isQuiet
            choices={MATCH_OPERATORS}
            value={one.operator}
            onChange={(event) => put(at, { operator: event.target.value as 'equals' })}
          />
          <SuggestField
            label="Attribute of the requested product"
            placeholder="Attribute of the requested product"
            isQuiet
            value={nameMatched(one.source)}
            choices={names}
            onChange={(source) => put(at, { source })}
          />
          <IconButton
            icon="cross"
            label="Remove this match"
            onClick={() => onChange({ match: match.filter((_, place) => place !== at) })}
          />
        </div>
      ))}
      <div className="row">
        <Button
          icon="plus"
          look="quiet"
          onClick={() => onChange({ match: [...match, { target: '', operator: 'equals', source: '' }] })}
        >
          Match
        </Button>
      </div>
    </Card>
  );
}

function Sorts({ draft, onChange, attributes }: WithAttributes) {
  const sort = draft.sort ?? [];
  const put = (at: number, changed: Partial<(typeof sort)[number]>) =>
    onChange({ sort: sort.map((old, place) => (place === at ? { ...old, ...changed } : old)) });
  return (
    <Card title="Sort order">
      {sort.length === 0 && <p className="soft">Without a sort: the oldest products.</p>}
      {sort.map((one, at) => (
        <div key={at} className="filter-row named-value">
          <SuggestField
            label="Attribute"
            placeholder="Attribute"
            isQuiet
            value={one.attribute}
            choices={attributes.map(({ name }) => name)}
            onChange={(attribute) => put(at, { attribute })}
          />
          <SelectField
            label="Direction"
            isQuiet
            choices={[
              ['asc', 'smallest first'],
              ['desc', 'largest first'],
            ]}
            value={one.direction}
            onChange={(event) => put(at, { direction: event.target.value as 'asc' })}
          />
          <IconButton
            icon="cross"
            label="Remove this sort"
            onClick={() => onChange({ sort: sort.filter((_, place) => place !== at) })}
          />
        </div>
      ))}
      <div className="row">
        <Button
          icon="plus"
          look="quiet"
          onClick={() => onChange({ sort: [...sort, { attribute: '', direction: 'asc' }] })}
        >
          Sort
        </Button>
      </div>
    </Card>
  );
}

function Names({ draft, onChange }: Shape) {
  const project = useProject();
  const names = draft.names ?? [];
  const put = (at: number, changed: Partial<(typeof names)[number]>) =>
    onChange({ names: names.map((old, place) => (place === at ? { ...old, ...changed } : old)) });
  return (
    <Card title="Names for shoppers">
      {names.length === 0 && <p className="soft">None: the shop uses its own name for the relation.</p>}
      {names.map((one, at) => (
        <div key={at} className="filter-row named-value">
          <TextField
            label="Locale"
            isQuiet
            value={one.locale}
            placeholder="de-DE"
            onChange={(event) => put(at, { locale: event.target.value })}
          />
          <TextField
            label="Name in this locale"
            isQuiet
            value={one.name}
            placeholder="Passende Bits"
            onChange={(event) => put(at, { name: event.target.value })}
          />
          <IconButton
            icon="cross"
            label="Remove this name"
            onClick={() => onChange({ names: names.filter((_, place) => place !== at) })}
          />
        </div>
      ))}
      <div className="row">
        <Button
          icon="plus"
          look="quiet"
          onClick={() => onChange({ names: [...names, { locale: project.locale, name: '' }] })}
        >
          Name
        </Button>
      </div>
    </Card>
  );
}
