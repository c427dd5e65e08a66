import type {
  Attribute,
  AttributeDraft,
  AttributeSuggestion,
  DuplicateSuggestion,
  Ontology,
  RelationSuggestion,
  Suggestion,
} from '@relata/client';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Effect } from '../ontology/attribute-dialog.tsx';
import { Button, LinkButton } from '../parts/button.tsx';
import { SwitchField } from '../parts/forms/field.tsx';
import { Answer, Card, Empty, FormDialog, Page } from '../parts/page.tsx';
import { FoundChip, ProductLink, ProductLinks } from '../parts/show.tsx';
import { describeMatched, listMatches, nameMatched } from '../rules/filters.ts';
import {
  formatAll,
  formatCount,
  formatPercent,
  formatTenths,
  formatType,
  formatTypeIn,
} from '../rules/format.ts';
import { type Extent, isSample } from '../rules/sampled.ts';
import { useOfProject } from '../state/answers.ts';
import { undoOntology, useSuggestions } from '../state/catalog.ts';
import { extentOf } from '../state/counts.ts';
import { useAct } from '../state/forms.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { draftedRelation, projectLink, useFilters } from '../state/route.ts';

/** The products that the evidence of all suggestions was counted in. */
const ExtentOfSuggestions = createContext<Extent>({ looked: 0, of: 0 });

/** Suggestions from the data alone. None is applied before the user has looked at it. */
export function Suggestions() {
  const [{ dismissed }, filterBy] = useFilters(['dismissed']);
  const isDismissed = dismissed !== '';
  const suggestions = useSuggestions(isDismissed);
  return (
    <Page
      title={t('Suggestions')}
      about={t('Suggestions come from the data alone. Nothing changes until you accept one.')}
    >
      <div className="filters">
        <SwitchField
          label={t('Show dismissed suggestions')}
          value={isDismissed}
          onChange={(isOn) => filterBy({ dismissed: isOn ? 'yes' : '' })}
        />
      </div>
      <Answer of={suggestions}>
        {({ items, ...counted }) => (
          <ExtentOfSuggestions value={extentOf(counted)}>
            {items.length === 0 && (
              <Card>
                <Empty
                  icon="search"
                  title={isDismissed ? t('Nothing was dismissed') : t('Nothing to suggest')}
                >
                  {!isDismissed && <p>{t('Suggestions are computed again when the catalog changes.')}</p>}
                </Empty>
              </Card>
            )}
            {items.map((item) => (
              <Item key={item.id} item={item} />
            ))}
          </ExtentOfSuggestions>
        )}
      </Answer>
    </Page>
  );
}

function Item({ item }: { item: Suggestion }) {
  if (item.kind === 'relation') return <RelationItem item={item} />;
  return item.kind === 'attribute' ? <AttributeItem item={item} /> : <DuplicateItem item={item} />;
}

interface CardShape {
  item: Suggestion;
  title: string;
  /** The control that accepts the suggestion. */
  accept: ReactNode;
  children: ReactNode;
}

export function SuggestionCard({ item, title, accept, children }: CardShape) {
  const { canChange } = useRights();
  const extent = useContext(ExtentOfSuggestions);
  return (
    <Card
      title={title}
      actions={
        canChange && (
          <>
            <Dismissal item={item} />
            {accept}
          </>
        )
      }
    >
      {isSample(extent) && (
        <p className="soft small">
          {t('≈ counted in {looked, number} of {of, plural, one {# product} other {# products}}', {
            ...extent,
          })}
        </p>
      )}
      {children}
    </Card>
  );
}

function Dismissal({ item: { id, dismissed } }: { item: Suggestion }) {
  const { relata, projectId } = useCalls();
  const refresh = () => reread('suggestions');
  const { dismiss, restore } = relata.suggestions;
  const undo = async () => {
    await restore(projectId, id);
    await refresh();
  };
  const { run, isBusy } = useAct(async () => {
    await (dismissed ? restore : dismiss)(projectId, id).then(
      () => dismissed || tell.undoable(t('The suggestion is dismissed'), undo),
      tell.bad,
    );
    await refresh();
  });
  return (
    <Button look="quiet" busy={isBusy} onClick={() => void run()}>
      {dismissed ? t('Suggest it again') : t('Dismiss')}
    </Button>
  );
}

interface SeenValue {
  readonly value: string;
  readonly count: number;
  readonly identifiers: readonly string[];
}

export function SeenValues({ title, values }: { title: string; values: readonly SeenValue[] }) {
  if (values.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="stack small">
        {values.map(({ value, count, identifiers }) => (
          <li key={value}>
            <span className="mono break">{value}</span> <span className="soft">{formatCount(count)}</span>{' '}
            <ProductLinks identifiers={identifiers} hasMore={count > identifiers.length} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** An attribute whose values are nearly all of another type, or a key with values like an attribute's. */
export function AttributeItem({ item }: { item: AttributeSuggestion }) {
  const { draft, evidence } = item;
  const { name, type, unitName } = draft.attribute;
  const { typeNow, products, values, fits, distinctMisfits, misfits, examples } = evidence;
  const kind = formatTypeIn(type, unitName);
  const title =
    typeNow === null
      ? t('Add {name} as an attribute: {kind}', { name, kind })
      : t('Change {name} from {before} to {kind}', { name, before: formatType(typeNow), kind });
  return (
    <SuggestionCard item={item} title={title} accept={<StoreDraft title={title} draft={draft} />}>
      <p>
        {t('{share} of {values} values fit, on {products, plural, one {# product} other {# products}}.', {
          share: formatPercent(fits / Math.max(1, values)),
          values: formatCount(values),
          products,
        })}{' '}
        {distinctMisfits > 0 &&
          t('{count, plural, one {# value} other {# values}} to check.', { count: distinctMisfits })}
      </p>
      <SeenValues title={t('Would not be usable')} values={misfits} />
      <SeenValues title={t('Would be usable')} values={examples} />
    </SuggestionCard>
  );
}

/** Two attributes with the same meaning. */
export function DuplicateItem({ item }: { item: DuplicateSuggestion }) {
  const { draft, evidence } = item;
  const { kept, dropped, withBoth, sharedValues, values, examples, misfits } = evidence;
  const title = t('{dropped} and {kept} look like the same attribute', {
    dropped: dropped.name,
    kept: kept.name,
  });
  return (
    <SuggestionCard item={item} title={title} accept={<StoreDraft title={title} draft={draft} />}>
      <p>
        {t(
          '{dropped} has {droppedCount, plural, one {# product} other {# products}}, {kept} has {keptCount, plural, one {# product} other {# products}}, and {both, plural, one {# has} other {# have}} both. {shared} of {values} values of {dropped} are values of {kept} too.',
          {
            dropped: dropped.name,
            droppedCount: dropped.products,
            kept: kept.name,
            keptCount: kept.products,
            both: withBoth,
            shared: formatCount(sharedValues),
            values: formatCount(values),
          },
        )}
      </p>
      <p className="soft small">{examples.map(({ value }) => value).join(', ')}</p>
      <SeenValues title={t('Values that only one of them has')} values={misfits} />
    </SuggestionCard>
  );
}

interface StoredShape {
  title: string;
  draft: AttributeDraft;
}

function StoreDraft({ title, draft }: StoredShape) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        {t('Show the effect …')}
      </Button>
      {isOpen && <EffectDialog title={title} draft={draft} onClose={() => setOpen(false)} />}
    </>
  );
}

function EffectDialog({ title, draft, onClose }: StoredShape & { onClose(): void }) {
  const { relata, projectId } = useCalls();
  const refresh = () => reread('suggestions', 'ontology', 'coverage');
  const effect = useOfProject(['attribute-effect', JSON.stringify(draft)], ({ projectId, signal }) =>
    relata.ontology.preview(projectId, draft.attribute, { deleted: draft.deleted ?? [], signal }),
  );
  const store = async () => {
    const { value, etag } = await relata.ontology.get(projectId);
    await relata.ontology.put(projectId, withDraft(value, draft), etag ? { ifMatch: etag } : {});
    const undo = await undoOntology(relata, projectId, value);
    tell.undoable(t('The attributes are saved'), () => undo().then(refresh));
    await refresh();
  };
  return (
    <FormDialog
      title={title}
      action={t('Save')}
      isWide
      onClose={onClose}
      onSubmit={store}
      canSubmit={effect.data !== undefined}
    >
      <Answer of={effect}>{(data) => <Effect effect={data} />}</Answer>
    </FormDialog>
  );
}

/** Applies a suggestion to the ontology. Source: docs/interface §17.1 rule 6. */
function withDraft(ontology: Ontology, { attribute, deleted = [] }: AttributeDraft): Ontology {
  const isReplaced = ({ id, name }: Attribute) =>
    attribute.id === undefined ? name === attribute.name : id === attribute.id;
  const left = ontology.attributes.filter(
    (attribute) => !isReplaced(attribute) && !deleted.includes(attribute.id ?? 0),
  );
  return { ...ontology, attributes: [...left, attribute] };
}

const nameCategory = ({ category }: { readonly category: readonly string[] }) => category.at(-1) ?? '';

const SHOWN_EXAMPLES = 3;

const describeConstraint = (constraint: RelationSuggestion['evidence']['constraint']): string =>
  ({
    limit: t('It looks like a limit: products that exceed it do not fit.'),
    standard: t('It looks like a standard that both follow: products of another standard do not fit.'),
    equal: t('The values are equal. You decide whether products with other values do not fit.'),
  })[constraint];

/** Two categories whose products match by values; accepted in the editor of relations, with its preview. */
export function RelationItem({ item }: { item: RelationSuggestion }) {
  const { draft, evidence } = item;
  const { source, target, targetsPerSource, examples } = evidence;
  const match = listMatches(draft.match).map((match) =>
    describeMatched(nameMatched(match.target), match.operator ?? 'equals', nameMatched(match.source)),
  );
  const names = { source: nameCategory(source), target: nameCategory(target) };
  return (
    <SuggestionCard
      item={item}
      title={t('{target} for {source}', names)}
      accept={
        <LinkButton
          look="primary"
          href={projectLink('relations', 'new')}
          onClick={() => draftedRelation.give(draft)}
        >
          {t('Try it')}
        </LinkButton>
      }
    >
      <p className="suggested">
        {rich('For {source}, show {target} whose {match}.', {
          source: <b>{names.source}</b>,
          target: <b>{names.target}</b>,
          match: <b>{formatAll(match)}</b>,
        })}
      </p>
      <p className="soft">
        {t(
          'For each product, it narrows {all} {category} to {each}; {share} of {count} products have results.',
          {
            all: formatCount(target.products),
            category: names.target,
            each: formatTenths(targetsPerSource),
            share: formatPercent(source.withPartner / Math.max(1, source.products)),
            count: formatCount(source.products),
          },
        )}
      </p>
      <p className="soft">{describeConstraint(evidence.constraint)}</p>
      <Pairs examples={examples} />
      <Misfits evidence={evidence} />
    </SuggestionCard>
  );
}

type Evidence = RelationSuggestion['evidence'];

const Pairs = ({ examples }: Pick<Evidence, 'examples'>) => (
  <ul className="suggested-pairs">
    {examples.slice(0, SHOWN_EXAMPLES).map(({ source, target }) => (
      <li key={`${source} ${target}`}>
        <FoundChip identifier={source} />
        <span className="soft" aria-hidden="true">
          →
        </span>
        <FoundChip identifier={target} />
      </li>
    ))}
  </ul>
);

/** Arguments against the relation: frequent values, which relate many products, and products without a partner. */
const Misfits = ({ evidence: { values, withoutPartner } }: { evidence: Evidence }) => (
  <details className="small">
    <summary>{t('Arguments against it')}</summary>
    {values.length > 0 && (
      <p className="soft">
        {t('Most frequent values:')} {values.map(({ value }) => value).join(', ')}
      </p>
    )}
    <ul className="stack">
      {withoutPartner.map(({ identifier, values: has }) => (
        <li key={identifier}>
          <ProductLink identifier={identifier} />{' '}
          <span className="soft">
            → {t('nothing')} {has.length > 0 && `(${has.join(', ')})`}
          </span>
        </li>
      ))}
    </ul>
  </details>
);
