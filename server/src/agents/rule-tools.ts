import { Type } from 'typebox';
import { checkDefinition } from '../relations/relations.ts';
import { fitPage, shorten, shortenValue } from './answer-size.ts';
import { describeMatch } from './explained-match.ts';
import { closed, defineTool, Identifier } from './tool.ts';

/** Tools about the rules of relations: why one relates two products, and what another one would do. */

const ExplainedCondition = Type.Object({
  side: Type.String({ description: 'source or target of the relation' }),
  condition: Type.String({ description: 'a filter as JSON' }),
  holds: Type.Boolean(),
  values: Type.Array(Type.String(), { description: 'what the product has' }),
});
const CONDITIONS = 10;
/** Of the tokens of an answer: what else is in it. */
const HALF = 850;

export const explainRelation = defineTool({
  name: 'explain_relation',
  title: 'Explain a relation',
  description:
    'Why two products are related by a relation, or why they are not: every condition with the values.',
  input: Type.Object(
    { relationId: Type.Integer({ minimum: 1 }), source: Identifier, target: Identifier },
    closed,
  ),
  output: Type.Object({
    related: Type.Boolean(),
    rank: Type.Union([Type.Integer(), Type.Null()]),
    excluded: Type.Union([Type.String(), Type.Null()]),
    matches: Type.Array(Type.Object({ match: Type.String(), holds: Type.Boolean() })),
    conditions: Type.Array(ExplainedCondition),
    moreConditions: Type.Integer({ description: 'that had no room' }),
    listed: Type.Optional(Type.String({ description: 'in a relation of links: who lists the other' })),
  }),
  async answer({ relations, project, signal }, { relationId, source, target }) {
    const request = { projectId: project.id, id: relationId, source, target };
    const why = await relations.explain(request, signal);
    const conditions = (['source', 'target'] as const).flatMap((side) =>
      why[side].conditions.map(({ condition, holds, values }) => ({
        ...{ side, condition: shorten(JSON.stringify(condition), 160), holds },
        values: values.slice(0, 3).map(shortenValue),
      })),
    );
    const matches = why.match.map((match) => ({ match: describeMatch(match), holds: match.holds }));
    const failing = conditions.sort((a, b) => Number(a.holds) - Number(b.holds)).slice(0, CONDITIONS);
    const shown = fitPage(failing, HALF);
    const { related, rank, excluded, listed } = why;
    return {
      ...{ related, rank, excluded, conditions: [...shown] },
      matches: [...fitPage(matches.slice(0, CONDITIONS), HALF)],
      moreConditions: conditions.length - shown.length,
      ...(listed && { listed: `${listed.by}, at ${listed.position}` }),
    };
  },
});

const Match = Type.Object(
  {
    target: Type.String({ maxLength: 255, description: 'an attribute of the target' }),
    operator: Type.Enum(['equals', 'notEquals', 'less', 'lessOrEqual', 'greater', 'greaterOrEqual']),
    source: Type.String({ maxLength: 255, description: 'an attribute of the source' }),
  },
  closed,
);
const Filter = Type.Object(
  {},
  {
    description:
      'a filter, such as {"all":[{"category":["Tools"]},{"attribute":"Weight","operator":"less","value":3}]}; {"all":[]} is every product',
  },
);

export const previewRelation = defineTool({
  name: 'preview_relation',
  title: 'Try a relation',
  description:
    'Tries a rule on the whole catalog, without storing it: how many products get results, with examples.',
  access: 'write',
  input: Type.Object({ source: Filter, target: Filter, match: Type.Array(Match, { maxItems: 20 }) }, closed),
  output: Type.Object({
    problem: Type.Optional(Type.String()),
    sourceProducts: Type.Optional(Type.Integer()),
    targetProducts: Type.Optional(Type.Integer()),
    sampled: Type.Optional(Type.Boolean()),
    shareWithResults: Type.Optional(Type.Number({ description: 'of the sources, from 0 to 1' })),
    withoutResults: Type.Optional(Type.Array(Type.String())),
    examples: Type.Optional(
      Type.Array(Type.Object({ source: Type.String(), results: Type.Array(Type.String()) })),
    ),
  }),
  async answer({ relations, project, signal, countLook }, sent) {
    const definition = checkDefinition({ name: 'preview', tag: 'preview', ...sent });
    countLook();
    const tried = await relations.tryDefinition(project.id, { definition }, signal);
    if ('problem' in tried) return { problem: shorten(tried.problem) };
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
      examples: [...fitPage(examples.slice(0, 5), HALF)],
    };
  },
});
