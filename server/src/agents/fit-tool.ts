import { Type } from 'typebox';
import { type FitAnswer, FitQuestion, readQuestion } from '../relations/fit/fit.ts';
import { search } from './product-tools.ts';
import { describeMatch } from './relation-tools.ts';
import { closed, defineTool, fitPage, shorten, shortenValue, TOKENS, type ToolContext } from './tool.ts';

/** The tool that says whether products can be used together. */

const Verdict = Type.String({ description: 'fits, does_not_fit, unknown: a value is missing; or no_rule' });
const REASONS = 6;
const MISSING = 10;
/** Searches of one question. */
const NAMES = 10;
/** Hits of a search that may have the same name. */
const NAMESAKES = 20;
/** Of the tokens of an answer: the rest of it. */
const REST = 900;

const { items, tags } = FitQuestion.properties;
const Judged = Type.Object({
  source: Type.String(),
  relation: Type.String(),
  verdict: Verdict,
  why: Type.Array(Type.String()),
  missing: Type.Array(Type.String(), { description: 'values that are missing in the catalog' }),
});

export const checkFit = defineTool({
  name: 'check_fit',
  title: 'Check whether products fit',
  description:
    'Whether products can be used together, by the rules of this shop: a verdict for all of them, and for each pair with the values that decided or are missing. Unknown means that nobody knows: do not guess. An identifier may also be the whole name of a product.',
  input: Type.Object({ items, tags }, closed),
  output: Type.Object({
    verdict: Verdict,
    pairs: Type.Array(Type.Object({ target: Type.String(), ...Judged.properties })),
    totals: Type.Array(Judged, { description: 'sums over all products' }),
    morePairs: Type.Integer({ description: 'that had no room; what does not fit comes first' }),
    withoutRule: Type.Array(Type.Array(Type.String()), { description: 'pairs that no rule is about' }),
    unknownIdentifiers: Type.Array(Type.String()),
    namedProducts: Type.Array(Type.Object({ name: Type.String(), identifier: Type.String() }), {
      description: 'products that the question named by their names',
    }),
    catalogVersion: Type.Integer(),
  }),
  async answer(context, question) {
    const judged = await judge(context, question);
    const named = judged.unknownIdentifiers.length === 0 ? [] : await findNamed(context, judged);
    const identifiers = new Map(named.map(({ name, identifier }) => [name, identifier]));
    const renamed = question.items.map((item) => ({
      ...{ ...item, identifier: identifiers.get(item.identifier) ?? item.identifier },
    }));
    const answer = named.length === 0 ? judged : await judge(context, { ...question, items: renamed });
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
      namedProducts: [...fitPage(named, TOKENS - REST / 2)],
      catalogVersion: answer.receipt.version,
    };
  },
});

type Question = Parameters<typeof readQuestion>[1];

async function judge({ relations, project, signal }: ToolContext, question: Question): Promise<FitAnswer> {
  const bytes = await relations.judgeFit(readQuestion(project.id, question), signal);
  return JSON.parse(Buffer.from(bytes.buffer).toString()) as FitAnswer;
}

/** Names that a single product has, so that a question in words needs no search before it. */
async function findNamed(
  context: ToolContext,
  { unknownIdentifiers }: FitAnswer,
): Promise<{ name: string; identifier: string }[]> {
  const named = [];
  for (const name of unknownIdentifiers.slice(0, NAMES)) {
    const { items } = await search(context, { q: name, limit: NAMESAKES });
    const [found, another] = items.filter((one) => one.name.toLowerCase() === name.toLowerCase());
    if (found !== undefined && another === undefined) named.push({ name, identifier: found.identifier });
  }
  return named;
}

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
