import type { Attribute } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useProject } from './project.ts';
import { useRelata } from './session.tsx';

/** The attributes of the project's ontology, to choose from. */
export function useAttributes(): readonly Attribute[] {
  const project = useProject();
  const relata = useRelata();
  const ontology = useQuery({
    queryKey: ['ontology', project.id],
    queryFn: ({ signal }) => relata.ontology.get(project.id, { signal }),
  });
  return ontology.data?.value.attributes ?? [];
}
