import assert from 'node:assert/strict';

/** Labels that Prometheus itself adds to every series. */
const TARGET_LABELS = ['job', 'instance'];
const QUERY_WORDS = /\b(?:by|without|on|ignoring|group_left|group_right) ?\(([^)]*)\)/g;
const SERIES = /\b(up|relata_\w+)(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)(=~|!~|!=|=)"([^"]*)"/g;

/** Values of each label of each metric, by names. */
export type MetricLabels = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** @returns the metrics and labels of a /metrics answer; a metric without series has no labels */
export function readMetricLabels(text: string): MetricLabels {
  const metrics = new Map<string, Map<string, Set<string>>>([['up', new Map()]]);
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const valuesByLabel = metrics.get(name) ?? new Map<string, Set<string>>();
    metrics.set(name, valuesByLabel);
    for (const [, label = '', , value = ''] of labels.matchAll(MATCHER)) {
      valuesByLabel.set(label, (valuesByLabel.get(label) ?? new Set()).add(value));
    }
  }
  return metrics;
}

/**
 * Asserts that a query uses only metrics, labels and label values that /metrics has.
 * @param shown labels that a text next to the query shows
 */
export function assertAnswerable(metrics: MetricLabels, query: string, shown: readonly string[]): void {
  const series = [...query.matchAll(SERIES)];
  assert.ok(series.length > 0, query);
  const knownLabels = new Set(TARGET_LABELS);
  for (const [, name = '', matchers = ''] of series) {
    const labels = metrics.get(name) ?? assert.fail(`/metrics has no ${name}: ${query}`);
    for (const label of labels.keys()) knownLabels.add(label);
    for (const matcher of matchers.matchAll(MATCHER)) assertMatches(labels, matcher, query);
  }
  const grouped = [...query.matchAll(QUERY_WORDS)].flatMap(([, list = '']) => list.split(/, ?/));
  for (const label of [...grouped, ...shown])
    assert.ok(knownLabels.has(label), `no label ${label}: ${query}`);
}

function assertMatches(
  labels: ReadonlyMap<string, ReadonlySet<string>>,
  [matcher, label = '', operator, value = '']: RegExpExecArray,
  query: string,
): void {
  if (TARGET_LABELS.includes(label)) return;
  const values = labels.get(label) ?? assert.fail(`no label ${label}: ${query}`);
  const pattern = operator?.includes('~') ? new RegExp(`^(?:${value})$`) : undefined;
  // `status=~"5.."` matches errors that must never occur.
  if (label === 'status' && pattern?.test('500')) return;
  assert.ok(
    [...values].some((candidate) => pattern?.test(candidate) ?? candidate === value),
    `${matcher} never matches: ${query}`,
  );
}
