import { Type } from 'typebox';
import { type FitAnswer, FitQuestion, readQuestion } from '../relations/fit/fit.ts';
import { describeMatch } from './relation-tools.ts';
import { closed, defineTool, fitPage, shorten, shortenValue, TOKENS } from './tool.ts';

/** The tool that says whether products can be used together. */

const Verdict = Type.String({ description: 'fits, does_not_fit, unknown: a value is missing; or no_rule' });
const REASONS = 6;
const MISSING = 10;
/** Of the tokens of an answer: the rest of it. */
const REST = 900;

const { items, tags } = FitQuestion.properties;
const Judged = Type.Object({
  source: Type.String(),
  relation: Type.String(),
  verdict: Verdict,
  why: Type.Array(Type.String()),
  missing: Type.Array(Type.String(), { description: 'values that nobody entered' }),
});

export const checkFit = defineTool({
  name: 'check_fit',
  title: 'Check whether products fit',
  description:
    'Whether products can be used together, by the rules of this shop: a verdict for all of them, and for each pair with the values that decided or are missing. Unknown means that nobody knows: do not guess.',
  input: Type.Object({ items, tags }, closed),
  output: Type.Object({
    verdict: Verdict,
    pairs: Type.Array(Type.Object({ target: Type.String(), ...Judged.properties })),
    totals: Type.Array(Judged, { description: 'sums over all products' }),
    morePairs: Type.Integer({ description: 'that had no room; what does not fit comes first' }),
    withoutRule: Type.Array(Type.Array(Type.String()), { description: 'pairs that no rule is about' }),
    unknownIdentifiers: Type.Array(Type.String()),
    catalogVersion: Type.Integer(),
  }),
  async answer({ relations, project, signal }, question) {
    const bytes = await relations.judgeFit(readQuestion(project.id, question), signal);
    const answer = JSON.parse(Buffer.from(bytes.buffer).toString()) as FitAnswer;
    const order = ['does_not_fit', 'unknown', 'fits'];
    const pairs = answer.pairs
      .toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict))
      .map(({ target, ...pair }) => ({ target, ...describeJudged(pair) }));
    const shown = fitPage(pairs, REST);
    return {
      verdict: answer.verdict,
      pairs: [...shown],
      totals: [...fitPage(answer.totals.map(describeTotal), TOKENS - REST / 2)],
      morePairs: pairs.length - shown.length,
      withoutRule: [...fitPage(answer.withoutRule, TOKENS - REST / 2)],
      unknownIdentifiers: [...fitPage(answer.unknownIdentifiers, TOKENS - REST / 2)],
      catalogVersion: answer.receipt.version,
    };
  },
});

type Pair = FitAnswer['pairs'][number];

const describeJudged = ({ source, relation, verdict, match, missing }: Omit<Pair, 'target'>) => ({
  ...{ source, relation: shorten(relation.name), verdict },
  why: match
    .filter((one) => one.verdict === verdict)
    .slice(0, REASONS)
    .map((one) => describeMatch(one, { isJudged: true })),
  missing: missing
    .slice(0, MISSING)
    .map(({ identifier, attribute }) => `${shortenValue(attribute)} of ${shortenValue(identifier)}`),
});

/** As a match of its sum. */
const describeTotal = ({ operator, total, limit, ...judged }: FitAnswer['totals'][number]) =>
  describeJudged({
    ...judged,
    match: [
      {
        ...{ operator, verdict: judged.verdict, holds: judged.verdict === 'fits' },
        ...{ target: `sum of ${total.attribute}`, targetValues: [total.sum], targetTerm: total },
        ...{ source: limit.attribute, sourceValues: limit.values, sourceTerm: limit },
      },
    ],
  });
