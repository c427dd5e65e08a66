import type { Attribute, Relata, SentOntology } from '@relata/client';
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

/** The relations of the project, as they are defined. */
export function useRelations() {
  const { id } = useProject();
  const relata = useRelata();
  return useQuery({
    queryKey: ['relations', id],
    queryFn: ({ signal }) => relata.relations.list(id, { signal }),
  });
}

/**
 * Called right after a change of the ontology.
 * @returns what puts the former one back; it is refused with 412 once something else has changed the ontology
 */
export async function undoOntology(relata: Relata, projectId: number, former: SentOntology) {
  const { etag } = await relata.ontology.get(projectId);
  return () => relata.ontology.put(projectId, former, etag ? { ifMatch: etag } : {});
}

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
