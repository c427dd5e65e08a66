import type {
  Attribute,
  AttributeCoverage,
  Coverage as CoverageAnswer,
  Relata,
  SentOntology,
} from '@relata/client';
import { useOfProject } from './project.ts';

/** The attributes of the project's ontology, to choose from. */
export function useAttributes(): readonly Attribute[] {
  return useOntology().data?.value.attributes ?? [];
}

/** The whole of it, with the ETag that it came with. */
export const useOntology = () =>
  useOfProject(['ontology'], ({ relata, projectId, signal }) => relata.ontology.get(projectId, { signal }));

/** The relations of the project, as they are defined. */
export const useRelations = (isEnabled = true) =>
  useOfProject(
    ['relations'],
    ({ relata, projectId, signal }) => relata.relations.list(projectId, { signal }),
    { enabled: isEnabled },
  );

/**
 * Called right after a change of the ontology.
 * @returns what puts the former one back; it is refused with 412 once something else has changed the ontology
 */
export async function undoOntology(relata: Relata, projectId: number, former: SentOntology) {
  const { etag } = await relata.ontology.get(projectId);
  return () => relata.ontology.put(projectId, former, etag ? { ifMatch: etag } : {});
}

/** The names of the tables of the project, once one is about to be chosen: each comes with all of its pairs. */
export function useTableNames(isNeeded: boolean): readonly string[] {
  const { data = [] } = useOfProject(
    ['relations', 'tables'],
    async ({ relata, projectId, signal }) =>
      (await relata.relations.tables.list(projectId, { signal })).items.map(({ name }) => name),
    { enabled: isNeeded },
  );
  return data;
}
/** What takes seconds to count in a large catalog holds for a while. */
const COUNTED_MS = 60_000;

export interface Coverage {
  readonly answer: CoverageAnswer;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
}

/** Of all products, or of those of a category. Counting takes some seconds in a large catalog. */
export function useCoverage(category: readonly string[] = [], isEnabled = true) {
  const { data, isLoading, error } = useOfProject(
    ['coverage', category],
    async ({ relata, projectId, signal }): Promise<Coverage> => {
      const answer = await relata.ontology.coverage(projectId, { category, signal });
      return { answer, byName: new Map(answer.attributes.map((one) => [one.name, one])) };
    },
    { enabled: isEnabled, staleTime: COUNTED_MS },
  );
  return { coverage: data, isCounting: isLoading, error };
}

/** What the data alone shows; the service keeps it until the catalog changes. */
export const useSuggestions = (isDismissed: boolean, isEnabled = true) =>
  useOfProject(
    ['suggestions', isDismissed],
    ({ relata, projectId, signal }) => relata.suggestions.list(projectId, { dismissed: isDismissed, signal }),
    { enabled: isEnabled, staleTime: COUNTED_MS },
  );
