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
 * Judges whether an element of a rule holds for two products: true, false, or unknown if a value is missing.
 * Pure. Source: docs/interface §12.3.
 */

/** A value with its row within the product. A value without a row belongs to every row. */
export interface RowedValue {
  readonly comparable: Comparable;
  readonly row?: string | undefined;
  /** The value as uploaded, if the reader has it. */
  readonly text?: string;
}

/** Reads the values of an attribute of one product, in the order of the upload. */
export type ReadValues = (attribute: ComparedAttribute) => readonly RowedValue[];

type Grouped = Pick<UploadedProduct, 'identifier' | 'groupIdentifier'>;

/**
 * Whether a relation may lead from one product to the other: never to itself or an excluded group (§12.3 rule
 * 2).
 */
export const isApart = (a: Grouped, b: Grouped, excludeSameGroup: boolean): boolean =>
  a.identifier !== b.identifier && !(excludeSameGroup && a.groupIdentifier === b.groupIdentifier);

/** @returns a function that reads the values of a product in the form for filters */
export const readFrom =
  (view: ProductView): ReadValues =>
  (attribute) => {
    const rows = view.rowsOf?.(attribute);
    return view.valuesOf(attribute).map((comparable, index) => ({ comparable, row: rows?.[index] }));
  };

/** The judgement of an element. `truth` is -1 for false, 0 for unknown and 1 for true. */
export interface Judgement {
  readonly truth: -1 | 0 | 1;
  /** The attributes without a value; the element is assumed to hold by them. Each is named once. */
  readonly assumed: readonly string[];
  /** The missing values that make the element unknown. */
  readonly missing: readonly { readonly side: Side; readonly attribute: string }[];
  /**
   * The values that a match compared; within rows, the values of one row. An element of several matches has
   * them in `inner`.
   */
  readonly values: BothSides;
  /** The judgements of the inner matches; for rows, those of the nearest row. */
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

/** One matching pair of values suffices (§12.2 rule 9). */
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

/** Whether a value of the source matches a value of the target, by the operator or by the table. */
export const isPair = (
  { operator, partners }: CompiledMatch,
  { comparable: source }: RowedValue,
  { comparable: target }: RowedValue,
): boolean =>
  COMPARISONS[operator](compareValues(target, source)) || partners?.get(source)?.includes(target) === true;

/** A judgement is better if its truth is greater, or if it has the same truth with fewer assumptions. */
const isBetter = (a: Judgement, b: Judgement) =>
  a.truth > b.truth || (a.truth === b.truth && a.assumed.length < b.assumed.length);

function joinAlternatives(inner: readonly Judgement[]): Judgement {
  const { truth, assumed } = inner.reduce((best, judgement) =>
    isBetter(judgement, best) ? judgement : best,
  );
  const missing = truth === 0 ? inner.flatMap((judgement) => judgement.missing) : NONE;
  return { truth, assumed, missing, values: NO_VALUES, inner };
}

const joinAll = (inner: readonly Judgement[]): Judgement => {
  const truth = Math.min(...inner.map((judgement) => judgement.truth)) as Judgement['truth'];
  return {
    truth,
    assumed: truth === 1 ? [...new Set(inner.flatMap((judgement) => judgement.assumed))] : [],
    missing: truth === 0 ? inner.flatMap((judgement) => judgement.missing) : NONE,
    values: NO_VALUES,
    inner,
  };
};

function judgeRows(matches: readonly CompiledMatch[], read: Readonly<Record<Side, ReadValues>>): Judgement {
  let best: Judgement | undefined;
  for (const { source, target } of pairRows(matches, read)) {
    const judgeAt = (match: CompiledMatch, index: number) =>
      judgeMatch(match, { source: listOf(source[index]), target: listOf(target[index]) });
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

/** For each match its value in the row, if any. */
export type Row = readonly (Comparable | undefined)[];

/** The most rows of a product. With many values of several attributes it would have millions. */
export const ROWS_PER_PRODUCT = 2_000;

/**
 * @returns the rows of a product that matches compare: one for each row that its values name. If no value
 * names a row, each combination of one value per attribute is a row.
 */
export const listRows = (matches: readonly CompiledMatch[], side: Side, read: ReadValues): Row[] =>
  listRowed(matches, side, read).map((row) => row.map((value) => value?.comparable));

function listRowed(matches: readonly CompiledMatch[], side: Side, read: ReadValues) {
  const attributes = matches.map((match) => attributeOf(match, side));
  const values = attributes.map(read);
  // A computed value belongs to the same row as the value of its attribute.
  const names = attributes.map(({ field, name }) => field ?? `"${name}`);
  const firsts = names.map((name) => names.indexOf(name));
  const named = [...new Set(values.flat().flatMap(({ row }) => row ?? []))];
  const rows = (named.length === 0 ? [undefined] : named).flatMap((row) => combine(values, firsts, row));
  return rows.slice(0, ROWS_PER_PRODUCT);
}

/** @param firsts for each list, the index of the first list with the same attribute */
function combine(
  lists: readonly (readonly RowedValue[])[],
  firsts: readonly number[],
  row: string | undefined,
): (RowedValue | undefined)[][] {
  let combinations: number[][] = [[]];
  for (const [index, list] of lists.entries()) {
    const first = firsts[index] as number;
    const own = list.flatMap((value, position) =>
      value.row === undefined || value.row === row ? [position] : [],
    );
    const choices = own.length === 0 ? [-1] : own;
    combinations = combinations
      .flatMap((start) =>
        first === index
          ? choices.map((position) => [...start, position])
          : [[...start, start[first] as number]],
      )
      .slice(0, ROWS_PER_PRODUCT);
  }
  return combinations.map((chosen) => chosen.map((position, index) => lists[index]?.[position]));
}
