import { formatCount, formatMoment } from '../rules/format.ts';

export interface Series {
  readonly name: string;
  readonly color: string;
  /** One for each step; undefined: nothing is known of it. */
  readonly values: readonly (number | undefined)[];
}

interface Shape {
  label: string;
  /** When each step begins. */
  steps: readonly number[];
  series: readonly Series[];
  kind: 'bars' | 'line';
  height?: number;
}

/** The picture is stretched to the width that there is; its words are not in it, so that they stay readable. */
const WIDTH = 600;

/** Values over time; its label and the figures beside it say the same in words. */
export function Chart({ label, steps, series, kind, height = 90 }: Shape) {
  const top = Math.max(1, ...steps.map((_, at) => heightOf(series, at, kind)));
  const scale = (value: number) => (value / top) * height;
  return (
    <figure className="stack">
      <div className="tiny soft">{formatCount(top)}</div>
      <svg
        className="chart"
        viewBox={`0 0 ${WIDTH} ${height}`}
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {kind === 'bars' ? (
          <Bars {...{ steps, series, scale, height }} />
        ) : (
          series.map((one) => <Line key={one.name} {...{ one, steps, scale, height }} />)
        )}
      </svg>
      <div className="row spread tiny soft">
        <span>{formatMoment(steps[0] ?? 0)}</span>
        <span>{formatMoment(steps.at(-1) ?? 0)}</span>
      </div>
      {series.length > 1 && (
        <figcaption className="row small soft">
          {series.map(({ name, color }) => (
            <span key={name} className="row">
              <svg width={10} height={10} aria-hidden="true">
                <rect width={10} height={10} rx={2} fill={color} />
              </svg>
              {name}
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

/** Bars stand on each other, lines do not. */
function heightOf(series: readonly Series[], at: number, kind: 'bars' | 'line'): number {
  const values = series.map(({ values: all }) => all[at] ?? 0);
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
}

interface Drawn {
  steps: readonly number[];
  scale(value: number): number;
  height: number;
}

function Bars({ steps, series, scale, height }: Drawn & { series: readonly Series[] }) {
  const width = WIDTH / Math.max(1, steps.length);
  return steps.map((step, at) => {
    let y = height;
    return (
      <g key={step}>
        <title>{`${formatMoment(step)}: ${series.map(({ name, values }) => `${name} ${formatCount(values[at] ?? 0)}`).join(', ')}`}</title>
        {series.map(({ name, color, values }) => {
          const size = scale(values[at] ?? 0);
          y -= size;
          return (
            <rect key={name} x={at * width} y={y} width={Math.max(1, width - 1)} height={size} fill={color} />
          );
        })}
      </g>
    );
  });
}

function Line({ one, steps, scale, height }: Drawn & { one: Series }) {
  const gap = WIDTH / Math.max(1, steps.length - 1);
  let last: number | undefined;
  const points = steps.flatMap((_, at) => {
    last = one.values[at] ?? last;
    return last === undefined ? [] : [`${(at * gap).toFixed(1)},${(height - scale(last)).toFixed(1)}`];
  });
  return (
    <polyline
      points={points.join(' ')}
      fill="none"
      stroke={one.color}
      strokeWidth={2}
      vectorEffect="non-scaling-stroke"
    />
  );
}
