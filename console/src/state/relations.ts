import { useQuery } from '@tanstack/react-query';
import { useProject } from './project.ts';
import { useRelata } from './session.tsx';

/** The relations of the project, as they are defined. */
export function useRelations() {
  const { id } = useProject();
  const relata = useRelata();
  return useQuery({
    queryKey: ['relations', id],
    queryFn: ({ signal }) => relata.relations.list(id, { signal }),
  });
}
