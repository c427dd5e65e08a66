import { useQuery } from '@tanstack/react-query';
import { useProject } from './project.ts';
import { useRelata } from './session.tsx';

/** The names of the tables of the project, once somebody is about to choose one: each comes with all of its pairs. */
export function useTableNames(isNeeded: boolean): readonly string[] {
  const { id } = useProject();
  const relata = useRelata();
  const { data } = useQuery({
    queryKey: ['relations', id, 'tables'],
    queryFn: async ({ signal }) =>
      (await relata.relations.tables.list(id, { signal })).items.map(({ name }) => name),
    enabled: isNeeded,
  });
  return data ?? [];
}

/** The relations of the project, as they are defined. */
export function useRelations() {
  const { id } = useProject();
  const relata = useRelata();
  return useQuery({
    queryKey: ['relations', id],
    queryFn: ({ signal }) => relata.relations.list(id, { signal }),
  });
}
