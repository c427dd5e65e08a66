import type { NotedRequest, Statistics as StatisticsAnswer } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { Chart } from '../parts/chart.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { Ago } from '../parts/show.tsx';
import { countOf, formatCount, formatDuration, formatPercent } from '../rules/format.ts';
import { linkTo } from '../state/route.ts';
import { listSteps, spread, sum } from '../state/series.ts';
import { useRelata } from '../state/session.tsx';

const SHOWN_REQUESTS = 8;

/** The last day of the account: what came in, what went wrong, how the catalogs grew. */
export function Statistics() {
  const relata = useRelata();
  const statistics = useQuery({
    queryKey: ['statistics'],
    queryFn: ({ signal }) => relata.installation.statistics({ signal }),
    refetchInterval: 60_000,
  });
  if (statistics.error) return <ErrorNote error={statistics.error} />;
  if (!statistics.data) return null;
  return (
    <>
      <div className="columns">
        <RequestChart statistics={statistics.data} />
        <CatalogChart statistics={statistics.data} />
      </div>
      <Noted list={statistics.data.noted} />
    </>
  );
}

function RequestChart({ statistics }: { statistics: StatisticsAnswer }) {
  const steps = listSteps(statistics);
  const of = (field: 'requests' | 'refused' | 'limited' | 'failed') =>
    spread(steps, statistics.requests, field);
  const [all, refused, limited, failed] = [of('requests'), of('refused'), of('limited'), of('failed')];
  const good = all.map(
    (value, at) => (value ?? 0) - (refused[at] ?? 0) - (limited[at] ?? 0) - (failed[at] ?? 0),
  );
  const total = sum(all);
  const bad = sum(failed) + sum(limited);
  const words = `${countOf(total, 'request')} in a day, ${formatPercent(total > 0 ? bad / total : 0)} failed or over their limit`;
  return (
    <Card title="Requests">
      <p className="soft small">{words}</p>
      <Chart
        label={words}
        steps={steps}
        kind="bars"
        series={[
          { name: 'answered', color: 'var(--accent)', values: good },
          { name: 'refused', color: 'var(--edge)', values: refused },
          { name: 'over their limit', color: 'var(--warn)', values: limited },
          { name: 'failed', color: 'var(--bad)', values: failed },
        ]}
      />
    </Card>
  );
}

function CatalogChart({ statistics }: { statistics: StatisticsAnswer }) {
  const steps = listSteps(statistics);
  const { catalogs } = statistics;
  const created = spread(steps, catalogs, 'created');
  const changed = spread(steps, catalogs, 'changed');
  const deleted = spread(steps, catalogs, 'deleted');
  const products = catalogs.at(-1)?.products ?? 0;
  const words = `${countOf(products, 'product')}; in a day ${formatCount(sum(created))} created, ${formatCount(sum(changed))} changed, ${formatCount(sum(deleted))} deleted`;
  return (
    <Card title="Catalogs">
      <p className="soft small">{words}</p>
      <Chart
        label={words}
        steps={steps}
        kind="bars"
        series={[
          { name: 'created', color: 'var(--good)', values: created },
          { name: 'changed', color: 'var(--accent)', values: changed },
          { name: 'deleted', color: 'var(--bad)', values: deleted },
        ]}
      />
      <Chart
        label={`Products over the day, at last ${formatCount(products)}`}
        steps={steps}
        kind="line"
        height={60}
        series={[{ name: 'products', color: 'var(--accent)', values: spread(steps, catalogs, 'products') }]}
      />
    </Card>
  );
}

function Noted({ list }: { list: readonly NotedRequest[] }) {
  if (list.length === 0) return null;
  return (
    <Card title="Failed and slow requests" isBare>
      <div className="table-box">
        <table className="table small">
          <thead>
            <tr>
              <th>When</th>
              <th>Request</th>
              <th>Status</th>
              <th className="number">Took</th>
              <th className="wide-only">Project</th>
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
                    {status >= 500 ? status : 'slow'}
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
