import { Type } from 'typebox';
import type { Filter as ProductFilter } from '../catalog/filters/filters.ts';
import { signOf } from '../kernel/comparison-sign.ts';
import { ServiceError } from '../kernel/errors.ts';
import { optional } from '../kernel/optional.ts';
import { type FoundRelation, type RelatedRequest, readAnswer } from '../relations/answers/answers.ts';
import * as definitions from '../relations/definitions/definitions.ts';
import { type FitAnswer, FitQuestion, readQuestion } from '../relations/fit/fit.ts';
import { search } from './product-tools.ts';
import * as tool from './tool.ts';

const Offset = optional.integer({ minimum: 0, maximum: 10_000, description: 'default 0' });

export const listRelations = tool.defineTool({
  name: 'list_relations',
  title: 'List relations',
  description: 'Lists what this catalog knows of what goes with what: relations, each with a tag.',
  input: { offset: Offset },
  output: {
    relations: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: Type.String(),
        tag: Type.String(),
        description: optional.text(),
        kind: Type.String({
          description: 'rule: found by attributes; links: pairs that were listed by hand or by a file',
        }),
        twoWay: Type.Boolean(),
        enabled: Type.Boolean(),
        state: Type.String(),
        problem: optional.text(),
      }),
    ),
    total: Type.Integer(),
    nextOffset: tool.NextOffset,
  },
  async answer({ relations, project }, { offset }) {
    const all = (await relations.list(project.id)).map(describeRelation);
    const { page, nextOffset } = tool.fitFrom(all, offset);
    return { relations: page, total: all.length, nextOffset };
  },
});

function describeRelation({ id, definition, state, problem }: definitions.Relation) {
  const { name, tag, description, kind = 'rule', twoWay, enabled } = definition;
  return {
    id,
    name: tool.shorten(name),
    tag: tool.shorten(tag),
    ...(description && { description: tool.shorten(description) }),
    kind,
    twoWay,
    enabled,
    state,
    ...(problem !== undefined && { problem: tool.shorten(problem) }),
  };
}

const Related = Type.Object({
  identifier: Type.String(),
  name: Type.String(),
  brand: Type.String(),
  link: Type.String(),
  why: optional.list(Type.String()),
});
const RELATED = 5;
const LARGEST = 20;
const FARTHEST = 80;
/** The limit of one question; the answer lists the relations left. */
const RELATIONS = 20;

export const relatedProducts = tool.defineTool({
  name: 'related_products',
  title: 'Related products',
  description:
    'What goes with a product: accessories, spare parts, alternatives, whatever the relations say. With explain, the values that decided.',
  input: {
    identifier: tool.Identifier,
    tags: optional.list(Type.String({ minLength: 1, maxLength: 255 }), {
      maxItems: 20,
      description: 'default: all relations',
    }),
    relationIds: optional.list(Type.Integer({ minimum: 1 }), { maxItems: RELATIONS }),
    limit: optional.integer({
      minimum: 1,
      maximum: LARGEST,
      default: RELATED,
      description: 'products of each relation',
    }),
    offset: optional.integer({
      minimum: 0,
      maximum: FARTHEST,
      description: 'products of each relation to leave out; default 0',
    }),
    explain: optional.flag(),
  },
  output: {
    relations: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: Type.String(),
        tag: Type.String(),
        products: Type.Array(Related),
        nextOffset: tool.NextOffset,
      }),
    ),
    notShown: Type.Array(Type.Integer(), {
      description: 'relations that had no room: ask for them with relationIds',
    }),
  },
  async answer(context, { identifier, tags, relationIds, limit = RELATED, offset = 0, explain = false }) {
    if (!(await context.catalog.store.hasAny(context.project.id, [identifier])))
      throw new ServiceError('not_found', `no product ${JSON.stringify(identifier)}`);
    const chosen = await chooseRelations(context, { tags, relationIds });
    const now = chosen.slice(0, RELATIONS);
    const included = { includeRelations: now.map(({ id }) => ({ id, limit: offset + limit + 1 })) };
    const request: RelatedRequest = { ...included, identifiers: [identifier], form: 'single', explain };
    const found =
      now.length === 0
        ? []
        : await readAnswer(await context.relations.answer(context.project, request, context.signal));
    const described = found.map((one) => describeFound(one, { offset, limit }));
    const shown = tool.fitPage(described);
    const shownIds = new Set(described.slice(shown.length).map(({ id }) => id));
    const notShown = [...now.filter(({ id }) => shownIds.has(id)), ...chosen.slice(RELATIONS)];
    return { relations: shown, notShown: notShown.map(({ id }) => id).slice(0, 100) };
  },
});

async function chooseRelations(
  { relations, project }: tool.ToolContext,
  { tags, relationIds }: { tags: readonly string[] | undefined; relationIds: readonly number[] | undefined },
): Promise<readonly definitions.Relation[]> {
  const all = (await relations.list(project.id)).filter(({ definition }) => definition.enabled);
  if (tags === undefined && relationIds === undefined) return all;
  return all.filter(({ id, definition }) => tags?.includes(definition.tag) || relationIds?.includes(id));
}

/** Tokens of a relation without its products. */
const RELATION_HEAD = 200;

function describeFound(
  { id, name, tag, searchResult }: FoundRelation,
  { offset, limit }: { offset: number; limit: number },
) {
  const chosen = searchResult.slice(offset, offset + limit).map(describeItem);
  const products = tool.fitPage(chosen, RELATION_HEAD);
  const end = offset + products.length;
  const nextOffset = end < searchResult.length && end <= FARTHEST ? end : null;
  return { id, name: tool.shorten(name), tag: tool.shorten(tag), products, nextOffset };
}

const MATCHES = 6;

const describeItem = ({ identifier, name, brand, link, explain }: FoundRelation['searchResult'][number]) => ({
  identifier,
  name: tool.shorten(name),
  brand: tool.shortenValue(brand),
  link: link.length > 200 ? '' : link,
  ...(explain !== undefined && { why: explain.match.slice(0, MATCHES).map((one) => describeMatch(one)) }),
});

const ExplainedCondition = Type.Object({
  side: Type.String({ description: 'source or target of the relation' }),
  condition: Type.String({ description: 'a filter as JSON' }),
  holds: Type.Boolean(),
  values: Type.Array(Type.String(), { description: 'what the product has' }),
});
const CONDITIONS = 10;
/** Half of the tokens of an answer. */
const HALF = 850;

export const explainRelation = tool.defineTool({
  name: 'explain_relation',
  title: 'Explain a relation',
  description:
    'Why two products are related by a relation, or why they are not: every condition with the values.',
  input: { relationId: Type.Integer({ minimum: 1 }), source: tool.Identifier, target: tool.Identifier },
  output: {
    related: Type.Boolean(),
    rank: Type.Union([Type.Integer(), Type.Null()]),
    excluded: Type.Union([Type.String(), Type.Null()]),
    matches: Type.Array(Type.Object({ match: Type.String(), holds: Type.Boolean() })),
    conditions: Type.Array(ExplainedCondition),
    moreConditions: Type.Integer({ description: 'that had no room' }),
    listed: optional.text('in a relation of links: who lists the other'),
  },
  async answer({ relations, project, signal }, { relationId, source, target }) {
    const request = { projectId: project.id, id: relationId, source, target };
    const why = await relations.explain(request, signal);
    const conditions = (['source', 'target'] as const).flatMap((side) =>
      why[side].conditions.map(({ condition, holds, values }) => ({
        side,
        condition: tool.shorten(JSON.stringify(condition), 160),
        holds,
        values: values.slice(0, 3).map(tool.shortenValue),
      })),
    );
    const matches = why.match.map((match) => ({ match: describeMatch(match), holds: match.holds }));
    const failing = conditions.sort((a, b) => Number(a.holds) - Number(b.holds)).slice(0, CONDITIONS);
    const shown = tool.fitPage(failing, HALF);
    const { related, rank, excluded, listed } = why;
    return {
      related,
      rank,
      excluded,
      conditions: shown,
      matches: tool.fitPage(matches.slice(0, CONDITIONS), HALF),
      moreConditions: conditions.length - shown.length,
      ...(listed && { listed: `${listed.by}, at ${listed.position}` }),
    };
  },
});

const Filter = Type.Unsafe<ProductFilter>({
  type: 'object',
  properties: {},
  description:
    'a filter, such as {"all":[{"category":["Tools"]},{"attribute":"Weight","operator":"less","value":3}]}; {"all":[]} is every product',
});

export const previewRelation = tool.defineTool({
  name: 'preview_relation',
  title: 'Try a relation',
  description:
    'Tries a rule on the whole catalog, without storing it: how many products get results, with examples.',
  access: 'write',
  input: { source: Filter, target: Filter, match: definitions.MatchElements },
  output: {
    problem: optional.text(),
    sourceProducts: optional.integer(),
    targetProducts: optional.integer(),
    sampled: optional.flag(),
    shareWithResults: optional.number('of the sources, from 0 to 1'),
    withoutResults: optional.list(Type.String()),
    examples: optional.list(Type.Object({ source: Type.String(), results: Type.Array(Type.String()) })),
  },
  async answer({ relations, project, signal, limitScans }, sent) {
    const definition = definitions.checkDefinition({ name: 'preview', tag: 'preview', ...sent });
    limitScans();
    const tried = await relations.tryDefinition({ projectId: project.id, definition }, signal);
    if ('problem' in tried) return { problem: tool.shorten(tried.problem) };
    const examples = tried.examples.map(({ source, results }) => ({
      source,
      results: results.flat().slice(0, 5),
    }));
    return {
      sourceProducts: tried.source.products,
      targetProducts: tried.target.products,
      sampled: tried.sampled,
      shareWithResults: tried.share,
      withoutResults: tried.withoutResults.identifiers.slice(0, 5),
      examples: tool.fitPage(examples.slice(0, 5), HALF),
    };
  },
});

type Term = { readonly times?: number; readonly plus?: number | string } | undefined;

/**
 * @returns the condition, as `Tyre width 54 mm ≤ Maximum tyre width 60 mm`, `… or …` (those that hold, or all), `… and …
 * in one row`. With `isJudged`, the fact instead: `62 mm > 50 mm` if it does not hold, `≤?` if a value is missing
 */
export function describeMatch(element: definitions.ExplainedElement, { isJudged = false } = {}): string {
  const list = (inner: readonly definitions.ExplainedElement[], joint: string) =>
    inner.map((one) => describeMatch(one, { isJudged })).join(joint);
  const { verdict = 'fits' } = (isJudged ? element : {}) as { verdict?: string };
  const held = isJudged ? [] : (element.any?.filter(({ holds }) => holds) ?? []);
  if (held.length > 0) return list(held, ' or ');
  if (element.any) return list(element.any, verdict === 'does_not_fit' ? ' and ' : ' or ');
  if (element.together) return `${list(element.together, ' and ')} in one row`;
  const { target, operator, source, targetValues, sourceValues, targetTerm, sourceTerm } =
    element as definitions.ExplainedMatch;
  const describe = (name: string, values: readonly string[], term: Term) =>
    `${describeTerm(tool.shortenValue(name), term)} ${values.slice(0, 2).map(tool.shortenValue).join(' / ') || '(no value)'}`;
  return [
    describe(target, targetValues, targetTerm),
    signOf(operator, verdict),
    describe(source, sourceValues, sourceTerm),
    ...(element.table === undefined ? [] : [`or a pair of the table ${tool.shortenValue(element.table)}`]),
    ...(element.missing === 'passes' ? ['or unknown'] : []),
  ].join(' ');
}

/** @returns `1.2 × TDP + 100 W` */
function describeTerm(name: string, { times, plus }: NonNullable<Term> = {}): string {
  const product = times === undefined ? name : `${times} × ${name}`;
  return plus === undefined ? product : `(${product} + ${tool.shortenValue(String(plus))})`;
}

const Verdict = Type.String({ description: 'fits, does_not_fit, unknown: a value is missing; or no_rule' });
const REASONS = 6;
const MISSING = 10;
/** The most searches for one question. */
const NAMES = 10;
/** The most hits of a search with the same name. */
const NAMESAKES = 20;
/** Tokens for the rest of an answer. */
const REST = 900;

const { items, tags } = FitQuestion.properties;
const Judged = Type.Object({
  source: Type.String(),
  relation: Type.String(),
  verdict: Verdict,
  why: Type.Array(Type.String()),
  missing: Type.Array(Type.String(), { description: 'values that are missing in the catalog' }),
});

export const checkFit = tool.defineTool({
  name: 'check_fit',
  title: 'Check whether products fit',
  description:
    'Whether products can be used together, by the rules of this shop: a verdict for all of them, and for each pair with the values that decided or are missing. Unknown means that nobody knows: do not guess. An identifier may also be the whole name of a product.',
  input: { items, tags },
  output: {
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
  },
  async answer(context, question) {
    const judged = await judge(context, question);
    const named = judged.unknownIdentifiers.length === 0 ? [] : await findNamed(context, judged);
    const identifiers = new Map(named.map(({ name, identifier }) => [name, identifier]));
    const renamed = question.items.map(({ identifier, ...item }) => ({
      ...item,
      identifier: identifiers.get(identifier) ?? identifier,
    }));
    const answer = named.length === 0 ? judged : await judge(context, { ...question, items: renamed });
    const order = ['does_not_fit', 'unknown', 'fits'];
    const pairs = answer.pairs
      .toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict))
      .map(({ target, ...pair }) => ({ target, ...describeJudged(pair) }));
    const shown = tool.fitPage(pairs, REST);
    return {
      verdict: answer.verdict,
      pairs: shown,
      totals: tool.fitPage(answer.totals.map(describeTotal), tool.TOKENS - REST / 2),
      morePairs: pairs.length - shown.length,
      withoutRule: tool.fitPage(answer.withoutRule, tool.TOKENS - REST / 2),
      unknownIdentifiers: tool.fitPage(answer.unknownIdentifiers, tool.TOKENS - REST / 2),
      namedProducts: tool.fitPage(named, tool.TOKENS - REST / 2),
      catalogVersion: answer.receipt.version,
    };
  },
});

type Question = Parameters<typeof readQuestion>[1];

async function judge({ relations, project, signal }: tool.ToolContext, question: Question) {
  const bytes = await relations.judgeFit(readQuestion(project.id, question), signal);
  return JSON.parse(Buffer.from(bytes.buffer).toString()) as FitAnswer;
}

/** Resolves names that only one product has, so that a question in words needs no prior search. */
async function findNamed(context: tool.ToolContext, { unknownIdentifiers }: FitAnswer) {
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
  source,
  relation: tool.shorten(relation.name),
  verdict,
  why: match
    .filter((one) => one.verdict === verdict)
    .slice(0, REASONS)
    .map((one) => describeMatch(one, { isJudged: true })),
  missing: missing
    .slice(0, MISSING)
    .map(
      ({ identifier, attribute }) => `${tool.shortenValue(attribute)} of ${tool.shortenValue(identifier)}`,
    ),
});

/** Described like a match of its sum. */
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
