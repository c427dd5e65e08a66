import { queryOptions, useQuery } from '@tanstack/react-query';
import { listWays } from '../../rules/walk.ts';
import { againWhile } from '../../state/catalog.ts';
import { queries, useCalls, useProject } from '../../state/service.tsx';

/** Groups for each relation and direction: as many as are looked at first, and as the service gives. */
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
        queryKey: ['related', id, identifier, limit],
        queryFn: async ({ signal }) =>
          (await relata.products.relationsOf(id, identifier, { limit, signal })).relations,
        refetchInterval: ({ state }) => againWhile(state.data?.some((one) => one.state === 'building')),
      }),
  };
}

/** One product as it was sent and as it is answered. */
export const useProduct = (identifier: string) => useQuery(useQuestions().product(identifier));

/** What each relation says of a product; while more of it is asked for, what there was. */
export const useRelated = (identifier: string, limit: number) =>
  useQuery({
    ...useQuestions().related(identifier, limit),
    placeholderData: (before, query) => (query?.queryKey[2] === identifier ? before : undefined),
  });

/** A product and what is around it; until it has come, the one before. */
export function useAround(identifier: string) {
  const { id } = useProject();
  const { product, related } = useQuestions();
  return useQuery({
    // Below what is forgotten when a product changes.
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
