import { type Static, Type } from 'typebox';
import { closedAs, closedObject, oneOf, orNull, ProjectQuery, titled } from '../../http/answers/answers.ts';
import { optional } from '../../kernel/optional.ts';
import { MOST_QUANTITY } from '../links/links.ts';
import {
  ExplainedElement,
  Locale,
  SingleProduct,
  Term,
  TOTAL_OPERATORS,
} from '../relation-definitions/relation-definitions.ts';

/** Source: docs/interface §12.10. */

const Identifier = Type.String({ minLength: 1, maxLength: 255 });

export const FitQuestion = closedAs('FitQuestion', {
  ...ProjectQuery.properties,
  items: Type.Array(
    closedObject({
      identifier: Identifier,
      quantity: optional.integer({ minimum: 1, maximum: MOST_QUANTITY, description: 'default 1' }),
    }),
    { minItems: 1, maxItems: 100, description: 'the quantities of a repeated identifier are added up' },
  ),
  tags: Type.Optional(
    orNull(
      Type.Array(Type.String(), { maxItems: 1_000 }),
      'judge only by constraints with one of these tags',
    ),
  ),
  relations: Type.Optional(
    orNull(Type.Array(Type.Integer(), { maxItems: 1_000 }), 'judge only by the constraints with these ids'),
  ),
  alternatives: Type.Optional(
    orNull(
      Type.Integer({ minimum: 0, maximum: 10 }),
      'how many alternatives to return for each product that does not fit; default 0',
    ),
  ),
  locale: Type.Optional(orNull(Locale)),
});
export type FitQuestion = Static<typeof FitQuestion>;

/** Items to judge by all constraints, or by those with one of the tags or ids. */
export type FitSelection = Readonly<ReturnType<typeof readQuestion>>;

/** @returns the question with each identifier once */
export function readQuestion(
  projectId: number,
  { items, tags, relations, alternatives, locale }: Omit<FitQuestion, 'projectId'>,
) {
  const quantities = new Map<string, number>();
  for (const { identifier, quantity = 1 } of items)
    quantities.set(identifier, (quantities.get(identifier) ?? 0) + quantity);
  return {
    projectId,
    items: [...quantities].map(([identifier, quantity]) => ({ identifier, quantity })),
    tags: tags ?? [],
    relations: relations ?? [],
    alternatives: alternatives ?? 0,
    ...(locale && { locale }),
  };
}

const verdict = oneOf(['fits', 'does_not_fit', 'unknown']);
const JudgingRelation = Type.Object({ id: Type.Integer(), name: Type.String(), tag: Type.String() });
const missing = Type.Array(Type.Object({ identifier: Type.String(), attribute: Type.String() }), {
  description: 'missing values that leave the verdict unknown',
});

const Inner = optional.list(Type.Object({ ...ExplainedElement.properties.any.items.properties, verdict }));
const PairVerdict = titled('PairVerdict', {
  source: Type.String(),
  target: Type.String(),
  relation: JudgingRelation,
  verdict,
  match: Type.Array(Type.Object({ ...ExplainedElement.properties, verdict, any: Inner, together: Inner })),
  missing,
});

const computed = { attribute: Type.String(), ...Term.properties };
const TotalVerdict = titled('TotalVerdict', {
  source: Type.String(),
  relation: JudgingRelation,
  verdict,
  operator: Type.Enum([...TOTAL_OPERATORS]),
  total: Type.Object({
    ...computed,
    missing: optional.choice(['fails', 'passes']),
    sum: Type.String({ description: 'the sum of the known values, before `times` and `plus`' }),
    parts: Type.Array(
      Type.Object({ identifier: Type.String(), quantity: Type.Integer(), value: optional.text() }),
    ),
  }),
  limit: Type.Object({ ...computed, values: Type.Array(Type.String()) }),
  missing,
});

export const FitAnswer = titled('FitAnswer', {
  status: Type.Literal('success'),
  verdict: oneOf(['fits', 'does_not_fit', 'unknown', 'no_rule']),
  pairs: Type.Array(PairVerdict),
  totals: Type.Array(TotalVerdict),
  withoutRule: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
    description: 'pairs of identifiers that no constraint judged',
  }),
  unknownIdentifiers: Type.Array(Type.String()),
  alternatives: Type.Array(
    Type.Object({
      insteadOf: Type.String(),
      products: Type.Array(SingleProduct),
      reason: optional.text('why there are no alternatives, or why the search ended early'),
    }),
  ),
  lastUpdateTs: orNull(Type.Integer(), 'epoch milliseconds: the latest change of any of the products'),
  receipt: Type.Object({
    version: Type.Integer({ description: 'version of the catalog' }),
    relations: Type.Array(
      Type.Object({ id: Type.Integer(), revision: Type.String({ description: 'the ETag of the relation' }) }),
    ),
    hash: Type.String({
      description:
        'SHA-256 of the answer as JSON without this member, with members sorted by name and no white space',
    }),
  }),
});
export type FitAnswer = Static<typeof FitAnswer>;

export const MissingValues = titled('MissingValues', {
  items: Type.Array(
    Type.Object({
      attribute: Type.String(),
      products: Type.Integer({
        description: 'products on a side of a constraint that lack a value it needs',
      }),
      verdicts: Type.Integer({ description: 'pairs whose verdict may be unknown because of missing values' }),
      relations: Type.Array(Type.Integer(), {
        description: 'ids of the constraints that need the attribute',
      }),
    }),
    { description: 'attributes with the most verdicts first' },
  ),
});
