import type {
  Attribute,
  AttributeCoverage,
  AttributeEffect as EffectAnswer,
  Ontology,
  SentAttribute,
  SentOntology,
  Tagged,
} from '@relata/client';
import { type ReactNode, useMemo, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { type Draft, Meanwhile, mergeOver, useDraft } from '../parts/forms/draft.tsx';
import {
  Fields,
  SelectField,
  SwitchField,
  TextField,
  TextsField,
  useBinding,
} from '../parts/forms/field.tsx';
import { ErrorNote, FormDialog, Loading } from '../parts/page.tsx';
import { CountAll, SampleNote } from '../parts/sample-note.tsx';
import { Bars, Figure, Joined, ProductLink } from '../parts/show.tsx';
import type { PartNames } from '../rules/changes.ts';
import { listAttributes } from '../rules/filters.ts';
import { listTypes } from '../rules/format.ts';
import { type Extent, formatCounted } from '../rules/sampled.ts';
import { type Coverage, useRelations } from '../state/catalog.ts';
import { extentOf, useCounts } from '../state/counts.ts';
import { tell } from '../state/notices.ts';
import { useRights } from '../state/rights.ts';
import { projectLink } from '../state/route.ts';
import { useSettled } from '../state/timing.ts';

const SHOWN_VALUES = 12;
export type ChangeOntology = (ontology: Ontology) => SentOntology;

/** An attribute as typed: all parts are present, so that two versions can be compared. */
type AttributeDraft = Required<Pick<Attribute, 'name' | 'type' | 'unitName' | 'decimal' | 'synonyms'>>;

const NEW: AttributeDraft = {
  name: '',
  type: 'TEXT_ATTRIBUTE',
  unitName: '',
  decimal: 'point',
  synonyms: [],
};

const toDraft = ({ name, type, unitName, decimal, synonyms }: Attribute): AttributeDraft => ({
  name,
  type,
  unitName: unitName ?? '',
  decimal: decimal ?? 'point',
  synonyms: synonyms ?? [],
});

const nameParts = (): PartNames<AttributeDraft> => ({
  name: t('Name'),
  type: t('Type'),
  unitName: t('Unit'),
  decimal: t('Decimal sign'),
  synonyms: t('Synonyms'),
});

interface Shape {
  /** The attribute as it was when the dialog opened; undefined for a new one. */
  opened: Attribute | undefined;
  ontology: Tagged<Ontology>;
  coverage: Coverage | undefined;
  onClose(): void;
  onSave(change: ChangeOntology): Promise<void>;
}

/** The dialog of one attribute: its type and unit to edit, and its values to read. */
export function AttributeDialog({ opened, ontology, coverage, onClose, onSave }: Shape) {
  const { canChange } = useRights();
  const stored = useMemo(() => {
    const stored = opened && findAttribute(ontology.value, opened);
    return stored && { value: toDraft(stored), etag: ontology.etag };
  }, [opened, ontology]);
  const edited = useDraft<AttributeDraft>(stored, NEW, nameParts());
  const { draft, base, change, round } = edited;
  const [follows, setFollows] = useState(true);
  const before = toAttribute(opened, base.value);
  const changed = toAttribute(opened, draft);
  const after = opened ? withName(changed, before.name, follows) : changed;
  const save = () =>
    onSave((now) => withAttribute(now, opened, { ...edited, follows })).then(() => edited.adopt(draft));
  const remove = () =>
    onSave((now) => ({
      ...now,
      attributes: now.attributes.filter((attribute) => attribute !== findAttribute(now, opened ?? draft)),
    })).then(onClose);
  return (
    <FormDialog
      title={opened?.name ?? t('New attribute')}
      action={t('Save')}
      isWide
      onClose={onClose}
      onSubmit={save}
      canSubmit={draft.name !== ''}
      isReadOnly={!canChange}
      isUnsaved={edited.isTouched}
    >
      <Meanwhile what="attribute" of={edited} />
      <AttributeFields key={round} draft={draft} change={change} />
      {opened && (
        <>
          {draft.name !== before.name && (
            <SwitchField
              label={t('Keep “{name}” as a synonym, and use the new name wherever it is used', {
                name: before.name,
              })}
              hint={t(
                'Otherwise its values are no longer used, and everything that uses “{name}” stops working.',
                { name: before.name },
              )}
              value={follows}
              onChange={setFollows}
            />
          )}
          <AttributeEffect before={before} after={after} />
          <Values coverage={coverage?.byName.get(opened.name)} extent={coverage?.extent} />
          <UsedBy attribute={before.name} />
          <RemoveAttribute onRemove={() => void remove().catch(tell.bad)} />
        </>
      )}
    </FormDialog>
  );
}

const findAttribute = ({ attributes }: Ontology, { id, name }: Pick<Attribute, 'id' | 'name'>) =>
  attributes.find((attribute) => (id === undefined ? attribute.name === name : attribute.id === id));

/**
 * @returns the current ontology with the attribute, merged with changes of other users
 * @throws Error with a text for the user
 */
function withAttribute(
  now: Ontology,
  opened: Attribute | undefined,
  { follows, ...edited }: Draft<AttributeDraft> & { readonly follows: boolean },
): SentOntology {
  if (opened === undefined)
    return { ...now, attributes: [...now.attributes, toAttribute(undefined, edited.draft)] };
  const theirs = findAttribute(now, opened);
  if (theirs === undefined) throw new Error(t('This attribute was removed in the meantime.'));
  const merged = withName(
    toAttribute(theirs, mergeOver(edited, toDraft(theirs), 'attribute')),
    theirs.name,
    follows,
  );
  return {
    ...now,
    attributes: now.attributes.map((attribute) => (attribute === theirs ? merged : attribute)),
  };
}

/**
 * @returns the renamed attribute. References follow the new name if the user chose that. Source: docs/interface
 * §11.8
 */
const withName = (attribute: Attribute, former: string, follows: boolean): SentAttribute =>
  follows && attribute.name !== former && attribute.name !== ''
    ? { ...attribute, name: former, renameTo: attribute.name }
    : attribute;

/** Keeps only the parts that the type allows. Source: docs/interface §11.1. */
function toAttribute(stored: Attribute | undefined, draft: AttributeDraft): Attribute {
  const { unitName: _, decimal: __, synonyms: ___, ...rest } = stored ?? draft;
  const { name, type, unitName, decimal, synonyms } = draft;
  const isNumeric = type === 'NUMERIC_ATTRIBUTE';
  return {
    ...rest,
    name,
    type,
    ...(isNumeric && unitName && { unitName }),
    ...(isNumeric && decimal === 'comma' && { decimal }),
    ...(synonyms.length > 0 && { synonyms }),
  };
}

function AttributeFields({ draft, change }: Pick<Draft<AttributeDraft>, 'draft' | 'change'>) {
  const bind = useBinding(draft, change);
  return (
    <Fields>
      <div className="fields">
        <TextField label={t('Name')} maxLength={255} {...bind('name')} />
        <SelectField label={t('Type')} choices={listTypes()} {...bind('type')} />
        {draft.type === 'NUMERIC_ATTRIBUTE' && (
          <>
            <TextField
              label={t('Unit')}
              maxLength={64}
              placeholder={t('none: a number alone')}
              hint={t('With a unit, values are written like 12.5 in')}
              {...bind('unitName')}
            />
            <SelectField
              label={t('Decimal sign')}
              choices={[
                ['point', '12.5'],
                ['comma', '12,5'],
              ]}
              {...bind('decimal')}
            />
          </>
        )}
        <TextsField
          label={t('Synonyms')}
          placeholder="Color, Farbe"
          hint={t('Other names of this attribute in your files, comma-separated')}
          {...bind('synonyms')}
        />
      </div>
    </Fields>
  );
}

function UsedBy({ attribute }: { attribute: string }) {
  const { data = [] } = useRelations();
  const using = data.filter((relation) => listAttributes(relation).has(attribute));
  if (using.length === 0) return null;
  return (
    <p className="soft small">
      {rich('Relations that use it: {relations}', {
        relations: (
          <Joined list={using}>{({ id, name }) => <a href={projectLink('relations', id)}>{name}</a>}</Joined>
        ),
      })}
    </p>
  );
}

function RemoveAttribute({ onRemove }: { onRemove(): void }) {
  const { canChange } = useRights();
  const [isConfirming, setConfirming] = useState(false);
  if (!canChange) return null;
  if (!isConfirming)
    return (
      <div className="row">
        <Button look="danger" onClick={() => setConfirming(true)}>
          {t('Remove the attribute …')}
        </Button>
      </div>
    );
  return (
    <div className="note warn" role="alert">
      <p>
        {t('Its values are no longer used, and relations that use it cannot work until you change them.')}
      </p>
      <div className="row">
        <Button onClick={() => setConfirming(false)}>{t('Keep it')}</Button>
        <Button look="danger" onClick={onRemove}>
          {t('Remove the attribute')}
        </Button>
      </div>
    </div>
  );
}

interface ValuesShape {
  coverage: AttributeCoverage | undefined;
  extent: Extent | undefined;
}

function Values({ coverage, extent }: ValuesShape) {
  if (coverage === undefined || extent === undefined) return null;
  const most = coverage.values[0]?.count ?? 1;
  const problems = countProblems(coverage);
  const examples = coverage.problems.flatMap(({ code, examples: some }) =>
    some.map((example) => ({ ...example, code })),
  );
  return (
    <div className="columns">
      <div className="stack">
        <h3>{t('Values')}</h3>
        <SampleNote extent={extent} />
        {coverage.hasMoreValues && (
          <p className="soft small">
            {t('Only the first {count, number} different values are counted.', {
              count: coverage.distinctValues,
            })}
          </p>
        )}
        <Bars
          list={coverage.values.slice(0, SHOWN_VALUES).map(({ value, count }) => ({
            key: value,
            words: value,
            label: value,
            count: formatCounted(count, extent),
            share: count / most,
          }))}
        />
      </div>
      {problems > 0 && (
        <div className="stack">
          <h3>{t('{problems} not usable', { problems: formatCounted(problems, extent) })}</h3>
          <ul className="stack small">
            {examples.slice(0, SHOWN_VALUES).map(({ identifier, value, code }) => (
              <li key={identifier + value} className="row">
                <span className="tag">{code}</span>
                <span className="mono">{value}</span>
                <ProductLink identifier={identifier} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

const SHOWN = 5;

function AttributeEffect({ before, after }: { before: Attribute; after: SentAttribute }) {
  const sent = useSettled(JSON.stringify(after));
  const isChanged = sent !== JSON.stringify(before);
  const effect = useCounts<EffectAnswer>({
    key: ['attribute-effect', sent],
    ask: ({ relata, projectId, signal }, sample) =>
      relata.ontology.preview(projectId, JSON.parse(sent) as SentAttribute, { sample, signal }),
    isEnabled: isChanged,
    staleMs: 30_000,
  });
  if (!isChanged) return null;
  if (effect.error) return <ErrorNote error={effect.error} />;
  if (!effect.data) return <Loading words={t('Counting the effect …')} />;
  return (
    <>
      <Effect effect={effect.data} />
      <CountAll {...effect} />
    </>
  );
}

export function Effect({ effect }: { effect: EffectAnswer }) {
  const { kept, gained, lost, uses = [] } = effect;
  const extent = extentOf(effect);
  return (
    <div className="stack" aria-live="polite">
      <h3>{t('Effect of saving')}</h3>
      <SampleNote extent={extent} />
      <dl className="figures">
        <Figure label={t('Values that stay usable')} value={formatCounted(kept, extent)} />
        <Figure label={t('Become usable')} value={formatCounted(gained.count, extent)} />
        <Figure label={t('No longer usable')} value={formatCounted(lost.count, extent)} />
      </dl>
      <Listed title={t('Use the new name from now on')} list={uses.filter(({ isRenamed }) => isRenamed)}>
        {linkUse}
      </Listed>
      <Listed
        title={t('Keep using the former name, as a synonym')}
        list={uses.filter(({ isRenamed }) => !isRenamed)}
      >
        {linkUse}
      </Listed>
      {[[t('Become usable'), gained.examples] as const, [t('No longer usable'), lost.examples] as const].map(
        ([title, examples]) => (
          <Listed key={title} title={title} list={examples.slice(0, SHOWN)}>
            {({ identifier, value }) => (
              <>
                <span className="mono">{value}</span> <ProductLink identifier={identifier} />
              </>
            )}
          </Listed>
        ),
      )}
    </div>
  );
}

type Use = NonNullable<EffectAnswer['uses']>[number];

/** Links relations, channels, pipelines and the project's settings, each to its page. */
function linkUse({ kind, id, name }: Use): ReactNode {
  if (kind === 'project') return <a href={projectLink('settings')}>{t('the settings of the project')}</a>;
  return <a href={projectLink(`${kind}s`, id)}>{name}</a>;
}

interface ListedShape<One> {
  title: string;
  list: readonly One[];
  children(value: One): ReactNode;
}

function Listed<One>({ title, list, children }: ListedShape<One>) {
  if (list.length === 0) return null;
  return (
    <p className="small">
      <span className="soft">{title}: </span>
      <Joined list={list}>{children}</Joined>
    </p>
  );
}

export const countProblems = ({ problems }: AttributeCoverage): number =>
  problems.reduce((sum, { count }) => sum + count, 0);
