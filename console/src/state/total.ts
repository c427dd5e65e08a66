import { useQuery } from '@tanstack/react-query';
import { UNTIL_INDEXED } from './categories.ts';
import { useProject } from './project.ts';
import { useRelata } from './session.tsx';

/** @returns how many products the project has, once the catalog is indexed */
export function useTotal(): number | undefined {
  const { id } = useProject();
  const relata = useRelata();
  return useQuery({
    queryKey: ['products', id, 'total'],
    queryFn: async ({ signal }) => (await relata.products.findManaged(id, { limit: 1 }, { signal })).total,
    staleTime: 30_000,
    ...UNTIL_INDEXED,
  }).data;
}
