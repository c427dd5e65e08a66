import { signOf } from '../../kernel/comparison-sign.ts';
import { type FoundRelation, readRelated } from '../../relations/answering/answering.ts';
import type { FitAnswer } from '../../relations/fit/fit.ts';
import type {
  ExplainedElement,
  ExplainedMatch,
} from '../../relations/relation-definitions/relation-definitions.ts';
import type { Operation } from '../../storage/threads/threads.ts';
import { fitPage, shortenText, shortenValue, TOKENS } from '../tool.ts';

/** The most products of a relation that an agent can page through. */
export const FARTHEST = 80;

export interface ReadRelated {
  /** The answer of relations in the form single. */
  readonly answer: Uint8Array;
  readonly offset: number;
  readonly limit: number;
}

export interface ReadFit {
  readonly answer: Uint8Array;
  /** The tokens for the remaining parts of the answer. */
  readonly rest: number;
}

export type ShownRelated = ReturnType<typeof showRelated>;
export type JudgedFit = ReturnType<typeof showFit>;

export const relationOperations: Record<string, Operation> = {
  relatedForAgent: showRelated,
  fitForAgent: showFit,
};

/** @returns the relations that fit into an answer, and the ids of the others */
function showRelated({ answer, ...page }: ReadRelated) {
  const described = readRelated(answer).map((relation) => describeFound(relation, page));
  const shown = fitPage(described);
  return { shown, left: described.slice(shown.length).map(({ id }) => id) };
}

/** The tokens of a relation without its products. */
const RELATION_HEAD = 200;

function describeFound(
  { id, name, tag, searchResult }: FoundRelation,
  { offset, limit }: { offset: number; limit: number },
) {
  const chosen = searchResult.slice(offset, offset + limit).map(describeItem);
  const products = fitPage(chosen, RELATION_HEAD);
  const end = offset + products.length;
  const nextOffset = end < searchResult.length && end <= FARTHEST ? end : null;
  return { id, name: shortenText(name), tag: shortenText(tag), products, nextOffset };
}

const MATCHES = 6;

const describeItem = ({ identifier, name, brand, link, explain }: FoundRelation['searchResult'][number]) => ({
  identifier,
  name: shortenText(name),
  brand: shortenValue(brand),
  link: link.length > 200 ? '' : link,
  ...(explain !== undefined && {
    why: explain.match.slice(0, MATCHES).map((element) => describeMatch(element)),
  }),
});

type Term = { readonly times?: number; readonly plus?: number | string } | undefined;

/**
 * @returns the condition, such as `Tyre width 54 mm ≤ Maximum tyre width 60 mm`. Alternatives are joined by
 * `or` (those that hold, or all), and matches of one row by `and` with `in one row`. With `isJudged` it is a
 * statement on the values instead: `62 mm > 50 mm` if the match fails, and `≤?` if a value is missing.
 */
export function describeMatch(element: ExplainedElement, { isJudged = false } = {}): string {
  const list = (inner: readonly ExplainedElement[], joint: string) =>
    inner.map((innerElement) => describeMatch(innerElement, { isJudged })).join(joint);
  const { verdict = 'fits' } = (isJudged ? element : {}) as { verdict?: string };
  const holding = isJudged ? [] : (element.any?.filter(({ holds }) => holds) ?? []);
  if (holding.length > 0) return list(holding, ' or ');
  if (element.any) return list(element.any, verdict === 'does_not_fit' ? ' and ' : ' or ');
  if (element.together) return `${list(element.together, ' and ')} in one row`;
  const { target, operator, source, targetValues, sourceValues, targetTerm, sourceTerm } =
    element as ExplainedMatch;
  const describe = (name: string, values: readonly string[], term: Term) =>
    `${describeTerm(shortenValue(name), term)} ${values.slice(0, 2).map(shortenValue).join(' / ') || '(no value)'}`;
  return [
    describe(target, targetValues, targetTerm),
    signOf(operator, verdict),
    describe(source, sourceValues, sourceTerm),
    ...(element.table === undefined ? [] : [`or a pair of the table ${shortenValue(element.table)}`]),
    ...(element.missing === 'passes' ? ['or unknown'] : []),
  ].join(' ');
}

/** @returns the term with the attribute's name, such as `(1.2 × TDP + 100 W)` */
function describeTerm(name: string, { times, plus }: NonNullable<Term> = {}): string {
  const product = times === undefined ? name : `${times} × ${name}`;
  return plus === undefined ? product : `(${product} + ${shortenValue(String(plus))})`;
}

/**
 * @returns the advice on all matches that fail: for each, the value that its target or its source would need
 */
export function listAdvice(element: ExplainedElement): string[] {
  const inner = element.any ?? element.together;
  if (inner !== undefined) return inner.filter(({ holds }) => !holds).flatMap(listAdvice);
  const { target, advice, source, sourceAdvice } = element;
  return [
    ...(advice === undefined ? [] : [`${target} ${advice}`]),
    ...(sourceAdvice === undefined ? [] : [`${source} ${sourceAdvice}`]),
  ].map((text) => shortenText(text));
}

const ORDER = ['does_not_fit', 'unknown', 'fits'];

/** @returns what an agent is shown, and the identifiers that no product has */
function showFit({ answer, rest }: ReadFit) {
  const judged = JSON.parse(Buffer.from(answer).toString()) as FitAnswer;
  const pairs = judged.pairs
    .toSorted((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict))
    .map(({ target, ...pair }) => ({ target, ...describeJudged(pair) }));
  const shown = fitPage(pairs, rest);
  const tokensBefore = TOKENS - rest / 2;
  return {
    unknown: judged.unknownIdentifiers,
    shown: {
      verdict: judged.verdict,
      pairs: shown,
      totals: fitPage(judged.totals.map(describeTotal), tokensBefore),
      morePairs: pairs.length - shown.length,
      withoutRule: fitPage(judged.withoutRule, tokensBefore),
      unknownIdentifiers: fitPage(judged.unknownIdentifiers, tokensBefore),
      catalogVersion: judged.receipt.version,
    },
  };
}

const REASONS = 6;
const MISSING = 10;

type Pair = FitAnswer['pairs'][number];

const describeJudged = ({ source, relation, verdict, match, missing }: Omit<Pair, 'target'>) => ({
  source,
  relation: shortenText(relation.name),
  verdict,
  why: match
    .filter((judgedElement) => judgedElement.verdict === verdict)
    .slice(0, REASONS)
    .map((judgedElement) => describeMatch(judgedElement, { isJudged: true })),
  ...describeAdvice(match.filter((judgedElement) => judgedElement.verdict === 'does_not_fit')),
  missing: missing
    .slice(0, MISSING)
    .map(({ identifier, attribute }) => `${shortenValue(attribute)} of ${shortenValue(identifier)}`),
});

function describeAdvice(failing: readonly ExplainedElement[]): { readonly advice?: string[] } {
  const advice = failing.flatMap(listAdvice).slice(0, REASONS);
  return advice.length === 0 ? {} : { advice };
}

/** Describes a total like a match of its sum. */
const describeTotal = ({ operator, total, limit, ...judged }: FitAnswer['totals'][number]) =>
  describeJudged({
    ...judged,
    match: [
      {
        operator,
        verdict: judged.verdict,
        holds: judged.verdict === 'fits',
        target: `sum of ${total.attribute}`,
        targetValues: [total.sum],
        targetTerm: total,
        source: limit.attribute,
        sourceValues: limit.values,
        sourceTerm: limit,
      },
    ],
  });
