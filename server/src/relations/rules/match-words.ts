import {
  type Comparable,
  type ComparedAttribute,
  compareValues,
  type Operator,
  readNumber,
  readOperand,
  readOperandMeasure,
  solveNumber,
  toComparable,
} from '../../catalog/filters/filters.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import { signOf } from '../../kernel/comparison-sign.ts';
import { SIDES, type Side } from '../relation-definitions/relation-definitions.ts';
import type { MatchTexts } from './match-texts.ts';
import { isPair, type Judgement, type RowedValue } from './match-truth.ts';
import { attributeOf, type CompiledMatch, withoutTerm } from './rule.ts';

/**
 * Describes in words what a match compares and what it needs. No other file makes these sentences. Each value
 * that the advice names makes the match hold if it replaces the present values. Source: docs/interface §12.6
 * rule 8.
 */
export interface MatchWords {
  /** A true statement about the values, such as `1600 W ≥ 8 × 120 W + 100 W`. */
  readonly say: string;
  /** The value that the target would need; absent if the match holds. */
  readonly advice?: string;
  /** The value that the source would need. Changing one of the two sides suffices. */
  readonly sourceAdvice?: string;
}

export function describeMatch(match: CompiledMatch, judgement: Judgement, texts: MatchTexts): MatchWords {
  const statement = sayMatch(match, judgement, texts);
  if (judgement.truth === 1) return { say: statement };
  const { source, target } = judgement.values;
  return {
    say: statement,
    advice: advise({ match, side: 'target', otherValues: source }, texts),
    sourceAdvice: advise({ match, side: 'source', otherValues: target }, texts),
  };
}

/** How many values of a list are shown. */
const SHOWN = 5;
/** The most characters of a value that is shown; a longer value is not quoted. */
const LONGEST = 255;

/** @returns `A, B or C`, or the first values and the number of the others */
function join<Item>(list: readonly Item[], texts: MatchTexts, write: (item: Item) => string): string {
  const hidden = list.length - SHOWN;
  const written = list.slice(0, SHOWN).map(write);
  const shown = hidden > 0 ? [...written, texts.others(texts.writeNumber(String(hidden), true))] : written;
  if (shown.length <= 1) return shown.join('');
  return `${shown.slice(0, -1).join(', ')} ${texts.or} ${shown.at(-1)}`;
}

const show = (text: string, attribute: ComparedAttribute, texts: MatchTexts): string =>
  text.length <= LONGEST ? text : texts.textOf(attribute.name);

function sayMatch(
  match: CompiledMatch,
  { truth, values }: Pick<Judgement, 'truth' | 'values'>,
  texts: MatchTexts,
) {
  const write = (side: Side, list: readonly RowedValue[]) => {
    const attribute = attributeOf(match, side);
    if (list.length === 0) return texts.noValue;
    return join(list, texts, ({ text = '' }) => writeTerm(show(text, attribute, texts), attribute, texts));
  };
  const compare = (verdict: string, { target, source }: Judgement['values'] = values) =>
    `${write('target', target)} ${signOf(match.operator, verdict)} ${write('source', source)}`;
  if (SIDES.some((side) => values[side].length === 0))
    return truth === 1 ? texts.passes(compare('unknown')) : compare('unknown');
  const pair = truth === 1 ? findPair(match, values) : undefined;
  if (match.table === undefined || isComparing(match, pair))
    return compare(truth === 1 ? 'fits' : 'does_not_fit', pair);
  const { target, source } = pair ?? values;
  const say = truth === 1 ? texts.paired : texts.unpaired;
  return say(write('target', target), write('source', source), match.table.name);
}

/** @returns one value of each side: the first pair that matches */
function findPair(match: CompiledMatch, { source, target }: Judgement['values']): Judgement['values'] {
  for (const to of target) {
    const from = source.find((value) => isPair(match, value, to));
    if (from !== undefined) return { target: [to], source: [from] };
  }
  return { source, target };
}

/** Whether the two values also match without the table. */
function isComparing(match: CompiledMatch, pair: Judgement['values'] | undefined): boolean {
  const { partners: _, ...comparison } = match;
  const [from, to] = [pair?.source[0], pair?.target[0]];
  return from !== undefined && to !== undefined && isPair(comparison, from, to);
}

/** @returns the computation on a value, such as `8 × 120 W + 100 W` */
function writeTerm(value: string, { term }: ComparedAttribute, { writeNumber }: MatchTexts): string {
  const product = term?.times === undefined ? value : `${writeNumber(term.times, false)} × ${value}`;
  if (term?.plus === undefined) return product;
  const { plain, unit } = term.plus;
  const isNegative = plain.startsWith('-');
  const number = writeNumber(isNegative ? plain.slice(1) : plain, false);
  return `${product} ${isNegative ? '−' : '+'} ${number}${unit === '' ? '' : ` ${unit}`}`;
}

/** The side that the advice is about, with the values of the other side. */
interface AdviceRequest {
  readonly match: CompiledMatch;
  readonly side: Side;
  readonly otherValues: readonly RowedValue[];
}

const ownOf = ({ match, side }: AdviceRequest) => attributeOf(match, side);
const otherOf = ({ match, side }: AdviceRequest) =>
  attributeOf(match, side === 'source' ? 'target' : 'source');

/** Caches advice by side and by the values of the other side, which many products share. */
const advised = new WeakMap<CompiledMatch, WeakMap<MatchTexts, BoundedMap<string, string>>>();
const MOST_ADVICE = 1_000;

function advise(request: AdviceRequest, texts: MatchTexts): string {
  const { match, side, otherValues } = request;
  const ofMatch = advised.getOrInsertComputed(match, () => new WeakMap());
  const advice = ofMatch.getOrInsertComputed(texts, () => new BoundedMap({ most: MOST_ADVICE }));
  const key = `${side} ${JSON.stringify(otherValues.map(({ text }) => text))}`;
  return advice.getOrInsertComputed(key, () => makeAdvice(request, texts));
}

function makeAdvice(request: AdviceRequest, texts: MatchTexts): string {
  if (request.otherValues.length === 0) return texts.whileMissing(otherOf(request).name);
  const advice = findAdvice(request, texts);
  if (advice !== undefined) return advice;
  if (request.match.passes) return texts.wouldHaveNone;
  return isConstant(ownOf(request)) ? texts.timesZero : texts.otherSide(otherOf(request).name);
}

/** Whether the computation gives the same result for every value. */
const isConstant = ({ term }: Compared): boolean => Number(term?.times ?? 1) === 0;

/** @returns undefined if no value makes the match hold */
function findAdvice(request: AdviceRequest, texts: MatchTexts): string | undefined {
  const { match } = request;
  const own = ownOf(request);
  if (own.type === 'BOOLEAN_ATTRIBUTE') return adviseTruth(request, texts);
  if (isConstant(own)) {
    const comparable = toComparable({ plain: '0', unit: own.unitName ?? '' }, own);
    return suffices(request, { comparable }) ? texts.wouldNeedValue : undefined;
  }
  if (match.operator === 'equals') return adviseEqual(request, texts);
  if (match.operator === 'notEquals') return adviseOther(request, texts);
  return adviseOrder(request, match.operator, texts);
}

/** A value that a side could have. */
interface Candidate {
  /** The value as shown. */
  readonly shown: string;
  readonly comparable: Comparable;
}

/** Whether the candidate makes the match hold. */
const suffices = (
  { match, side, otherValues }: AdviceRequest,
  candidate: Pick<Candidate, 'comparable'>,
): boolean =>
  otherValues.some((other) =>
    side === 'target' ? isPair(match, other, candidate) : isPair(match, candidate, other),
  );

function adviseTruth(request: AdviceRequest, { wouldBe, wouldNeedValue }: MatchTexts): string | undefined {
  const [only, ...others] = [true, false].filter((truth) => suffices(request, { comparable: Number(truth) }));
  if (only === undefined) return undefined;
  return others.length > 0 ? wouldNeedValue : wouldBe(String(only));
}

/** Names values of the table if it has any for this match, because such values are the purpose of a table. */
function adviseEqual(request: AdviceRequest, texts: MatchTexts): string | undefined {
  const { table } = request.match;
  const listed = distinct(listPartners(request, texts));
  const chosen = listed.length > 0 ? listed : distinct(listEqual(request, texts));
  if (chosen.length === 0) return undefined;
  const list = join(chosen, texts, ({ shown }) => shown);
  const words = chosen.length > 2 ? texts.oneOf(list) : list;
  return table !== undefined && listed.length === 0
    ? texts.unlisted(words, table.name)
    : texts.wouldBe(words);
}

const distinct = (list: readonly Candidate[]): Candidate[] => [
  ...new Map(list.map((candidate) => [candidate.comparable, candidate])).values(),
];

/** @returns the values that equal values of the other side */
function listEqual(request: AdviceRequest, texts: MatchTexts): Candidate[] {
  const other = otherOf(request);
  return request.otherValues.flatMap(({ text = '', comparable }) => {
    if (!isNumeric(request)) return [{ shown: show(text, other, texts), comparable }];
    const measure = readNumber(text, other);
    const equal = measure && toNumber(request, { measure, term: other.term }, texts);
    return equal?.comparable === comparable ? [equal] : [];
  });
}

type Compared = ComparedAttribute;

/** @returns the values that the table pairs with values of the other side */
function listPartners(request: AdviceRequest, texts: MatchTexts): Candidate[] {
  const own = withoutTerm(ownOf(request));
  const partners = partnersOf(request.match)[request.side];
  const comparables = new Set(request.otherValues.map(({ comparable }) => comparable));
  return [...comparables].flatMap((otherComparable) =>
    (partners.get(otherComparable) ?? []).flatMap((text): Candidate[] => {
      const comparable = readOperand(text, own);
      if (comparable === undefined) return [];
      if (!isNumeric(request)) return [{ shown: show(text, own, texts), comparable }];
      const measure = readOperandMeasure(text, own);
      const number = measure && toNumber(request, { measure }, texts);
      return number?.comparable === comparable ? [number] : [];
    }),
  );
}

type Partners = ReadonlyMap<Comparable, readonly string[]>;

const partners = new WeakMap<CompiledMatch, Readonly<Record<Side, Partners>>>();

/** @returns for each side, its values in the table by the values of the opposite side */
const partnersOf = (match: CompiledMatch) =>
  partners.getOrInsertComputed(match, ({ source, target, table }) => {
    const values = {
      source: new Map<Comparable, string[]>(),
      target: new Map<Comparable, string[]>(),
    };
    const [ofSource, ofTarget] = [withoutTerm(source), withoutTerm(target)];
    for (const [from, to] of table?.pairs ?? []) {
      const [a, b] = [readOperand(from, ofSource), readOperand(to, ofTarget)];
      if (a === undefined || b === undefined) continue;
      values.target.getOrInsert(a, []).push(to);
      values.source.getOrInsert(b, []).push(from);
    }
    return values;
  });

const isNumeric = (request: AdviceRequest) => ownOf(request).type === 'NUMERIC_ATTRIBUTE';

/** @returns the number that equals `otherNumber` after the computation on the advised side */
function toNumber(
  request: AdviceRequest,
  otherNumber: Parameters<typeof solveNumber>[0],
  texts: MatchTexts,
): Candidate | undefined {
  const own = ownOf(request);
  const plain = solveNumber(otherNumber, own, 'nearest');
  if (plain === undefined) return undefined;
  const comparable = toComparable({ plain, unit: own.unitName ?? '' }, own);
  return { shown: writeMeasure(plain, own, texts), comparable };
}

const writeMeasure = (plain: string, { unitName }: Compared, { writeNumber }: MatchTexts): string =>
  `${writeNumber(plain, true)}${unitName === undefined ? '' : ` ${unitName}`}`;

/** Inequality fails only if all values of both sides are equal, so every other value suffices. */
function adviseOther(request: AdviceRequest, texts: MatchTexts): string {
  const [first, ...others] = new Set(request.otherValues.map(({ comparable }) => comparable));
  const [equal] = listEqual(request, texts);
  const isNamed = first !== undefined && others.length === 0 && equal?.comparable === first;
  return isNamed ? texts.wouldBe(texts.compared.notEquals(equal.shown)) : texts.wouldNeedValue;
}

type Ordering = Exclude<Operator, 'equals' | 'notEquals'>;

/** The operators with the two sides exchanged. */
const MIRRORED: Readonly<Record<Ordering, Ordering>> = {
  less: 'greater',
  lessOrEqual: 'greaterOrEqual',
  greater: 'less',
  greaterOrEqual: 'lessOrEqual',
};

/** Compares with the value of the other side that is easiest to reach. */
function adviseOrder(request: AdviceRequest, operator: Ordering, texts: MatchTexts): string | undefined {
  const ordering = request.side === 'target' ? operator : MIRRORED[operator];
  const sorted = request.otherValues.toSorted((a, b) => compareValues(a.comparable, b.comparable));
  const { text = '', comparable } = sorted.at(ordering.startsWith('greater') ? 0 : -1) as RowedValue;
  if (isNumeric(request)) return adviseNumber(request, { text, operator: ordering }, texts);
  if (ordering === 'less' && comparable === '') return undefined;
  return texts.wouldBe(texts.compared[ordering](show(text, otherOf(request), texts)));
}

/**
 * A negative factor reverses the comparison. The limit is rounded towards the values for which the match
 * holds.
 */
function adviseNumber(
  request: AdviceRequest,
  { text, operator }: { readonly text: string; readonly operator: Ordering },
  texts: MatchTexts,
): string | undefined {
  const [own, other] = [ownOf(request), otherOf(request)];
  const turned = Number(own.term?.times ?? 1) < 0 ? MIRRORED[operator] : operator;
  const measure = readNumber(text, other);
  const rounding = turned.startsWith('greater') ? 'up' : 'down';
  const plain = measure && solveNumber({ measure, term: other.term }, own, rounding);
  return plain && texts.wouldBe(texts.compared[turned](writeMeasure(plain, own, texts)));
}
