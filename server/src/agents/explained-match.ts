import { shortenValue } from './answer-size.ts';

/** A match of two products with the values that decided it. */
export interface ExplainedMatch {
  readonly target: string;
  readonly operator: string;
  readonly source: string;
  readonly targetValues: readonly string[];
  readonly sourceValues: readonly string[];
}

const SIGNS: Readonly<Record<string, string>> = {
  ...{ equals: '=', notEquals: '≠', less: '<', lessOrEqual: '≤', greater: '>', greaterOrEqual: '≥' },
};

/** @returns `Tyre width 54 mm ≤ Maximum tyre width 60 mm`. */
export function describeMatch({
  target,
  operator,
  source,
  targetValues,
  sourceValues,
}: ExplainedMatch): string {
  const describe = (name: string, values: readonly string[]) =>
    `${shortenValue(name)} ${values.slice(0, 2).map(shortenValue).join(' / ') || '(no value)'}`;
  return `${describe(target, targetValues)} ${SIGNS[operator] ?? operator} ${describe(source, sourceValues)}`;
}
