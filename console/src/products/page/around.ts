import { queryOptions, useQuery } from '@tanstack/react-query';
import { presentLocale } from '../../languages/text.ts';
import { listWays } from '../../rules/walk.ts';
import { againWhile } from '../../state/catalog.ts';
import { queries } from '../../state/queries.ts';
import { useCalls, useProject } from '../../state/rights.ts';

/** The number of groups for each relation and direction: at first, and at most. */
export const FIRST_GROUPS = 12;
export const MOST_GROUPS = 100;

function useQuestions() {
  const { relata, projectId: id } = useCalls();
  return {
    product: (identifier: string) =>
      queryOptions({
        queryKey: ['product', id, identifier],
        queryFn: ({ signal }) => relata.products.open(id, identifier, { signal }),
      }),
    related: (identifier: string, limit: number) =>
      queryOptions({
        queryKey: ['related', id, identifier, limit, presentLocale()],
        queryFn: async ({ signal }) =>
          (await relata.products.relationsOf(id, identifier, { limit, locale: presentLocale(), signal }))
            .relations,
        refetchInterval: ({ state }) =>
          againWhile(state.data?.some((relation) => relation.state === 'building')),
      }),
  };
}

/** One product, as sent and as answered. */
export const useProduct = (identifier: string) => useQuery(useQuestions().product(identifier));

/** The results of each relation for a product. While more results load, the earlier ones stay. */
export const useRelated = (identifier: string, limit: number) =>
  useQuery({
    ...useQuestions().related(identifier, limit),
    placeholderData: (before, query) => (query?.queryKey[2] === identifier ? before : undefined),
  });

/** A product and its related products. While they load, the previous product and its related products stay. */
export function useAround(identifier: string) {
  const { id } = useProject();
  const { product, related } = useQuestions();
  return useQuery({
    // This key is below the one that is invalidated when a product changes.
    queryKey: ['related', id, identifier, 'around'],
    queryFn: async () => {
      const [page, relations] = await Promise.all([
        queries.fetchQuery(product(identifier)),
        queries.fetchQuery(related(identifier, FIRST_GROUPS)),
      ]);
      return { product: page.product, ways: listWays(relations) };
    },
    placeholderData: (before) => before,
  });
}
