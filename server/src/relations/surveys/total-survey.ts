import { describeBriefly } from '../../catalog/browse/browse.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { explainPair } from '../matching/matching.ts';
import { type RelationSurvey, SIDES } from '../relation-definitions/relation-definitions.ts';
import { type BoundRule, compileRule } from '../rules/rules.ts';
import type { CatalogColumns } from './catalog-columns.ts';
import { RuleMembers } from './rule-members.ts';
import { CARDS, pickEvenly, RESULTS } from './survey-cards.ts';
import type { CardWords, TriedCatalog } from './surveyed-catalog.ts';

/**
 * The survey of a total, which counts products only, because a total has no related products.
 * @throws search_too_long
 */
export async function surveyTotal(
  catalog: TriedCatalog,
  bound: BoundRule,
  { limit, cards }: { readonly limit: Budget; readonly cards?: CardWords | undefined },
): Promise<RelationSurvey> {
  const { counts, columns } = await RuleMembers.read(catalog, bound, { limit });
  return {
    source: { products: counts.source },
    target: { products: counts.target },
    sampled: false,
    sampledSources: 0,
    withResults: 0,
    share: 0,
    withoutResults: { count: 0, identifiers: [] },
    mostReturned: [],
    examples: [],
    ...(cards && { cards: await readCards(catalog, bound, { ...cards, columns, limit }) }),
  };
}

/**
 * Shows some products with a limit, each with some products that are added up, as if each of these were the
 * only one.
 */
async function readCards(
  { findUploads }: TriedCatalog,
  bound: BoundRule,
  { columns, limit, locale }: CardWords & { readonly columns: CatalogColumns; readonly limit: Budget },
) {
  const { isOn } = compileRule(bound);
  const sides = { source: [] as string[], target: [] as string[] };
  for (const view of columns.views(bound.attributes, limit))
    for (const side of SIDES) if (isOn[side](view)) sides[side].push(view.identifier);
  const [sources, targets] = [pickEvenly(sides.source, CARDS.with), pickEvenly(sides.target, RESULTS)];
  const uploads = (await findUploads([...sources, ...targets])).map(
    ({ raw }) => JSON.parse(raw) as UploadedProduct,
  );
  const pick = (identifiers: readonly string[]) =>
    identifiers.flatMap(
      (wantedIdentifier) => uploads.find(({ identifier }) => identifier === wantedIdentifier) ?? [],
    );
  return pick(sources).map((source) => ({
    source: describeBriefly(source),
    results: pick(targets)
      .filter(({ identifier }) => identifier !== source.identifier)
      .map((target) => ({
        ...describeBriefly(target),
        variants: 0,
        explain: explainPair(bound, { source, target }, locale),
      })),
  }));
}
