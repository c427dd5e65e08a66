import type { NotedRequest, Statistics as StatisticsAnswer } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import { Ago, Table } from '../parts/show.tsx';
import { describeStep, listSteps, listTicks, markTimes, spread, sum } from '../rules/axis.ts';
import { formatAll, formatCount, formatDuration, formatPercent, formatShort } from '../rules/format.ts';
import { useAnswer } from '../state/answers.ts';
import { linkTo, useFilters } from '../state/route.ts';

const SHOWN_REQUESTS = 8;

const DAY_MS = 86_400_000;

/** The periods that charts offer, in words. The service keeps 90 days (docs/interface §14.7 rule 8). */
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
  readonly steps: readonly number[];
}

/** Statistics of the account: uploads, errors and the growth of catalogs. */
export function Statistics() {
  const [{ range: name }, change] = useFilters(['range']);
  const ranges = listRanges();
  const range = ranges.find((candidate) => candidate.name === name) ?? ranges[0];
  const { days, step } = range;
  const statistics = useAnswer(
    ['statistics', days],
    ({ relata, signal }) =>
      relata.installation.statistics({ from: Date.now() - days * DAY_MS, step, signal }),
    { refetchInterval: 60_000, placeholderData: keepPreviousData },
  );
  if (statistics.error) return <ErrorNote error={statistics.error} />;
  if (!statistics.data) return null;
  const shown = { statistics: statistics.data, range, steps: listSteps(statistics.data) };
  return (
    <>
      <div className="row spread">
        <h2>{t('Over time')}</h2>
        <SelectField
          label={t('Period')}
          isQuiet
          choices={ranges.map((choice) => [choice.name, choice.title] as const)}
          value={range.name}
          onChange={(next) => change({ range: next })}
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

function RequestChart({ statistics, range, steps }: Shown) {
  const of = (field: 'requests' | 'refused' | 'limited' | 'failed') =>
    spread(steps, statistics.requests, field);
  const [all, refused, limited, failed] = [of('requests'), of('refused'), of('limited'), of('failed')];
  const good = all.map(
    (value, index) => (value ?? 0) - (refused[index] ?? 0) - (limited[index] ?? 0) - (failed[index] ?? 0),
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

function CatalogChart({ statistics: { catalogs }, range, steps }: Shown) {
  const of = (field: 'created' | 'changed' | 'deleted' | 'products') => spread(steps, catalogs, field);
  const [created, changed, deleted] = [of('created'), of('changed'), of('deleted')];
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
        series={[{ name: t('products'), color: 'var(--accent)', values: of('products') }]}
      />
    </Card>
  );
}

function Noted({ list }: { list: readonly NotedRequest[] }) {
  if (list.length === 0) return null;
  return (
    <Card title={t('Failed and slow requests')} isBare>
      <Table
        isSmall
        rows={list.slice(0, SHOWN_REQUESTS)}
        keyOf={({ requestId }) => requestId}
        columns={[
          [t('When'), ({ at }) => <Ago instant={at} />, 'soft'],
          [
            t('Request'),
            ({ method, route, projectId }) =>
              projectId === null ? (
                `${method} ${route}`
              ) : (
                <a href={linkTo('projects', projectId, 'api-access')}>{`${method} ${route}`}</a>
              ),
            'mono',
          ],
          [
            t('Status'),
            ({ status }) => (
              <span className={`badge ${status >= 500 ? 'bad' : ''}`}>
                {status >= 500 ? status : t('slow')}
              </span>
            ),
          ],
          [t('Duration'), ({ ms }) => formatDuration(ms), 'number'],
          [
            t('Project'),
            ({ projectId }) => projectId !== null && <a href={linkTo('projects', projectId)}>{projectId}</a>,
            'wide-only',
          ],
        ]}
      />
    </Card>
  );
}

interface Series {
  readonly name: string;
  readonly color: string;
  /** One value for each step, or undefined for a step without a value. */
  readonly values: readonly (number | undefined)[];
}

interface Shape {
  label: string;
  /** The start of each step. */
  steps: readonly number[];
  series: readonly Series[];
  /** Bars are stacked; a line keeps its value until the next one. */
  kind: 'bars' | 'line';
  height?: number;
}

const WIDTH = 600;

/** Values over time, with round axis values, a value at the pointer or by arrow keys, and a table of them. */
function Chart({ label, steps, series: given, kind, height = 110 }: Shape) {
  const series = kind === 'line' ? given.map(carryOn) : given;
  const largest = Math.max(0, ...steps.map((_, index) => heightOf(series, index, kind)));
  const ticks = listTicks(largest);
  const top = ticks.at(-1) ?? 1;
  const drawn = { steps, series, height, scale: (value: number) => (value / top) * height };
  return (
    <figure className="stack">
      <div className="chart">
        <Values ticks={ticks} height={height} />
        <Plot {...{ label, steps, series }}>
          <svg
            viewBox={`0 0 ${WIDTH} ${height}`}
            height={height}
            preserveAspectRatio="none"
            role="img"
            aria-label={label}
          >
            {ticks.map((tick) => (
              <line
                key={tick}
                x2={WIDTH}
                y1={height - drawn.scale(tick)}
                y2={height - drawn.scale(tick)}
                stroke="var(--line)"
                vectorEffect="non-scaling-stroke"
              />
            ))}
            {kind === 'bars' && <Bars {...drawn} />}
            {kind === 'line' && series.map((line) => <Line key={line.name} line={line} {...drawn} />)}
          </svg>
        </Plot>
        <Times steps={steps} />
      </div>
      {series.length > 1 && (
        <figcaption className="row small soft">
          {series.map((entry) => (
            <span key={entry.name} className="row">
              <Swatch color={entry.color} />
              {entry.name}
            </span>
          ))}
        </figcaption>
      )}
      <ChartTable {...{ label, steps, series }} />
    </figure>
  );
}

const Swatch = ({ color }: { color: string }) => (
  <span className="swatch" style={{ background: color }} aria-hidden="true" />
);

function carryOn(series: Series): Series {
  let last: number | undefined;
  const values = series.values.map((value) => {
    last = value ?? last;
    return last;
  });
  return { ...series, values };
}

function heightOf(series: readonly Series[], index: number, kind: 'bars' | 'line'): number {
  const values = series.map(({ values: all }) => all[index] ?? 0);
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
}

/** Labels of the value axis. They are hidden from screen readers, because the table has the values. */
function Values({ ticks, height }: { ticks: readonly number[]; height: number }) {
  const top = ticks.at(-1) ?? 1;
  const words = ticks.map(formatShort);
  const widest = words.reduce((long, word) => (word.length > long.length ? word : long), '');
  return (
    <div className="chart-values" style={{ height }} aria-hidden="true">
      <span className="width">{widest}</span>
      {ticks.map((tick, index) => (
        <span key={tick} style={{ bottom: (tick / top) * height }}>
          {words[index]}
        </span>
      ))}
    </div>
  );
}

/** Labels this close to an end of the axis would stick out. */
const NEAR = 0.06;

const Times = ({ steps }: { steps: readonly number[] }) => (
  <div className="chart-times" aria-hidden="true">
    {markTimes(steps).map(({ index, words }) => {
      const share = (index + 0.5) / steps.length;
      const side = share < NEAR ? 'at-start' : share > 1 - NEAR ? 'at-end' : undefined;
      const left = side === 'at-end' ? '100%' : side === 'at-start' ? 0 : `${share * 100}%`;
      return (
        <span key={index} className={side} style={{ left }}>
          {words}
        </span>
      );
    })}
  </div>
);

interface PlotShape extends Pick<Shape, 'label' | 'steps' | 'series'> {
  children: ReactNode;
}

/** Shows the value and time of the step at the pointer, or of a step that arrow keys select, as on a slider. */
function Plot({ label, steps, series, children }: PlotShape) {
  const [chosen, setChosen] = useState<number>();
  const last = steps.length - 1;
  const follow = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setChosen(Math.max(0, Math.min(last, Math.floor(((clientX - left) / width) * steps.length))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = chosen ?? last;
    const next = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(last, next)));
  };
  const shown = chosen ?? last;
  const texts = series.map(({ name, values }) => `${name} ${formatCount(values[shown] ?? 0)}`);
  return (
    <div className="chart-plot">
      {children}
      <div
        className="chart-cursor"
        role="slider"
        tabIndex={0}
        aria-label={t('Values over time: {label}', { label })}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={shown}
        aria-valuetext={`${describeStep(steps, shown)}: ${formatAll(texts)}`}
        onKeyDown={onKeyDown}
        onFocus={() => setChosen(chosen ?? last)}
        onBlur={() => setChosen(undefined)}
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => setChosen(undefined)}
      />
      {chosen !== undefined && <Tip {...{ steps, series, index: chosen }} />}
    </div>
  );
}

function Tip({ steps, series, index }: Pick<Shape, 'steps' | 'series'> & { index: number }) {
  const share = (index + 0.5) / steps.length;
  const position =
    share < 0.5
      ? { left: `calc(${share * 100}% + 0.5rem)` }
      : { right: `calc(${(1 - share) * 100}% + 0.5rem)` };
  return (
    <>
      <div className="chart-line" style={{ left: `${share * 100}%` }} />
      <div className="chart-tip" style={position} aria-hidden="true">
        <strong>{describeStep(steps, index)}</strong>
        {series.map(({ name, color, values }) => (
          <div key={name} className="row spread">
            <span className="row">
              <Swatch color={color} />
              {name}
            </span>
            <span>{formatCount(values[index] ?? 0)}</span>
          </div>
        ))}
      </div>
    </>
  );
}

/** The table of a chart, without steps that have no values. */
function ChartTable({ label, steps, series }: Pick<Shape, 'label' | 'steps' | 'series'>) {
  const rows = steps.flatMap((step, index) =>
    series.some(({ values }) => values[index]) ? [{ step, index }] : [],
  );
  return (
    <details className="small">
      <summary>{t('As a table')}</summary>
      <Table
        isSmall
        isShort
        label={label}
        rows={rows}
        keyOf={({ step }) => step}
        columns={[
          [t('Time'), ({ index }) => describeStep(steps, index), 'nowrap'],
          ...series.map(
            ({ name, values }) =>
              [name, ({ index }: { index: number }) => formatCount(values[index] ?? 0), 'number'] as const,
          ),
        ]}
      />
    </details>
  );
}

interface Drawn {
  steps: readonly number[];
  series: readonly Series[];
  scale(value: number): number;
  height: number;
}

function Bars({ steps, series, scale, height }: Drawn) {
  const width = WIDTH / Math.max(1, steps.length);
  return steps.map((step, index) => {
    let y = height;
    return (
      <g key={step}>
        {series.map(({ name, color, values }) => {
          const size = scale(values[index] ?? 0);
          y -= size;
          const box = { x: (index + 0.1) * width, y, width: width * 0.8, height: size };
          return <rect key={name} {...box} fill={color} />;
        })}
      </g>
    );
  });
}

function Line({ line, steps, scale, height }: Drawn & { line: Series }) {
  const gap = WIDTH / Math.max(1, steps.length);
  const points = line.values.flatMap((value, index) =>
    value === undefined ? [] : [`${((index + 0.5) * gap).toFixed(1)},${(height - scale(value)).toFixed(1)}`],
  );
  return (
    <polyline
      points={points.join(' ')}
      fill="none"
      stroke={line.color}
      strokeWidth={2}
      vectorEffect="non-scaling-stroke"
    />
  );
}
