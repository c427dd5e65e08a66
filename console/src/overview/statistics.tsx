import type { NotedRequest, Statistics as StatisticsAnswer } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { Chart } from '../parts/chart.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { Ago } from '../parts/show.tsx';
import { formatCount, formatDuration, formatPercent } from '../rules/format.ts';
import { linkTo, useFilters } from '../state/route.ts';
import { listSteps, spread, sum } from '../state/series.ts';
import { useRelata } from '../state/session.tsx';

const SHOWN_REQUESTS = 8;

const DAY_MS = 86_400_000;

/** How far back the charts go, and how they are told. The service keeps 90 days (docs/interface.md §14.7 rule 8). */
const listRanges = () =>
  [
    { name: '', days: 1, step: 3_600, title: t('24 hours'), words: t('in a day') },
    { name: '7', days: 7, step: 3_600, title: t('7 days'), words: t('in 7 days') },
    { name: '30', days: 30, step: 86_400, title: t('30 days'), words: t('in 30 days') },
  ] as const;

type Range = ReturnType<typeof listRanges>[number];

interface Shown {
  readonly statistics: StatisticsAnswer;
  readonly range: Range;
}

/** Of the account: what came in, what went wrong, how the catalogs grew. */
export function Statistics() {
  const relata = useRelata();
  const [{ range: name }, change] = useFilters(['range']);
  const ranges = listRanges();
  const range = ranges.find((one) => one.name === name) ?? ranges[0];
  const { days, step } = range;
  const statistics = useQuery({
    queryKey: ['statistics', days],
    queryFn: ({ signal }) =>
      relata.installation.statistics({ from: Date.now() - days * DAY_MS, step, signal }),
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  });
  if (statistics.error) return <ErrorNote error={statistics.error} />;
  if (!statistics.data) return null;
  const shown = { statistics: statistics.data, range };
  return (
    <>
      <div className="row spread">
        <h2>{t('Over time')}</h2>
        <SelectField
          label={t('How far back')}
          isQuiet
          choices={ranges.map((one) => [one.name, one.title] as const)}
          value={range.name}
          onChange={({ target }) => change({ range: target.value })}
        />
      </div>
      <div className="columns" aria-busy={statistics.isPlaceholderData}>
        <RequestChart {...shown} />
        <CatalogChart {...shown} />
      </div>
      <Noted list={statistics.data.noted} />
    </>
  );
}

function RequestChart({ statistics, range }: Shown) {
  const steps = listSteps(statistics);
  const of = (field: 'requests' | 'refused' | 'limited' | 'failed') =>
    spread(steps, statistics.requests, field);
  const [all, refused, limited, failed] = [of('requests'), of('refused'), of('limited'), of('failed')];
  const good = all.map(
    (value, at) => (value ?? 0) - (refused[at] ?? 0) - (limited[at] ?? 0) - (failed[at] ?? 0),
  );
  const total = sum(all);
  const bad = sum(failed) + sum(limited);
  const words = t(
    '{count, plural, one {# request} other {# requests}} {span}, {share} failed or over their limit',
    { count: total, span: range.words, share: formatPercent(total > 0 ? bad / total : 0) },
  );
  return (
    <Card title={t('Requests')}>
      <p className="soft small">{words}</p>
      <Chart
        label={words}
        steps={steps}
        kind="bars"
        series={[
          { name: t('answered'), color: 'var(--accent)', values: good },
          { name: t('refused'), color: 'var(--edge)', values: refused },
          { name: t('over their limit'), color: 'var(--warn)', values: limited },
          { name: t('failed'), color: 'var(--bad)', values: failed },
        ]}
      />
    </Card>
  );
}

function CatalogChart({ statistics, range }: Shown) {
  const steps = listSteps(statistics);
  const { catalogs } = statistics;
  const created = spread(steps, catalogs, 'created');
  const changed = spread(steps, catalogs, 'changed');
  const deleted = spread(steps, catalogs, 'deleted');
  const products = catalogs.at(-1)?.products ?? 0;
  const words = t(
    '{count, plural, one {# product} other {# products}}; {span} {created} created, {changed} changed, {deleted} deleted',
    {
      count: products,
      span: range.words,
      created: formatCount(sum(created)),
      changed: formatCount(sum(changed)),
      deleted: formatCount(sum(deleted)),
    },
  );
  return (
    <Card title={t('Catalogs')}>
      <p className="soft small">{words}</p>
      <Chart
        label={words}
        steps={steps}
        kind="bars"
        series={[
          { name: t('created'), color: 'var(--good)', values: created },
          { name: t('changed'), color: 'var(--accent)', values: changed },
          { name: t('deleted'), color: 'var(--bad)', values: deleted },
        ]}
      />
      <Chart
        label={t('Products over time, at last {products}', { products: formatCount(products) })}
        steps={steps}
        kind="line"
        height={70}
        series={[
          { name: t('products'), color: 'var(--accent)', values: spread(steps, catalogs, 'products') },
        ]}
      />
    </Card>
  );
}

function Noted({ list }: { list: readonly NotedRequest[] }) {
  if (list.length === 0) return null;
  return (
    <Card title={t('Failed and slow requests')} isBare>
      <div className="table-box">
        <table className="table small">
          <thead>
            <tr>
              <th>{t('When')}</th>
              <th>{t('Request')}</th>
              <th>{t('Status')}</th>
              <th className="number">{t('Took')}</th>
              <th className="wide-only">{t('Project')}</th>
            </tr>
          </thead>
          <tbody>
            {list.slice(0, SHOWN_REQUESTS).map(({ requestId, at, method, route, status, ms, projectId }) => (
              <tr key={requestId}>
                <td className="soft">
                  <Ago at={at} />
                </td>
                <td className="mono">
                  {method} {route}
                </td>
                <td>
                  <span className={`badge ${status >= 500 ? 'bad' : ''}`}>
                    {status >= 500 ? status : t('slow')}
                  </span>
                </td>
                <td className="number">{formatDuration(ms)}</td>
                <td className="wide-only">
                  {projectId !== null && <a href={linkTo('projects', projectId)}>{projectId}</a>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
