import type { RelationDefinition } from '@relata/client';
import { t } from '../languages/text.ts';
import {
  AreaField,
  Fields,
  OwnNameField,
  Rows,
  SelectField,
  SwitchField,
  TextField,
  useBinding,
} from '../parts/forms/field.tsx';
import { FilterEditor } from '../parts/forms/filter-editor.tsx';
import { Card } from '../parts/page.tsx';
import { EVERY_PRODUCT } from '../rules/filters.ts';
import { useAttributes } from '../state/catalog.ts';
import { useMistake } from '../state/mistakes.ts';
import { useProject } from '../state/rights.ts';
import { RelationSentence } from './relation-sentence.tsx';
import { TotalSentence } from './total-sentence.tsx';

interface Shape {
  draft: RelationDefinition;
  onChange(changed: Partial<RelationDefinition>): void;
}

export function RelationRule({ draft, onChange, onOpenForm }: Shape & { onOpenForm(): void }) {
  const attributes = useAttributes();
  const bind = useBinding(draft, onChange);
  const Sentence = draft.kind === 'total' ? TotalSentence : RelationSentence;
  return (
    <>
      <Sentence draft={draft} attributes={attributes} onChange={onChange} onOpenForm={onOpenForm} />
      {['/source', '/target', '/match', '/sort', '/total', '/limit'].map((path) => (
        <Refused key={path} path={path} />
      ))}
      {draft.kind === 'total' ? (
        <p className="soft small">
          {t('A total judges whole sets under “Does it fit?”. It does not relate products.')}
        </p>
      ) : (
        <div className="fields">
          <Ways draft={draft} onChange={onChange} />
          <SwitchField
            label={t('Must hold to fit')}
            hint={t('Products on its two sides must satisfy it to be used together.')}
            {...bind('constraint')}
          />
        </div>
      )}
    </>
  );
}

export const KindField = ({ draft, onChange }: Shape) => (
  <SelectField
    label={t('Kind')}
    hint={t('It cannot change once the relation is created.')}
    choices={[
      ['rule', t('A rule that finds products')],
      ['links', t('Links that you list')],
      ['total', t('A total over a set of products')],
    ]}
    value={draft.kind ?? 'rule'}
    onChange={(kind) => onChange(emptyOf(kind))}
  />
);

/** The identification of a relation for shops, and its texts for people. Source: docs/interface §12.1. */
export function RelationDetails({ draft, onChange }: Shape) {
  const bind = useBinding(draft, onChange);
  return (
    <Fields>
      <Card title={t('Name and tag')}>
        <div className="fields">
          <OwnNameField required={false} placeholder={t('Bits for this drill')} {...bind('name')} />
          <TextField
            label={t('Tag')}
            maxLength={255}
            placeholder="accessories"
            hint={t('Shops request relations by their tag.')}
            {...bind('tag')}
          />
        </div>
        <AreaField
          label={t('Description')}
          maxLength={4096}
          rows={2}
          {...bind('description')}
          value={draft.description ?? ''}
        />
        <div className="fields">
          <SwitchField label={t('Active')} {...bind('enabled')} value={draft.enabled ?? true} />
          {draft.kind === 'links' && <Ways draft={draft} onChange={onChange} />}
        </div>
      </Card>
      <Names draft={draft} onChange={onChange} />
    </Fields>
  );
}

function Ways({ draft, onChange }: Shape) {
  const bind = useBinding(draft, onChange);
  return (
    <>
      <SwitchField
        label={t('Both ways')}
        hint={t('If a product has no results, the sides are exchanged.')}
        {...bind('twoWay')}
      />
      <SwitchField
        label={t('Exclude variants')}
        hint={t('Products of the same group are not results.')}
        {...bind('excludeSameGroup')}
        value={draft.excludeSameGroup ?? true}
      />
    </>
  );
}

/** A relation of links has no filters, no matches and no sort; a total has a sum and a limit. */
const emptyOf = (kind: NonNullable<RelationDefinition['kind']>): Partial<RelationDefinition> => ({
  kind,
  source: EVERY_PRODUCT,
  target: EVERY_PRODUCT,
  match: [],
  sort: [],
  ...(kind === 'total'
    ? { total: { attribute: '' }, operator: 'lessOrEqual' as const, limit: { attribute: '' }, twoWay: false }
    : NO_TOTAL),
});

/** Undefined members are left out of the JSON. */
const NO_TOTAL = { total: undefined, operator: undefined, limit: undefined, constraint: undefined } as object;

function Refused({ path }: { path: string }) {
  const mistake = useMistake()(path);
  return mistake && <p className="mistake small">{mistake}</p>;
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
              onChange={(locale) => change({ ...value, locale })}
            />
            <TextField
              label={t('Name in this locale')}
              isQuiet
              value={value.name}
              placeholder={'Passende Bits'}
              onChange={(name) => change({ ...value, name })}
            />
            {remove}
          </div>
        )}
      </Rows>
      <Refused path="/names" />
    </Card>
  );
}

/** The conditions of both sides as a form, because nested groups do not fit into a sentence. */
export function SidesForm({ draft, onChange }: Shape) {
  const attributes = useAttributes();
  return (
    <Fields>
      {(['source', 'target'] as const).map((side) => (
        <Card key={side} title={side === 'source' ? t('From these products') : t('To these products')}>
          <FilterEditor
            filter={draft[side] ?? EVERY_PRODUCT}
            attributes={attributes}
            onChange={(filter) => onChange({ [side]: filter })}
          />
        </Card>
      ))}
    </Fields>
  );
}
