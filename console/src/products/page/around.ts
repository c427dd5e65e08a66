import { queryOptions, useQuery } from '@tanstack/react-query';
import { presentLocale } from '../../languages/text.ts';
import { listWays } from '../../rules/walk.ts';
import { againWhile } from '../../state/catalog.ts';
import { queries } from '../../state/queries.ts';
import { useCalls, useProject } from '../../state/rights.ts';

/** Groups for each relation and direction: as many as are shown at first, and the service's maximum. */
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
        refetchInterval: ({ state }) => againWhile(state.data?.some((one) => one.state === 'building')),
      }),
  };
}

/** One product, as sent and as answered. */
export const useProduct = (identifier: string) => useQuery(useQuestions().product(identifier));

/** The results of each relation for a product; while more are requested, the earlier ones. */
export const useRelated = (identifier: string, limit: number) =>
  useQuery({
    ...useQuestions().related(identifier, limit),
    placeholderData: (before, query) => (query?.queryKey[2] === identifier ? before : undefined),
  });

/** A product and its surroundings; until they arrive, those of the one before. */
export function useAround(identifier: string) {
  const { id } = useProject();
  const { product, related } = useQuestions();
  return useQuery({
    // Below the key that is invalidated when a product changes.
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
