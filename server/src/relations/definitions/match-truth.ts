import {
  COMPARISONS,
  type Comparable,
  type ComparedAttribute,
  compareValues,
} from '../../catalog/filters/filters.ts';
import type { Side } from './relation.ts';
import { attributeOf, type CompiledElement, type CompiledMatch } from './rule.ts';

/**
 * Whether an element of a rule holds for two products: true, false, or unknown where a value is missing. Pure. Source:
 * docs/interface.md §12.3.
 */

/** A value with the row of its product that it belongs to; none: to every row. */
export interface RowedValue {
  readonly comparable: Comparable;
  readonly row?: string | undefined;
}

/** Reads a product's values of an attribute, in the order of the upload. */
export type ReadValues = (attribute: ComparedAttribute) => readonly RowedValue[];

/** How an element stands: -1 false, 0 unknown, 1 true. */
export interface Judgement {
  readonly truth: -1 | 0 | 1;
  /** Attributes without a value that it holds by, each once. */
  readonly assumed: readonly string[];
  /** Values without which it is unknown. */
  readonly missing: readonly { readonly side: Side; readonly attribute: string }[];
  /** Of each inner match; of rows those that come nearest. */
  readonly inner?: readonly Judgement[];
}

export function judgeElement(element: CompiledElement, read: Readonly<Record<Side, ReadValues>>): Judgement {
  if ('any' in element)
    return joinAlternatives(element.any.map((match) => judgeMatch(match, readBoth(match, read))));
  if ('together' in element) return judgeRows(element.together, read);
  return judgeMatch(element, readBoth(element, read));
}

type BothSides = Readonly<Record<Side, readonly Comparable[]>>;

const readBoth = (match: CompiledMatch, read: Readonly<Record<Side, ReadValues>>): BothSides => ({
  source: read.source(match.source).map(({ comparable }) => comparable),
  target: read.target(match.target).map(({ comparable }) => comparable),
});

const SIDES = ['source', 'target'] as const;
const HOLDS: Judgement = { truth: 1, assumed: [], missing: [] };
const FAILS: Judgement = { truth: -1, assumed: [], missing: [] };

/** One pair of values is enough (§12.2 rule 9). */
function judgeMatch(match: CompiledMatch, values: BothSides): Judgement {
  const missing = SIDES.filter((side) => values[side].length === 0).map((side) => ({
    side,
    attribute: attributeOf(match, side).name,
  }));
  if (missing.length === 0) {
    const isAny = values.source.some((source) =>
      values.target.some((target) => isPair(match, source, target)),
    );
    return isAny ? HOLDS : FAILS;
  }
  if (match.passes === undefined) return { truth: 0, assumed: [], missing };
  return { truth: 1, assumed: [...new Set(missing.map(({ attribute }) => attribute))], missing: [] };
}

/** Whether a value of the source goes with one of the target. */
export const isPair = (
  { operator, partners }: CompiledMatch,
  source: Comparable,
  target: Comparable,
): boolean =>
  COMPARISONS[operator](compareValues(target, source)) || partners?.get(source)?.includes(target) === true;

/** True by fewer assumptions is better than by more. */
const isBetter = (a: Judgement, b: Judgement) =>
  a.truth > b.truth || (a.truth === b.truth && a.assumed.length < b.assumed.length);

function joinAlternatives(inner: readonly Judgement[]): Judgement {
  const { truth, assumed } = inner.reduce((best, one) => (isBetter(one, best) ? one : best));
  return { truth, assumed, missing: truth === 0 ? inner.flatMap((one) => one.missing) : [], inner };
}

const joinAll = (inner: readonly Judgement[]): Judgement => {
  const truth = Math.min(...inner.map((one) => one.truth)) as Judgement['truth'];
  return {
    truth,
    assumed: truth === 1 ? [...new Set(inner.flatMap((one) => one.assumed))] : [],
    missing: truth === 0 ? inner.flatMap((one) => one.missing) : [],
    inner,
  };
};

function judgeRows(matches: readonly CompiledMatch[], read: Readonly<Record<Side, ReadValues>>): Judgement {
  let best: Judgement | undefined;
  for (const { source, target } of pairRows(matches, read)) {
    const judgeAt = (match: CompiledMatch, at: number) =>
      judgeMatch(match, { source: listOf(source[at]), target: listOf(target[at]) });
    const judged = joinAll(matches.map(judgeAt));
    if (judged.truth === 1 && judged.assumed.length === 0) return judged;
    if (best === undefined || isNearer(judged, best)) best = judged;
  }
  return best as Judgement;
}

function* pairRows(
  matches: readonly CompiledMatch[],
  read: Readonly<Record<Side, ReadValues>>,
): Generator<Readonly<Record<Side, Row>>> {
  const targets = listRows(matches, 'target', read.target);
  for (const source of listRows(matches, 'source', read.source))
    for (const target of targets) yield { source, target };
}

const isNearer = (a: Judgement, b: Judgement) =>
  isBetter(a, b) || (a.truth === b.truth && a.truth < 1 && countHolding(a) > countHolding(b));
const countHolding = ({ inner = [] }: Judgement) => inner.filter(({ truth }) => truth === 1).length;
const listOf = (value: Comparable | undefined) => (value === undefined ? [] : [value]);

/** A value for each match, or none. */
export type Row = readonly (Comparable | undefined)[];

/** A product has no more; one with many values of several attributes would have millions. */
export const ROWS_PER_PRODUCT = 2_000;

/**
 * @returns the rows of a product that matches look at together: for each row that its values name, and where they name
 * none for all of them, each combination of one value for each attribute
 */
export function listRows(matches: readonly CompiledMatch[], side: Side, read: ReadValues): Row[] {
  const attributes = matches.map((match) => attributeOf(match, side));
  const values = attributes.map(read);
  // What is computed of an attribute is of the same value as the attribute itself.
  const names = attributes.map(({ field, name }) => field ?? `"${name}`);
  const firsts = names.map((name) => names.indexOf(name));
  const named = [...new Set(values.flat().flatMap(({ row }) => row ?? []))];
  const rows = (named.length === 0 ? [undefined] : named).flatMap((row) => combine(values, firsts, row));
  return rows.slice(0, ROWS_PER_PRODUCT);
}

/** @param firsts for each list the place of the first one that is of the same attribute */
function combine(
  lists: readonly (readonly RowedValue[])[],
  firsts: readonly number[],
  row: string | undefined,
): Row[] {
  let places: number[][] = [[]];
  for (const [at, list] of lists.entries()) {
    const first = firsts[at] as number;
    const own = list.flatMap((value, place) => (value.row === undefined || value.row === row ? [place] : []));
    const choices = own.length === 0 ? [-1] : own;
    places = places
      .flatMap((start) =>
        first === at ? choices.map((place) => [...start, place]) : [[...start, start[first] as number]],
      )
      .slice(0, ROWS_PER_PRODUCT);
  }
  return places.map((chosen) => chosen.map((place, at) => lists[at]?.[place]?.comparable));
}
