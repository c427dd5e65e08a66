import {
  type Attribute,
  type AttributeCoverage,
  type Ontology,
  type Relata,
  RelataError,
  type SentAttribute,
  type SentOntology,
  type Tagged,
} from '@relata/client';
import { useDeferredValue, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { CategoryField } from '../parts/forms/suggest-field.tsx';
import { Answer, Card, Empty, ErrorNote, Loading, Page } from '../parts/page.tsx';
import { CountAll, SampleNote } from '../parts/sample-note.tsx';
import { Bars, Meter, Table } from '../parts/show.tsx';
import { type CoveredAttribute, listWorstFirst, readPath } from '../rules/category-path.ts';
import { writeChosen } from '../rules/chosen-facets.ts';
import { formatAll, formatType } from '../rules/format.ts';
import {
  approximately,
  type Extent,
  estimate,
  formatCounted,
  formatShare,
  isSample,
} from '../rules/sampled.ts';
import { useOfProject } from '../state/answers.ts';
import { type Coverage, undoOntology, useCoverage, useOntology, useRelations } from '../state/catalog.ts';
import { renameInBrowser } from '../state/language.ts';
import { tell } from '../state/notices.ts';
import { reread, rereading } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { linkWith, projectLink, useFilters } from '../state/route.ts';
import { useSettled } from '../state/timing.ts';
import { AttributeDialog, type ChangeOntology, countProblems } from './attribute-dialog.tsx';

/** The number of rows that a person would read. The filter finds the others. */
const SHOWN_ATTRIBUTES = 300;
/** The attributes with their types and units. */
export function OntologyView() {
  const ontology = useOntology();
  return (
    <Page
      title={t('Attributes')}
      about={t('The types and units of attributes determine how values are read and compared.')}
    >
      <Answer of={ontology}>{(read) => <Attributes read={read} />}</Answer>
    </Page>
  );
}

const MOST_TRIES = 3;

/** @returns a function that changes the stored ontology and keeps changes that other users have made */
function useSave() {
  const { relata, projectId } = useCalls();

  async function write(change: ChangeOntology, tries = MOST_TRIES) {
    const { value: former, etag } = await relata.ontology.get(projectId);
    const next = change(former);
    try {
      await relata.ontology.put(projectId, next, etag ? { ifMatch: etag } : {});
      return { former, sent: next };
    } catch (error) {
      if (!(error instanceof RelataError && error.status === 412) || tries === 1) throw error;
      return write(change, tries - 1);
    }
  }

  return async (change: ChangeOntology) => {
    const { former, sent: stored } = await rereading(write(change), 'ontology');
    const renames = listRenames(stored);
    const undo = await undoOntology(relata, projectId, toFormer(former, renames));
    for (const { name, renameTo } of renames) renameInBrowser(projectId, name, renameTo);
    tell.undoable(
      t('The attributes are saved'),
      async () => {
        await undo();
        for (const { name, renameTo } of renames) renameInBrowser(projectId, renameTo, name);
        await reread('ontology');
        recount();
      },
      t('Shops see the change immediately. A task reports values that cannot be used.'),
    );
    recount();
  };
  // Counts the coverage again after the values have been read again. No view waits for this.
  function recount(): void {
    void untilDone(relata, projectId)
      // The task ends even if the console cannot follow it, and a later recount is also correct.
      .catch(() => undefined)
      .then(() => reread('coverage'));
  }
}

type Renaming = SentAttribute & { readonly renameTo: string };

const listRenames = ({ attributes }: SentOntology): Renaming[] =>
  attributes.filter((attribute): attribute is Renaming => attribute.renameTo !== undefined);

/**
 * The opposite rename undoes a rename that changed all references. Source: docs/interface §11.8 rule 4.
 */
const toFormer = ({ attributes, ...rest }: Ontology, renames: readonly Renaming[]): SentOntology => ({
  ...rest,
  attributes: attributes.map((attribute) => {
    const renamed = renames.find(({ id }) => id === attribute.id);
    return renamed
      ? { ...attribute, name: renamed.renameTo, renameTo: attribute.name, keepSynonym: false }
      : attribute;
  }),
});

/**
 * A task updates the products. It is in the list of tasks before the service answers the change. Source:
 * docs/interface §11.5.
 */
async function untilDone(relata: Relata, projectId: number): Promise<void> {
  const { tasks } = await relata.tasks.list({ projectId, limit: 20 });
  for (const { id, finishTime } of tasks) if (finishTime === null) await relata.tasks.wait(id);
}

function Attributes({ read }: { read: Tagged<Ontology> }) {
  const save = useSave();
  const counted = useCoverage();
  const [{ contains, category }, filterBy] = useFilters(['contains', 'category']);
  const [opened, setOpened] = useState<Attribute | 'new'>();
  const [error, setError] = useState<unknown>();
  const setMode = (next: string) => {
    setError(undefined);
    save((ontology) => ({ ...ontology, mode: next as Ontology['mode'] })).catch(setError);
  };
  const { coverage } = counted;
  return (
    <>
      <AttributeFilters
        contains={contains}
        category={category}
        mode={read.value.mode}
        onFilter={filterBy}
        onMode={setMode}
      />
      <ErrorNote error={error ?? counted.error} />
      <CategoryCoverage category={category} />
      <AttributeList
        attributes={read.value.attributes}
        contains={contains}
        counted={counted}
        onOpen={setOpened}
      />
      {coverage && <UnknownKeys coverage={coverage} />}
      <UnknownVerdicts />
      {opened !== undefined && (
        <AttributeDialog
          opened={opened === 'new' ? undefined : opened}
          ontology={read}
          coverage={opened === 'new' ? undefined : coverage}
          onClose={() => setOpened(undefined)}
          onSave={save}
        />
      )}
    </>
  );
}

interface AttributeFiltersShape {
  contains: string;
  category: string;
  mode: string;
  onFilter(changed: { contains?: string; category?: string }): void;
  onMode(mode: string): void;
}

function AttributeFilters({ contains, category, mode, onFilter, onMode }: AttributeFiltersShape) {
  const { canChange } = useRights();
  return (
    <div className="filters">
      <TextField
        label={t('Attribute contains')}
        type="search"
        value={contains}
        onChange={(next) => onFilter({ contains: next })}
      />
      <CategoryField
        label={t('Coverage of a category')}
        value={category}
        onChange={(next) => onFilter({ category: next })}
      />
      <SelectField
        label={t('New attributes in a full update')}
        value={mode}
        disabled={!canChange}
        choices={[
          ['automatic', t('are created automatically')],
          ['own', t('are ignored: I create attributes myself')],
        ]}
        onChange={onMode}
      />
    </div>
  );
}

interface AttributeListShape {
  attributes: readonly Attribute[];
  contains: string;
  counted: ReturnType<typeof useCoverage>;
  onOpen(attribute: Attribute | 'new'): void;
}

/** The attributes whose name or synonyms contain the text. */
function AttributeList({ attributes, contains, counted, onOpen }: AttributeListShape) {
  const { canChange } = useRights();
  const { coverage, isCounting, countAll } = counted;
  const typed = useDeferredValue(contains.toLowerCase());
  const matching = attributes.filter(({ name, synonyms = [] }) =>
    [name, ...synonyms].some((key) => key.toLowerCase().includes(typed)),
  );
  return (
    <Card
      isBare
      title={t('{count, plural, one {# attribute} other {# attributes}}', { count: matching.length })}
      actions={
        <>
          {coverage && <SampleNote extent={coverage.extent} />}
          <CountAll countAll={countAll} isCounting={isCounting} />
          {canChange && (
            <Button icon="plus" onClick={() => onOpen('new')}>
              {t('New attribute')}
            </Button>
          )}
        </>
      }
    >
      {attributes.length === 0 ? (
        <Empty icon="ontology" title={t('No attributes yet')}>
          <p>
            {t(
              'The first import creates them from its columns. Columns of numbers with one unit become numeric automatically.',
            )}
          </p>
        </Empty>
      ) : (
        <AttributeTable
          attributes={matching.slice(0, SHOWN_ATTRIBUTES)}
          coverage={coverage}
          onOpen={onOpen}
        />
      )}
      {matching.length > SHOWN_ATTRIBUTES && (
        <p className="grid-foot">
          {t('These are the first {count, number}. Use the filter to find the others.', {
            count: SHOWN_ATTRIBUTES,
          })}
        </p>
      )}
    </Card>
  );
}

interface AttributeTableShape {
  attributes: readonly Attribute[];
  coverage: Coverage | undefined;
  onOpen(attribute: Attribute): void;
}

const AttributeTable = ({ attributes, coverage, onOpen }: AttributeTableShape) => (
  <Table
    rows={attributes}
    keyOf={(attribute) => attribute.name}
    columns={[
      [
        t('Attribute'),
        (attribute) => (
          <button type="button" className="text-button" onClick={() => onOpen(attribute)}>
            {attribute.name}
          </button>
        ),
      ],
      [t('Type'), (attribute) => formatType(attribute.type)],
      [t('Unit'), (attribute) => attribute.unitName, 'wide-only mono nowrap'],
      [t('Synonyms'), (attribute) => attribute.synonyms?.join(', '), 'wide-only soft'],
      coverage && [
        t('Coverage'),
        (attribute) => (
          <Share
            of={coverage.byName.get(attribute.name)}
            products={coverage.answer.sampledProducts}
            extent={coverage.extent}
          />
        ),
      ],
      [t('Id'), (attribute) => attribute.id, 'wide-only number mono soft'],
    ]}
  />
);

interface ShareShape {
  of: AttributeCoverage | undefined;
  products: number;
  extent: Extent;
}

function Share({ of, products, extent }: ShareShape) {
  if (of === undefined) return <span className="soft">–</span>;
  const share = products > 0 ? of.withFact / products : 0;
  const problems = countProblems(of);
  return (
    <span className="stack" style={{ gap: '0.125rem', minWidth: '7rem' }}>
      <span className="row spread small">
        <span>{formatShare(share, extent)}</span>
        {problems > 0 && (
          <span className="badge warn">
            {t('{problems} not usable', { problems: formatCounted(problems, extent) })}
          </span>
        )}
      </span>
      <Meter share={share} label={t('Products with a usable {name}', { name: of.name })} />
    </span>
  );
}

/**
 * The number of products in a category that have each attribute, lowest first, with links to those that lack
 * it.
 */
export function CategoryCoverage({ category }: { category: string }) {
  const settled = useSettled(category);
  const { coverage, isCounting, countAll, error } = useCoverage(readPath(settled));
  if (readPath(category).length === 0) return null;
  const { sampledProducts = 0, attributes = [] } = coverage?.answer ?? {};
  return (
    <Card
      isBare
      title={t('Coverage of {category}', { category: readPath(settled).at(-1) ?? '' })}
      actions={
        coverage && (
          <>
            <span className="soft small">{describeProducts(sampledProducts, coverage.extent)}</span>
            <SampleNote extent={coverage.extent} />
            <CountAll countAll={countAll} isCounting={isCounting} />
          </>
        )
      }
    >
      <ErrorNote error={error} />
      {!coverage && !error && (
        <div className="card-body">
          <Loading words={t('Counting …')} />
        </div>
      )}
      {coverage && (
        <Covered
          list={listWorstFirst(attributes, sampledProducts)}
          category={settled}
          extent={coverage.extent}
        />
      )}
    </Card>
  );
}

interface CoveredShape {
  list: readonly CoveredAttribute[];
  category: string;
  extent: Extent;
}

function Covered({ list, category, extent }: CoveredShape) {
  const name = readPath(category).at(-1) ?? '';
  if (list.length === 0)
    return <p className="card-body soft">{t('No product of this category has an attribute.')}</p>;
  const products = projectLink('products');
  const whole = list.filter(({ withoutFact }) => withoutFact === 0);
  const incomplete = list.filter(({ withoutFact }) => withoutFact > 0);
  return (
    <>
      {incomplete.length > 0 && (
        <Table
          rows={incomplete}
          keyOf={({ name: attribute }) => attribute}
          columns={[
            [t('Attribute'), ({ name: attribute }) => attribute],
            [
              t('Coverage'),
              ({ name: attribute, share }) => (
                <span className="stack" style={{ gap: '0.125rem', minWidth: '7rem' }}>
                  <span className="small">
                    {t('{share} of {category}', { share: formatShare(share, extent), category: name })}
                  </span>
                  <Meter share={share} label={t('Products with a usable {name}', { name: attribute })} />
                </span>
              ),
            ],
            [
              t('Without a value'),
              ({ name: attribute, withoutFact }) => (
                <a
                  href={linkWith(products, { category, where: writeChosen([{ attribute, lacks: true }]) })}
                  aria-label={t(
                    '{count, plural, one {# product} other {# products}} of {category} without {attribute}',
                    { count: estimate(withoutFact, extent), category: name, attribute },
                  )}
                >
                  {describeProducts(withoutFact, extent)}
                </a>
              ),
            ],
          ]}
        />
      )}
      {whole.length > 0 && (
        <p className="card-body small">
          <span>
            <strong>{t('{share} of {category}', { share: formatShare(1, extent), category: name })}:</strong>{' '}
            {formatAll(whole.map((attribute) => attribute.name))}
          </span>
        </p>
      )}
    </>
  );
}

/** @returns `12 products`, or `≈ 840 products` of a sample */
function describeProducts(count: number, extent: Extent): string {
  const words = t('{count, plural, one {# product} other {# products}}', { count: estimate(count, extent) });
  return isSample(extent) ? approximately(words) : words;
}

const SHOWN = 20;

/** Keys of uploads that are not attributes. Their values are stored but make no facts. */
export function UnknownKeys({ coverage: { answer, extent } }: { coverage: Coverage }) {
  const { unknown, sampledProducts } = answer;
  if (unknown.length === 0) return null;
  return (
    <Card
      title={t('{count, plural, one {# name} other {# names}} without an attribute', {
        count: unknown.length,
      })}
    >
      <p className="soft">
        {t(
          'To use the values of such a name, create an attribute with this name, or add the name to the synonyms of an attribute.',
        )}
      </p>
      <Bars
        list={unknown.slice(0, SHOWN).map(({ name, withValue, values }) => ({
          key: name,
          words: (
            <>
              {name} <span className="soft">{t('such as {value}', { value: values[0]?.value })}</span>
            </>
          ),
          count: describeProducts(withValue, extent),
          share: withValue / Math.max(1, sampledProducts),
          label: t('Products with {name}', { name }),
        }))}
      />
    </Card>
  );
}

const SHOWN_MISSING = 10;

/**
 * The missing values that leave most verdicts unknown. They are counted on request, because counting reads
 * every product.
 */
export function UnknownVerdicts() {
  const relations = useRelations();
  const [isCounted, setCounted] = useState(false);
  if (!relations.data?.some(({ constraint, kind }) => constraint || kind === 'total')) return null;
  return (
    <Card title={t('Why verdicts are unknown')}>
      {isCounted ? (
        <Counted />
      ) : (
        <div className="row">
          <p className="soft">{t('Products that lack a value that a constraint needs.')}</p>
          <Button onClick={() => setCounted(true)}>{t('Count missing values')}</Button>
        </div>
      )}
    </Card>
  );
}

function Counted() {
  const ontology = projectLink('ontology');
  const counted = useOfProject(
    ['coverage', 'unknown'],
    ({ relata, projectId, signal }) => relata.relations.missingValues(projectId, { signal }),
    { refetchOnWindowFocus: false },
  );
  return (
    <Answer of={counted}>
      {({ items }) =>
        items.length === 0 ? (
          <p>{t('Every product has all values that the constraints need.')}</p>
        ) : (
          <ol>
            {items.slice(0, SHOWN_MISSING).map(({ attribute, products, verdicts }) => (
              <li key={attribute}>
                <a href={linkWith(ontology, { contains: attribute })}>{attribute}</a>
                {': '}
                {t(
                  '{products, plural, one {# product} other {# products}}, up to {verdicts, plural, one {# verdict} other {# verdicts}}',
                  { products, verdicts },
                )}
              </li>
            ))}
          </ol>
        )
      }
    </Answer>
  );
}
