import {
  COMPARISONS,
  type Comparable,
  type ComparedAttribute,
  compareValues,
  type ProductView,
} from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { SIDES, type Side } from '../relation-definitions/relation-definitions.ts';
import { attributeOf, type CompiledElement, type CompiledMatch } from './rule.ts';

/**
 * Whether an element of a rule holds for two products: true, false, or unknown if a value is missing. Pure. Source:
 * docs/interface §12.3.
 */

/** A value with its row within the product; without a row it belongs to every row. */
export interface RowedValue {
  readonly comparable: Comparable;
  readonly row?: string | undefined;
  /** As uploaded, if the reader has that. */
  readonly text?: string;
}

/** Reads a product's values of an attribute, in the order of the upload. */
export type ReadValues = (attribute: ComparedAttribute) => readonly RowedValue[];

type Grouped = Pick<UploadedProduct, 'identifier' | 'groupIdentifier'>;

/** Whether a relation may lead from one product to the other (§12.3 rule 2). */
export const isApart = (a: Grouped, b: Grouped, excludeSameGroup: boolean): boolean =>
  a.identifier !== b.identifier && !(excludeSameGroup && a.groupIdentifier === b.groupIdentifier);

/** @returns a function that reads a product as filters see it */
export const readFrom =
  (view: ProductView): ReadValues =>
  (attribute) => {
    const rows = view.rowsOf?.(attribute);
    return view.valuesOf(attribute).map((comparable, at) => ({ comparable, row: rows?.[at] }));
  };

/** The truth of an element: -1 false, 0 unknown, 1 true. */
export interface Judgement {
  readonly truth: -1 | 0 | 1;
  /** Attributes without a value that it is assumed to hold by, each once. */
  readonly assumed: readonly string[];
  /** The missing values that make it unknown. */
  readonly missing: readonly { readonly side: Side; readonly attribute: string }[];
  /** What a match compared, within rows the values of one row; for several matches see `inner`. */
  readonly values: BothSides;
  /** Of each inner match; for rows, of those that come nearest. */
  readonly inner?: readonly Judgement[];
}

export function judgeElement(element: CompiledElement, read: Readonly<Record<Side, ReadValues>>): Judgement {
  if ('any' in element) return joinAlternatives(element.any.map((match) => judgeAlone(match, read)));
  if ('together' in element) return judgeRows(element.together, read);
  return judgeAlone(element, read);
}

type BothSides = Readonly<Record<Side, readonly RowedValue[]>>;

const judgeAlone = (match: CompiledMatch, read: Readonly<Record<Side, ReadValues>>) =>
  judgeMatch(match, { source: read.source(match.source), target: read.target(match.target) });

const NONE: readonly never[] = [];
const NO_VALUES: BothSides = { source: NONE, target: NONE };

/** One pair of values that fits suffices (§12.2 rule 9). */
function judgeMatch(match: CompiledMatch, values: BothSides): Judgement {
  const missing = SIDES.filter((side) => values[side].length === 0).map((side) => ({
    side,
    attribute: attributeOf(match, side).name,
  }));
  if (missing.length === 0) {
    const isAny = values.source.some((source) =>
      values.target.some((target) => isPair(match, source, target)),
    );
    return { truth: isAny ? 1 : -1, assumed: NONE, missing: NONE, values };
  }
  if (match.passes === undefined) return { truth: 0, assumed: NONE, missing, values };
  return {
    truth: 1,
    assumed: [...new Set(missing.map(({ attribute }) => attribute))],
    missing: NONE,
    values,
  };
}

/** Whether a value of the source goes with one of the target. */
export const isPair = (
  { operator, partners }: CompiledMatch,
  { comparable: source }: RowedValue,
  { comparable: target }: RowedValue,
): boolean =>
  COMPARISONS[operator](compareValues(target, source)) || partners?.get(source)?.includes(target) === true;

/** Being true by fewer assumptions is better. */
const isBetter = (a: Judgement, b: Judgement) =>
  a.truth > b.truth || (a.truth === b.truth && a.assumed.length < b.assumed.length);

function joinAlternatives(inner: readonly Judgement[]): Judgement {
  const { truth, assumed } = inner.reduce((best, one) => (isBetter(one, best) ? one : best));
  const missing = truth === 0 ? inner.flatMap((one) => one.missing) : NONE;
  return { truth, assumed, missing, values: NO_VALUES, inner };
}

const joinAll = (inner: readonly Judgement[]): Judgement => {
  const truth = Math.min(...inner.map((one) => one.truth)) as Judgement['truth'];
  return {
    truth,
    assumed: truth === 1 ? [...new Set(inner.flatMap((one) => one.assumed))] : [],
    missing: truth === 0 ? inner.flatMap((one) => one.missing) : NONE,
    values: NO_VALUES,
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

function* pairRows(matches: readonly CompiledMatch[], read: Readonly<Record<Side, ReadValues>>) {
  const targets = listRowed(matches, 'target', read.target);
  for (const source of listRowed(matches, 'source', read.source))
    for (const target of targets) yield { source, target };
}

const isNearer = (a: Judgement, b: Judgement) =>
  isBetter(a, b) || (a.truth === b.truth && a.truth < 1 && countHolding(a) > countHolding(b));
const countHolding = ({ inner = [] }: Judgement) => inner.filter(({ truth }) => truth === 1).length;
const listOf = (value: RowedValue | undefined) => (value === undefined ? NONE : [value]);

/** For each match a value, or none. */
export type Row = readonly (Comparable | undefined)[];

/** The limit for a product; one with many values of several attributes would have millions. */
export const ROWS_PER_PRODUCT = 2_000;

/**
 * @returns the rows of a product that matches look at together: one for each row that its values name, and if
 * none of them names a row, each combination of one value for each attribute
 */
export const listRows = (matches: readonly CompiledMatch[], side: Side, read: ReadValues): Row[] =>
  listRowed(matches, side, read).map((row) => row.map((value) => value?.comparable));

function listRowed(matches: readonly CompiledMatch[], side: Side, read: ReadValues) {
  const attributes = matches.map((match) => attributeOf(match, side));
  const values = attributes.map(read);
  // A value computed from an attribute belongs with the attribute's own value.
  const names = attributes.map(({ field, name }) => field ?? `"${name}`);
  const firsts = names.map((name) => names.indexOf(name));
  const named = [...new Set(values.flat().flatMap(({ row }) => row ?? []))];
  const rows = (named.length === 0 ? [undefined] : named).flatMap((row) => combine(values, firsts, row));
  return rows.slice(0, ROWS_PER_PRODUCT);
}

/** @param firsts for each list, the index of the first one with the same attribute */
function combine(
  lists: readonly (readonly RowedValue[])[],
  firsts: readonly number[],
  row: string | undefined,
): (RowedValue | undefined)[][] {
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
  return places.map((chosen) => chosen.map((place, at) => lists[at]?.[place]));
}
