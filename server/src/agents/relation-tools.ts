import { Type } from 'typebox';
import type { Filter as ProductFilter } from '../catalog/filters/filters.ts';
import { ServiceError } from '../kernel/errors.ts';
import { optional } from '../kernel/optional.ts';
import { joinSteps, type RelatedRequest } from '../relations/answering/answering.ts';
import { FitQuestion, readQuestion } from '../relations/fit/fit.ts';
import {
  checkDefinition,
  MatchElements,
  type Relation,
} from '../relations/relation-definitions/relation-definitions.ts';
import {
  describeMatch,
  type JudgedFit,
  listAdvice,
  type ReadRelated,
  type ShownRelated,
} from './reading/reading.ts';
import {
  defineTool,
  fitFrom,
  fitPage,
  Identifier,
  NextOffset,
  shortenText,
  shortenValue,
  TOKENS,
  type ToolContext,
} from './tool.ts';

const Offset = optional.integer({ minimum: 0, maximum: 10_000, description: 'default 0' });

export const listRelations = defineTool({
  name: 'list_relations',
  title: 'List relations',
  description: 'Lists the relations of this catalog, which say what goes with what. Each has a tag.',
  input: { offset: Offset },
  output: {
    relations: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: Type.String(),
        tag: Type.String(),
        description: optional.text(),
        kind: Type.String({
          description:
            'rule: attributes decide; links: a person or a file listed the pairs; total: a limit on a sum',
        }),
        twoWay: Type.Boolean(),
        enabled: Type.Boolean(),
        state: Type.String(),
        problem: optional.text(),
      }),
    ),
    total: Type.Integer(),
    nextOffset: NextOffset,
  },
  async answer({ relations, project }, { offset }) {
    const all = (await relations.list(project.id)).map(describeRelation);
    const { page, nextOffset } = fitFrom(all, offset);
    return { relations: page, total: all.length, nextOffset };
  },
});

function describeRelation({ id, definition, state, problem }: Relation) {
  const { name, tag, description, kind = 'rule', twoWay, enabled } = definition;
  return {
    id,
    name: shortenText(name),
    tag: shortenText(tag),
    ...(description && { description: shortenText(description) }),
    kind,
    twoWay,
    enabled,
    state,
    ...(problem !== undefined && { problem: shortenText(problem) }),
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
/** The most relations in one answer. The answer lists the ids of the others. */
const RELATIONS = 20;

export const relatedProducts = defineTool({
  name: 'related_products',
  title: 'Related products',
  description:
    'Finds what goes with a product: accessories, spare parts, alternatives, as the relations define it. With explain, the answer has the values that decided.',
  input: {
    identifier: Identifier,
    tags: optional.list(Type.String({ minLength: 1, maxLength: 255 }), {
      maxItems: 20,
      description: 'default: all relations',
    }),
    relationIds: optional.list(Type.Integer({ minimum: 1 }), { maxItems: RELATIONS }),
    limit: optional.integer({
      minimum: 1,
      maximum: LARGEST,
      default: RELATED,
      description: 'the most products of each relation',
    }),
    offset: optional.integer({
      minimum: 0,
      maximum: FARTHEST,
      description: 'how many products of each relation to skip; default 0',
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
        nextOffset: NextOffset,
      }),
    ),
    notShown: Type.Array(Type.Integer(), {
      description: 'ids of relations that did not fit: request them with relationIds',
    }),
  },
  async answer(context, { identifier, tags, relationIds, limit = RELATED, offset = 0, explain = false }) {
    if (!(await context.catalog.store.hasAny(context.project.id, [identifier])))
      throw new ServiceError('not_found', `no product ${JSON.stringify(identifier)}`);
    const chosen = await chooseRelations(context, { tags, relationIds });
    const now = chosen.slice(0, RELATIONS);
    const included = { includeRelations: now.map(({ id }) => ({ id, limit: offset + limit + 1 })) };
    const { shown, left } =
      now.length === 0
        ? { shown: [], left: [] }
        : await readRelated(
            context,
            { ...included, identifiers: [identifier], form: 'single', explain },
            { offset, limit },
          );
    const notShown = [...left, ...chosen.slice(RELATIONS).map(({ id }) => id)];
    return { relations: shown, notShown: notShown.slice(0, 100) };
  },
});

async function readRelated(
  { relations, search, project, signal }: ToolContext,
  request: RelatedRequest,
  page: Pick<ReadRelated, 'offset' | 'limit'>,
): Promise<ShownRelated> {
  const answer = await joinSteps(await relations.answer(project, request, signal));
  return search.runOperation('relatedForAgent', { projectId: project.id, answer, ...page }, signal);
}

async function chooseRelations(
  { relations, project }: ToolContext,
  { tags, relationIds }: { tags: readonly string[] | undefined; relationIds: readonly number[] | undefined },
): Promise<readonly Relation[]> {
  const all = (await relations.list(project.id)).filter(({ definition }) => definition.enabled);
  if (tags === undefined && relationIds === undefined) return all;
  return all.filter(({ id, definition }) => tags?.includes(definition.tag) || relationIds?.includes(id));
}

const ExplainedCondition = Type.Object({
  side: Type.String({ description: 'the side of the relation: source or target' }),
  condition: Type.String({ description: 'a filter as JSON' }),
  holds: Type.Boolean(),
  values: Type.Array(Type.String(), { description: 'values of the product' }),
});
const ADVICE = 'for each match that fails: the value that its target or its source would need';
const CONDITIONS = 10;
/** Half of the tokens of an answer. */
const HALF = 850;

export const explainRelation = defineTool({
  name: 'explain_relation',
  title: 'Explain a relation',
  description:
    'Explains why a relation relates two products, or why it does not: every condition with the values.',
  input: { relationId: Type.Integer({ minimum: 1 }), source: Identifier, target: Identifier },
  output: {
    related: Type.Boolean(),
    rank: Type.Union([Type.Integer(), Type.Null()]),
    excluded: Type.Union([Type.String(), Type.Null()]),
    matches: Type.Array(
      Type.Object({
        match: Type.String(),
        holds: Type.Boolean(),
        advice: optional.list(Type.String(), ADVICE),
      }),
    ),
    conditions: Type.Array(ExplainedCondition),
    moreConditions: Type.Integer({ description: 'the number of conditions that did not fit' }),
    listed: optional.text('only in a relation of links: the product that lists the other one'),
  },
  async answer({ relations, project, signal }, { relationId, source, target }) {
    const request = { projectId: project.id, id: relationId, source, target };
    const why = await relations.explain(request, signal);
    const conditions = (['source', 'target'] as const).flatMap((side) =>
      why[side].conditions.map(({ condition, holds, values }) => ({
        side,
        condition: shortenText(JSON.stringify(condition), 160),
        holds,
        values: values.slice(0, 3).map(shortenValue),
      })),
    );
    const matches = why.match.map((match) => ({
      match: describeMatch(match),
      holds: match.holds,
      ...(!match.holds && { advice: listAdvice(match) }),
    }));
    const failing = conditions.sort((a, b) => Number(a.holds) - Number(b.holds)).slice(0, CONDITIONS);
    const shown = fitPage(failing, HALF);
    const { related, rank, excluded, listed } = why;
    return {
      related,
      rank,
      excluded,
      conditions: shown,
      matches: fitPage(matches.slice(0, CONDITIONS), HALF),
      moreConditions: conditions.length - shown.length,
      ...(listed && { listed: `${listed.by}, at ${listed.position}` }),
    };
  },
});

const Filter = Type.Unsafe<ProductFilter>({
  type: 'object',
  properties: {},
  description:
    'a filter, such as {"all":[{"category":["Tools"]},{"attribute":"Weight","operator":"less","value":3}]}; {"all":[]} includes every product',
});

export const previewRelation = defineTool({
  name: 'preview_relation',
  title: 'Try a relation',
  description:
    'Tries a rule on the whole catalog without storing it. The answer has the number of products with results, and examples.',
  access: 'write',
  input: { source: Filter, target: Filter, match: MatchElements },
  output: {
    problem: optional.text(),
    sourceProducts: optional.integer(),
    targetProducts: optional.integer(),
    sampled: optional.flag(),
    sampledSources: optional.integer({ description: 'if sampled: the number of sources that were searched' }),
    shareWithResults: optional.number('the share of the sources that have results, from 0 to 1'),
    withoutResults: optional.list(Type.String()),
    examples: optional.list(Type.Object({ source: Type.String(), results: Type.Array(Type.String()) })),
  },
  async answer({ relations, project, signal, limitScans }, sent) {
    const definition = checkDefinition({ name: 'preview', tag: 'preview', ...sent });
    limitScans();
    const tried = await relations.tryDefinition({ projectId: project.id, definition }, signal);
    if ('problem' in tried) return { problem: shortenText(tried.problem) };
    const examples = tried.examples.map(({ source, results }) => ({
      source,
      results: results.flat().slice(0, 5),
    }));
    return {
      sourceProducts: tried.source.products,
      targetProducts: tried.target.products,
      sampled: tried.sampled,
      ...(tried.sampled && { sampledSources: tried.sampledSources }),
      shareWithResults: tried.share,
      withoutResults: tried.withoutResults.identifiers.slice(0, 5),
      examples: fitPage(examples.slice(0, 5), HALF),
    };
  },
});

const Verdict = Type.String({ description: 'fits, does_not_fit, unknown (a value is missing) or no_rule' });
/** The tokens for the remaining parts of an answer. */
const REST = 900;

const { items, tags } = FitQuestion.properties;
const Judged = Type.Object({
  source: Type.String(),
  relation: Type.String(),
  verdict: Verdict,
  why: Type.Array(Type.String()),
  advice: optional.list(Type.String(), ADVICE),
  missing: Type.Array(Type.String(), { description: 'values that are missing in the catalog' }),
});

export const checkFit = defineTool({
  name: 'check_fit',
  title: 'Check whether products fit',
  description:
    'Judges by the rules of this shop whether products can be used together. There is a verdict for the whole set and for each pair, with the values that decided or are missing. Unknown means that the catalog lacks a value: do not guess. An identifier may also be the complete name of a product.',
  input: { items, tags },
  output: {
    verdict: Verdict,
    pairs: Type.Array(Type.Object({ target: Type.String(), ...Judged.properties })),
    totals: Type.Array(Judged, { description: 'verdicts on sums over all products' }),
    morePairs: Type.Integer({
      description: 'the number of pairs that did not fit into the answer; pairs with does_not_fit come first',
    }),
    withoutRule: Type.Array(Type.Array(Type.String()), { description: 'pairs that no rule judges' }),
    unknownIdentifiers: Type.Array(Type.String()),
    namedProducts: Type.Array(Type.Object({ name: Type.String(), identifier: Type.String() }), {
      description: 'products that the question identified by their names',
    }),
    catalogVersion: Type.Integer(),
  },
  async answer(context, question) {
    const judged = await judge(context, question);
    const named = judged.unknown.length === 0 ? [] : await findNamed(context, judged.unknown);
    if (named.length === 0) return { ...judged.shown, namedProducts: [] };
    const identifiers = new Map(named.map(({ name, identifier }) => [name, identifier]));
    const items = question.items.map(({ identifier, ...item }) => ({
      ...item,
      identifier: identifiers.get(identifier) ?? identifier,
    }));
    const { shown } = await judge(context, { ...question, items });
    return { ...shown, namedProducts: fitPage(named, TOKENS - REST / 2) };
  },
});

type Question = Parameters<typeof readQuestion>[1];

async function judge(
  { relations, search, project, signal }: ToolContext,
  question: Question,
): Promise<JudgedFit> {
  const answer = await relations.judgeFit(readQuestion(project.id, question), signal);
  return search.runOperation('fitForAgent', { projectId: project.id, answer, rest: REST }, signal);
}

const findNamed = ({ search, project, signal }: ToolContext, names: readonly string[]) =>
  search.askOperation<readonly { readonly name: string; readonly identifier: string }[]>(
    'findNamesForAgent',
    { projectId: project.id, question: { names } },
    signal,
  );
