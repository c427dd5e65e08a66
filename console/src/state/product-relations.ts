import {
  type ProductRelation,
  type Relata,
  RelataError,
  type RelatedReason,
  type RelationSide,
} from '@relata/client';

/** Groups for each relation and direction. */
const LIMIT = 12;

/** The relations of one product in both directions. */
export async function findRelations(
  relata: Relata,
  product: { projectId: number; identifier: string },
  signal: AbortSignal,
): Promise<ProductRelation[]> {
  const { projectId, identifier } = product;
  try {
    return (await relata.products.relationsOf(projectId, identifier, { signal })).relations;
  } catch (error) {
    if (!(error instanceof RelataError && error.status === 404)) throw error;
    return askByLookup(relata, product, signal);
  }
}

/** An older service tells what callers get: one direction, the other only where the first leads to nothing. */
async function askByLookup(
  relata: Relata,
  { projectId, identifier }: { projectId: number; identifier: string },
  signal: AbortSignal,
): Promise<ProductRelation[]> {
  const relations = await relata.relations.list(projectId, { signal });
  const ready = relations.filter(({ state, enabled }) => state === 'ready' && enabled);
  if (ready.length === 0) return [];
  const includeRelations = ready.map(({ id }) => ({ id, limit: LIMIT }));
  const { tags } = await relata.relations.relatedTo(identifier, {
    projectId,
    includeRelations,
    explain: true,
    signal,
  });
  return tags.flatMap(({ tag, relations: answers }) =>
    answers.map(({ id, name, matchType, searchResult }) => {
      const side: RelationSide = {
        stands: true,
        results: searchResult.map((one) => ({
          ...one,
          category: [one.category],
          explain: (one as { explain?: RelatedReason }).explain ?? { match: [] },
        })),
      };
      const isFirst = matchType === 'FIRST_WAY';
      return {
        ...{ id, name, tag, enabled: true, state: 'ready' },
        asSource: isFirst ? side : null,
        asTarget: isFirst ? null : side,
      };
    }),
  );
}
