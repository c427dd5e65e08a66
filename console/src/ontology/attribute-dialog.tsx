import type {
  Attribute,
  AttributeCoverage,
  AttributeEffect as EffectAnswer,
  Ontology,
  Coverage as OntologyCoverage,
} from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { useUnsaved } from '../parts/forms/draft.tsx';
import { Fields, SelectField, TextField } from '../parts/forms/field.tsx';
import { ErrorNote, Loading } from '../parts/page.tsx';
import { Figure, Meter } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { listAttributes } from '../rules/filters.ts';
import { formatCount, listTypes } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { useSettled } from '../state/settled.ts';

const SHOWN_VALUES = 12;
const NEW: Attribute = { name: '', type: 'TEXT_ATTRIBUTE' };

interface Shape {
  /** undefined: a new one. */
  attribute: Attribute | undefined;
  coverage: AttributeCoverage | undefined;
  onClose(): void;
  onSave(change: (ontology: Ontology) => Ontology): Promise<void>;
}

/** One attribute: its type and unit to change, its values to look at. */
export function AttributeDialog({ attribute, coverage, onClose, onSave }: Shape) {
  const { canChange } = useRights();
  const tell = useTell();
  const start = attribute ?? NEW;
  const [draft, setDraft] = useState<Attribute>(start);
  const change = (changed: Partial<Attribute>) => setDraft({ ...draft, ...changed });
  const [synonyms, setSynonyms] = useState(draft.synonyms?.join(', ') ?? '');
  const written = tidy(draft, synonyms);
  const before = tidy(start, start.synonyms?.join(',') ?? '');
  useUnsaved(JSON.stringify(written) !== JSON.stringify(before));
  const save = () =>
    onSave((ontology) => ({ ...ontology, attributes: replace(ontology.attributes, attribute, written) }));
  const remove = () =>
    onSave((ontology) => ({
      ...ontology,
      attributes: ontology.attributes.filter(({ name }) => name !== attribute?.name),
    })).then(onClose);
  return (
    <FormDialog
      title={attribute?.name ?? t('New attribute')}
      action={t('Save')}
      isWide
      isOpen
      onClose={onClose}
      onSubmit={save}
      canSubmit={draft.name !== ''}
      isReadOnly={!canChange}
    >
      <AttributeFields {...{ draft, change, synonyms, setSynonyms }} />
      {attribute && (
        <>
          <AttributeEffect before={before} after={written} />
          {coverage && <Values coverage={coverage} />}
          <UsedBy attribute={attribute.name} />
          <RemoveAttribute onRemove={() => void remove().catch(tell.bad)} />
        </>
      )}
    </FormDialog>
  );
}

interface FieldsShape {
  draft: Attribute;
  change(changed: Partial<Attribute>): void;
  synonyms: string;
  setSynonyms(synonyms: string): void;
}

function AttributeFields({ draft, change, synonyms, setSynonyms }: FieldsShape) {
  return (
    <Fields>
      <div className="fields">
        <TextField
          label={t('Name')}
          value={draft.name}
          maxLength={255}
          onChange={(event) => change({ name: event.target.value })}
        />
        <SelectField
          label={t('Type')}
          choices={listTypes()}
          value={draft.type}
          onChange={(event) => change({ type: event.target.value as Attribute['type'] })}
        />
        {draft.type === 'NUMERIC_ATTRIBUTE' && (
          <>
            <TextField
              label={t('Unit')}
              value={draft.unitName ?? ''}
              maxLength={64}
              placeholder={t('none: a number alone')}
              hint={t('With a unit, values are written like 12.5 in')}
              onChange={(event) => change({ unitName: event.target.value })}
            />
            <SelectField
              label={t('Decimal sign')}
              choices={[
                ['point', '12.5'],
                ['comma', '12,5'],
              ]}
              value={draft.decimal ?? 'point'}
              onChange={(event) => change({ decimal: event.target.value as 'point' | 'comma' })}
            />
          </>
        )}
        <TextField
          label={t('Synonyms')}
          value={synonyms}
          placeholder="Color, Farbe"
          hint={t('Other upload keys for this attribute, comma-separated')}
          onChange={(event) => setSynonyms(event.target.value)}
        />
      </div>
    </Fields>
  );
}

/** What a change of the attribute would change too. */
function UsedBy({ attribute }: { attribute: string }) {
  const relata = useRelata();
  const project = useProject();
  const { data = [] } = useQuery({
    queryKey: ['relations', project.id],
    queryFn: ({ signal }) => relata.relations.list(project.id, { signal }),
  });
  const using = data.filter((relation) => listAttributes(relation).has(attribute));
  if (using.length === 0) return null;
  return (
    <p className="soft small">
      {rich('Relations that use it: {relations}', {
        relations: using.map(({ id, name }, at) => (
          <span key={id}>
            {at > 0 && ', '}
            <a href={linkTo('projects', project.id, 'relations', id)}>{name}</a>
          </span>
        )),
      })}
    </p>
  );
}

function RemoveAttribute({ onRemove }: { onRemove(): void }) {
  const { canChange } = useRights();
  const [isAsked, setAsked] = useState(false);
  if (!canChange) return null;
  if (!isAsked)
    return (
      <div className="row">
        <Button look="danger" onClick={() => setAsked(true)}>
          {t('Remove the attribute …')}
        </Button>
      </div>
    );
  return (
    <div className="note warn" role="alert">
      <p>{t('Its facts are removed, and relations that use it are misconfigured until you change them.')}</p>
      <div className="row">
        <Button onClick={() => setAsked(false)}>{t('Keep it')}</Button>
        <Button look="danger" onClick={onRemove}>
          {t('Remove the attribute')}
        </Button>
      </div>
    </div>
  );
}

/** Only what the type allows. Source: docs/interface.md §11.1. */
function tidy({ unitName, decimal, synonyms: _, ...attribute }: Attribute, synonyms: string): Attribute {
  const list = synonyms
    .split(',')
    .map((synonym) => synonym.trim())
    .filter((synonym) => synonym !== '');
  const isNumeric = attribute.type === 'NUMERIC_ATTRIBUTE';
  return {
    ...attribute,
    ...(isNumeric && unitName && { unitName }),
    ...(isNumeric && decimal === 'comma' && { decimal }),
    ...(list.length > 0 && { synonyms: list }),
  };
}

function replace(attributes: readonly Attribute[], old: Attribute | undefined, next: Attribute): Attribute[] {
  if (old === undefined) return [...attributes, next];
  return attributes.map((attribute) => (attribute.name === old.name ? next : attribute));
}

function Values({ coverage }: { coverage: AttributeCoverage }) {
  const project = useProject();
  const most = coverage.values[0]?.count ?? 1;
  const problems = countProblems(coverage);
  const examples = coverage.problems.flatMap(({ code, examples: some }) =>
    some.map((example) => ({ ...example, code })),
  );
  return (
    <div className="columns">
      <div className="stack">
        <h3>{t('Values')}</h3>
        <ul className="bars">
          {coverage.values.slice(0, SHOWN_VALUES).map(({ value, count }) => (
            <li key={value}>
              <span className="cut">{value}</span>
              <span className="soft">{formatCount(count)}</span>
              <Meter share={count / most} label={value} />
            </li>
          ))}
        </ul>
      </div>
      {problems > 0 && (
        <div className="stack">
          <h3>{t('{problems} not extracted', { problems: formatCount(problems) })}</h3>
          <ul className="stack small">
            {examples.slice(0, SHOWN_VALUES).map(({ identifier, value, code }) => (
              <li key={identifier + value} className="row">
                <span className="tag">{code}</span>
                <span className="mono">{value}</span>
                <a href={linkTo('projects', project.id, 'products', identifier)}>{identifier}</a>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

const SHOWN = 5;

/** What a change would do to the facts, before it is saved. */
function AttributeEffect({ before, after }: { before: Attribute; after: Attribute }) {
  const relata = useRelata();
  const project = useProject();
  const wanted = useSettled(JSON.stringify(after));
  const isChanged = wanted !== JSON.stringify(before);
  const effect = useQuery({
    queryKey: ['attribute-effect', project.id, wanted],
    queryFn: ({ signal }) => relata.ontology.preview(project.id, JSON.parse(wanted) as Attribute, { signal }),
    enabled: isChanged,
    staleTime: 30_000,
  });
  if (!isChanged) return null;
  if (effect.error) return <ErrorNote error={effect.error} />;
  if (!effect.data) return <Loading words={t('Counting the effect …')} />;
  return <Effect effect={effect.data} />;
}

export function Effect({ effect }: { effect: EffectAnswer }) {
  const { kept, gained, lost, sampled, sampledProducts } = effect;
  return (
    <div className="stack" aria-live="polite">
      <h3>
        {sampled
          ? t('Effect of saving (of {count, plural, one {# product} other {# products}} sampled)', {
              count: sampledProducts,
            })
          : t('Effect of saving')}
      </h3>
      <dl className="figures">
        <Figure label={t('Values that remain facts')} value={formatCount(kept)} />
        <Figure label={t('Become facts')} value={formatCount(gained.count)} />
        <Figure label={t('No longer facts')} value={formatCount(lost.count)} />
      </dl>
      <Examples title={t('Become facts')} list={gained.examples} />
      <Examples title={t('No longer facts')} list={lost.examples} />
    </div>
  );
}

function Examples({
  title,
  list,
}: {
  title: string;
  list: readonly { identifier: string; value: string }[];
}) {
  const project = useProject();
  if (list.length === 0) return null;
  return (
    <p className="small">
      <span className="soft">{title}: </span>
      {list.slice(0, SHOWN).map(({ identifier, value }, at) => (
        <span key={identifier + value}>
          {at > 0 && ', '}
          <span className="mono">{value}</span>{' '}
          <a href={linkTo('projects', project.id, 'products', identifier)}>{identifier}</a>
        </span>
      ))}
    </p>
  );
}

export interface Coverage {
  readonly answer: OntologyCoverage;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
}

/** Of all products, or of those of a category. Counting takes some seconds in a large catalog. */
export function useCoverage(
  projectId: number,
  category: readonly string[] = [],
): {
  coverage: Coverage | undefined;
  isCounting: boolean;
  error: unknown;
} {
  const relata = useRelata();
  const { data, isLoading, error } = useQuery({
    queryKey: ['coverage', projectId, category],
    queryFn: async ({ signal }) => {
      const answer = await relata.ontology.coverage(projectId, { category, signal });
      return { answer, byName: new Map(answer.attributes.map((one) => [one.name, one])) };
    },
    staleTime: 60_000,
  });
  return { coverage: data, isCounting: isLoading, error };
}

export const countProblems = ({ problems }: AttributeCoverage): number =>
  problems.reduce((sum, { count }) => sum + count, 0);
