import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { formatCount } from '../rules/format.ts';
import { listSteps, spread, sum } from '../state/series.ts';
import { useRelata } from '../state/session.tsx';

const WIDTH = 96;
const HEIGHT = 22;

/** Requests of a key over the last day, and how many of them were over its limit. */
export function KeyTraffic({ keyId, name }: { keyId: number; name: string }) {
  const relata = useRelata();
  const { data } = useQuery({
    queryKey: ['key-traffic', keyId],
    queryFn: ({ signal }) => relata.apiKeys.statistics(keyId, { signal }),
    staleTime: 60_000,
  });
  if (!data) return <span className="soft">–</span>;
  const steps = listSteps(data);
  const requests = spread(steps, data.requests, 'requests');
  const limited = spread(steps, data.requests, 'limited');
  const words = t('{requests} in a day', { requests: formatCount(sum(requests)) });
  const top = Math.max(1, ...requests.map((value) => value ?? 0));
  const width = WIDTH / steps.length;
  const height = (value: number | undefined) => ((value ?? 0) / top) * HEIGHT;
  return (
    <span className="stack" style={{ gap: '0.125rem' }}>
      <svg
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={t('Requests of {name}: {words}', { name, words })}
      >
        <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--line)" />
        {steps.map((step, at) => (
          <g key={step}>
            <rect
              x={at * width}
              y={HEIGHT - height(requests[at])}
              width={Math.max(1, width - 0.5)}
              height={height(requests[at])}
              fill="var(--accent)"
            />
            <rect
              x={at * width}
              y={HEIGHT - height(limited[at])}
              width={Math.max(1, width - 0.5)}
              height={height(limited[at])}
              fill="var(--bad)"
            />
          </g>
        ))}
      </svg>
      <span className="soft small nowrap">
        {words}
        {sum(limited) > 0 && t(', {limited} over the limit', { limited: formatCount(sum(limited)) })}
      </span>
    </span>
  );
}
