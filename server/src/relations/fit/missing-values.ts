import type { Static } from 'typebox';
import { type ComparedAttribute, viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { SIDES, type Side } from '../relation-definitions/relation-definitions.ts';
import { attributeOf, compileRule, readFrom } from '../rules/rules.ts';
import { readPages } from '../surveys/surveys.ts';
import type { FitCatalog } from './constraint-cache.ts';
import type { FitParts } from './fit-answer.ts';
import type { MissingValues } from './fit-schemas.ts';
import { type Constraint, Judge, type JudgedProduct, listAttributes } from './judgement.ts';

/** Which missing values leave verdicts unknown. Source: docs/interface §12.10 rule 14. */

/** @returns the missing values, those with the most verdicts first @throws search_too_long */
export async function surveyMissing(
  catalog: FitCatalog,
  projectId: number,
  { constraints: cache, columns: cached, limit }: FitParts,
): Promise<Static<typeof MissingValues>['items']> {
  const { constraints } = await cache.read(projectId, catalog);
  const tallies = constraints.map((constraint) => new ConstraintTally(constraint));
  const products = new Map<string, number>();
  const columns = await cached.read(projectId, catalog, { limit });
  for await (const product of listJudged({ catalog, columns, limit }, constraints.flatMap(listAttributes))) {
    for (const name of new Set(tallies.flatMap((tally) => tally.add(product))))
      products.set(name, (products.get(name) ?? 0) + 1);
  }
  return [...products]
    .map(([attribute, count]) => ({
      attribute,
      products: count,
      verdicts: tallies.reduce((sum, tally) => sum + tally.countPairs(attribute), 0),
      relations: tallies.flatMap((tally) => (tally.missing.has(attribute) ? [tally.id] : [])),
    }))
    .sort(
      (a, b) => b.verdicts - a.verdicts || b.products - a.products || (a.attribute < b.attribute ? -1 : 1),
    );
}

/**
 * Yields products one by one. For products in memory it yields the same view each time, moved to the next
 * product.
 */
async function* listJudged(
  {
    catalog,
    columns,
    limit,
  }: Pick<FitParts, 'limit'> & {
    readonly catalog: FitCatalog;
    readonly columns: Awaited<ReturnType<FitParts['columns']['read']>>;
  },
  attributes: readonly ComparedAttribute[],
): AsyncGenerator<JudgedProduct, void> {
  if (columns === undefined) {
    for await (const page of readPages(catalog))
      for (const { raw } of page) {
        limit.charge();
        yield judgeView(viewUpload(JSON.parse(raw) as UploadedProduct));
      }
    return;
  }
  for (const view of columns.views(attributes, limit)) yield judgeView(view);
}

const judgeView = (view: JudgedProduct['view']): JudgedProduct => ({
  identifier: view.identifier,
  groupIdentifier: '',
  view,
  read: readFrom(view),
});

type Counts = Record<Side, number>;

/** Counts the products on the sides of one constraint, and how many of them lack a needed value. */
class ConstraintTally {
  readonly id: number;
  /** The keys are attribute names. */
  readonly missing = new Map<string, Counts>();
  private readonly members: Counts = { source: 0, target: 0 };
  private readonly judge: Judge;
  private readonly needs: Readonly<Record<Side, ReturnType<typeof listNeeds>>>;

  constructor(constraint: Constraint) {
    this.id = constraint.relation.id;
    this.judge = new Judge(constraint);
    this.needs = { source: listNeeds(constraint, 'source'), target: listNeeds(constraint, 'target') };
  }

  /** @returns the names of needed attributes for which the product has no value */
  add(product: JudgedProduct): string[] {
    const setProduct = { product, quantity: 1 };
    return SIDES.flatMap((side) => {
      const member = this.judge.judgeMember(side, setProduct);
      if (member.truth < 0) return [];
      this.members[side] += 1;
      const lacking = this.needs[side].filter((attribute) => product.view.valuesOf(attribute).length === 0);
      const ofSide = this.judge.listMissing(side, member).map(({ attribute }) => attribute);
      const names = [...new Set([...ofSide, ...lacking.map(({ name }) => name)])];
      for (const name of names) {
        const counts = this.missing.getOrInsertComputed(name, () => ({ source: 0, target: 0 }));
        counts[side] += 1;
      }
      return names;
    });
  }

  /** @returns the number of pairs in which at least one product has no value */
  countPairs(name: string): number {
    const { source, target } = this.missing.get(name) ?? { source: 0, target: 0 };
    return source * this.members.target + target * this.members.source - source * target;
  }
}

/** @returns the attributes that decide a match. A match that passes without a value needs no attribute. */
function listNeeds({ bound, total }: Constraint, side: Side) {
  const matches = compileRule(bound).matches.filter(({ passes }) => !passes);
  const isCounted = side === 'target' && total?.total?.missing === 'passes';
  return isCounted ? [] : [...new Set(matches.map((match) => attributeOf(match, side)))];
}
