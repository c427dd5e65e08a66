import { useQuery } from '@tanstack/react-query';
import { useRelata } from './session.tsx';
import { useSettled } from './settled.ts';

/** Somebody who chooses waits for each list. */
const REST_MS = 200;

interface Search {
  readonly words: string;
  readonly limit: number;
  readonly isWanted: boolean;
}

/** The products of a project with these words; those of the words before, until they have come. */
export function useFoundProducts(projectId: number, { words, limit, isWanted }: Search) {
  const relata = useRelata();
  const typed = words.trim();
  const q = useSettled(typed, REST_MS);
  return useQuery({
    queryKey: ['found-products', projectId, q, limit],
    queryFn: async ({ signal }) =>
      (await relata.products.findManaged(projectId, { limit, ...(q && { q }) }, { signal })).items,
    // Without words it lists any products: not for somebody who has begun to type.
    enabled: isWanted && (q !== '' || typed === ''),
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
}
