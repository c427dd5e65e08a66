import type { RelationDefinition, RelationSurvey, SurveyCard } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { presentLocale, rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Reason } from '../parts/explanation.tsx';
import { Card, ErrorNote, Loading, Note, Renewed } from '../parts/page.tsx';
import { Bars, Figure, Joined, Meter, ProductChip, ProductLink, ProductLinks } from '../parts/show.tsx';
import { EVERY_PRODUCT, isEveryPair, isWholeMatch, isWholeTotal, pruneFilter } from '../rules/filters.ts';
import { formatCount } from '../rules/format.ts';
import {
  approximately,
  describeExtent,
  type Extent,
  estimate,
  formatCounted,
  formatShare,
  isSample,
} from '../rules/sampled.ts';
import { useOfProject } from '../state/answers.ts';
import { useSettled } from '../state/timing.ts';

/**
 * After a slower preview, the user has to request the next one. The first preview reads every product, which the
 * service caches.
 */
const LIVE_MS = 5_000;
/** Most previews take a tenth of a second. */
const REST_MS = 150;
const SHOWN = 6;

/** The results of a definition that the user is editing. */
export function RelationSurveyCard({ draft }: { draft: RelationDefinition }) {
  const { survey, isStale, isEmpty, ask } = usePreview(draft);
  return (
    <Card
      title={t('What it finds')}
      actions={
        isStale && (
          <Button onClick={ask} icon="updates">
            {t('Count again')}
          </Button>
        )
      }
    >
      <ErrorNote error={survey.error} />
      {survey.isFetching && survey.data === undefined && <Loading words={t('Counting …')} />}
      {isEmpty && (
        <p className="soft">
          {t('It still relates every product to every other product. Add a condition or a match.')}
        </p>
      )}
      {survey.data && !isEmpty && (
        <Survey survey={survey.data} isTotal={draft.kind === 'total'} isOld={isStale || survey.isFetching} />
      )}
    </Card>
  );
}

function usePreview(draft: RelationDefinition) {
  const definition = useSettled(JSON.stringify(complete(draft)), REST_MS);
  const [surveyed, setSurveyed] = useState(definition);
  const [tookMs, setTookMs] = useState(0);
  const isLive = tookMs < LIVE_MS;
  const isEmpty = isEmptyRule(draft);
  const definitionText = isLive ? definition : surveyed;
  const tried = JSON.parse(definitionText) as RelationDefinition;
  const survey = useOfProject(
    ['relation-preview', definitionText, presentLocale()],
    async ({ relata, projectId, signal }) => {
      const begun = performance.now();
      const survey = await relata.relations.preview(projectId, tried, {
        cards: true,
        locale: presentLocale(),
        signal,
      });
      setTookMs(performance.now() - begun);
      return survey;
    },
    // Counting every pair takes longest and shows nothing useful.
    { enabled: !isEmptyRule(tried), placeholderData: keepPreviousData, staleTime: 30_000 },
  );
  return { survey, isStale: definitionText !== definition, isEmpty, ask: () => setSurveyed(definition) };
}

const isEmptyRule = (definition: RelationDefinition): boolean =>
  definition.kind === 'total'
    ? !isWholeTotal(definition)
    : definition.kind !== 'links' && isEveryPair(complete(definition));

/** Name and tag are required to store a definition, not to try it; incomplete rows are left out. */
const complete = (draft: RelationDefinition): RelationDefinition => ({
  ...draft,
  name: draft.name || 'preview',
  tag: draft.tag || 'preview',
  source: pruneFilter(draft.source ?? EVERY_PRODUCT),
  target: pruneFilter(draft.target ?? EVERY_PRODUCT),
  match: draft.match?.filter(isWholeMatch) ?? [],
  sort: draft.sort?.filter(({ attribute }) => attribute !== '') ?? [],
  names: [],
});

function Survey({ survey, isTotal, isOld }: { survey: RelationSurvey; isTotal: boolean; isOld: boolean }) {
  if (survey.misconfigured) {
    return <Note look="warn" title={t('It cannot work.')} lines={survey.problem ? [survey.problem] : []} />;
  }
  return (
    <div aria-live="polite">
      <Renewed isOld={isOld}>
        <dl className="figures">
          <Products label={t('From')} count={survey.source?.products ?? 0} />
          <Products label={t('To')} count={survey.target?.products ?? 0} />
        </dl>
        {survey.links && (
          <p>
            {t(
              '{pairs, plural, one {# pair} other {# pairs}} of {sources, plural, one {# source} other {# sources}} {pairs, plural, one {is} other {are}} listed, including products that do not exist yet.',
              { pairs: survey.links.pairs, sources: survey.links.sources },
            )}
          </p>
        )}
        {isTotal && <p className="soft small">{t('With one of these alone; in a set they are added up.')}</p>}
        {isTotal ? <RelationCards cards={survey.cards ?? []} /> : <Results survey={survey} />}
      </Renewed>
    </div>
  );
}

function Results({ survey }: { survey: RelationSurvey }) {
  const { share = 0, examples = [], resultCounts, cards = [] } = survey;
  const extent = extentOf(survey);
  return (
    <>
      <div className="stack">
        <div className="row spread">
          <span>
            {rich('{share} have results', { share: <strong>{formatShare(share, extent)}</strong> })}
          </span>
          <span className="soft small">{describeShare(survey)}</span>
        </div>
        <Meter share={share} label={t('Products with results')} look={share > 0.5 ? 'good' : ''} />
      </div>
      {cards.length > 0 ? <RelationCards cards={cards} /> : <Examples examples={examples} />}
      {resultCounts && <ResultCounts counts={resultCounts} extent={extent} />}
      <MostReturned {...survey} />
      <WithoutResults {...survey} />
    </>
  );
}

/** The number of sources that were searched, and of all sources. */
const extentOf = ({ sampled, sampledSources = 0, source }: RelationSurvey): Extent => {
  const of = source?.products ?? 0;
  return { looked: sampled ? sampledSources : of, of };
};

function describeShare(survey: RelationSurvey): string {
  const { withResults = 0, sampledSources = 0 } = survey;
  const extent = extentOf(survey);
  if (isSample(extent)) return describeExtent(extent);
  return t('{count} of {all}', { count: formatCount(withResults), all: formatCount(sampledSources) });
}

const Products = ({ label, count }: { label: string; count: number }) => (
  <Figure
    label={label}
    value={formatCount(count)}
    more={t('{count, plural, one {product} other {products}}', { count })}
  />
);

function Examples({ examples }: { examples: NonNullable<RelationSurvey['examples']> }) {
  const filled = examples.filter(({ results }) => results.length > 0).slice(0, SHOWN);
  if (filled.length === 0) return null;
  return (
    <div className="stack">
      <h3>{t('Examples')}</h3>
      <ul className="stack small">
        {filled.map(({ source, results }) => (
          <li key={source}>
            <ProductLink identifier={source} /> <span className="soft">→</span>{' '}
            <Joined list={results.slice(0, 3)}>
              {([first = '', ...others]) => (
                <>
                  <ProductLink identifier={first} />
                  {others.length > 0 && <span className="soft"> +{others.length}</span>}
                </>
              )}
            </Joined>
            {results.length > 3 && (
              <span className="soft"> {t('and {count} more', { count: results.length - 3 })}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function MostReturned(survey: RelationSurvey) {
  const { mostReturned: list = [], withResults = 0 } = survey;
  if (list.length === 0) return null;
  return (
    <div className="stack">
      <h3>{t('Returned most often')}</h3>
      <Bars
        list={list.slice(0, SHOWN).map(({ identifier, count }) => ({
          key: identifier,
          words: <ProductLink identifier={identifier} />,
          count: formatCounted(count, extentOf(survey)),
          share: count / Math.max(1, withResults),
          label: t('{identifier}: share of the products', { identifier }),
        }))}
      />
    </div>
  );
}

function WithoutResults(survey: RelationSurvey) {
  const { count, identifiers } = survey.withoutResults ?? { count: 0, identifiers: [] };
  if (count === 0) return null;
  const extent = extentOf(survey);
  const words = t('{count, plural, one {# product has} other {# products have}} no results', {
    count: estimate(count, extent),
  });
  return (
    <div className="stack">
      <h3>{isSample(extent) ? approximately(words) : words}</h3>
      <p className="small">
        <ProductLinks identifiers={identifiers} hasMore={count > identifiers.length} />
      </p>
    </div>
  );
}

function ResultChip({ product }: { product: SurveyCard['results'][number] }) {
  const { variants: count, explain } = product;
  const note = count > 0 ? t(' and {count, plural, one {# variant} other {# variants}}', { count }) : '';
  return (
    <ProductChip product={product} note={note}>
      <Reason reason={explain} />
    </ProductChip>
  );
}

/** Example products of the relation: results with reasons, and the nearest product if nothing fits. */
const RelationCards = ({ cards }: { cards: readonly SurveyCard[] }) => (
  <ul className="stack" aria-label={t('Examples')}>
    {cards.map(({ source, results, nearest }) => (
      <li key={source.identifier} className="relation-card">
        <ProductChip product={source} />
        <ul className="stack">
          {results.map((product) => (
            <li key={product.identifier}>
              <ResultChip product={product} />
            </li>
          ))}
          {results.length === 0 && <li className="soft small">{t('No results.')}</li>}
          {nearest && (
            <li>
              <span className="soft small">{t('Nearest product, and what it lacks:')}</span>
              <ResultChip product={nearest} />
            </li>
          )}
        </ul>
      </li>
    ))}
  </ul>
);

/** The distribution of results: `counts` of products with 0, 1, … 9, and 10 or more. */
function ResultCounts({ counts, extent }: { counts: readonly number[]; extent: Extent }) {
  const most = Math.max(1, ...counts);
  const last = counts.length - 1;
  return (
    <div className="stack">
      <h3>{t('Results of a product')}</h3>
      <ol className="histogram">
        {counts.map((count, results) => {
          const counted = t(
            '{count, plural, one {# product has} other {# products have}} {isMost, select, yes {{results} results or more} other {{results, plural, one {# result} other {# results}}}}',
            { count: estimate(count, extent), results, isMost: results === last ? 'yes' : 'no' },
          );
          const words = isSample(extent) ? approximately(counted) : counted;
          return (
            <li key={results} title={words}>
              <span className="histogram-bar" style={{ height: `${(100 * count) / most}%` }} />
              <span aria-hidden="true">{results === last ? `${results}+` : results}</span>
              <span className="hidden">{words}</span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
