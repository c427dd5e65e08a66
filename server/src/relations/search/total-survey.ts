import { describeBriefly } from '../../catalog/browse/browse.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { type BoundRule, compileRule, type RelationSurvey } from '../definitions/definitions.ts';
import { type CatalogColumns, RuleMembers } from './catalog-columns.ts';
import { explainPair } from './relation-explain.ts';
import { CARDS, RESULTS, spread, type TriedCatalog } from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** What a total looks at, as it relates no products. @throws search_too_long */
export async function surveyTotal(
  catalog: TriedCatalog,
  bound: BoundRule,
  { limit, hasCards = false }: { readonly limit: WorkLimit; readonly hasCards?: boolean },
): Promise<RelationSurvey> {
  const { counts, columns } = await RuleMembers.read(catalog, bound, { limit });
  return {
    ...{ source: { products: counts.source }, target: { products: counts.target } },
    ...{ sampled: false, sampledSources: 0, withResults: 0, share: 0 },
    withoutResults: { count: 0, identifiers: [] },
    ...{ mostReturned: [], examples: [] },
    ...(hasCards && { cards: await readCards(catalog, bound, columns) }),
  };
}

/** Some products with a limit, each with some that are added up, as if one of those were all. */
async function readCards({ findUploads }: TriedCatalog, bound: BoundRule, columns: CatalogColumns) {
  const { isOn } = compileRule(bound);
  const sides = { source: [] as string[], target: [] as string[] };
  for (const view of columns.views(bound.attributes))
    for (const side of ['source', 'target'] as const) if (isOn[side](view)) sides[side].push(view.identifier);
  const [sources, targets] = [spread(sides.source, CARDS.with), spread(sides.target, RESULTS)];
  const uploads = (await findUploads([...sources, ...targets])).map(
    ({ raw }) => JSON.parse(raw) as UploadedProduct,
  );
  const pick = (identifiers: readonly string[]) =>
    identifiers.flatMap((one) => uploads.find(({ identifier }) => identifier === one) ?? []);
  return pick(sources).map((source) => ({
    source: describeBriefly(source),
    results: pick(targets)
      .filter(({ identifier }) => identifier !== source.identifier)
      .map((target) => ({
        ...describeBriefly(target),
        variants: 0,
        explain: explainPair(bound, { source, target }),
      })),
  }));
}
