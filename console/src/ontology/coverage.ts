import type { AttributeCoverage, Coverage as OntologyCoverage } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useRelata } from '../state/session.tsx';

export interface Coverage {
  readonly answer: OntologyCoverage;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
}

/** Of all products, or of those of a category. Counting takes some seconds in a large catalog. */
export function useCoverage(
  projectId: number,
  category: readonly string[] = [],
): {
  coverage: Coverage | undefined;
  isCounting: boolean;
  error: unknown;
} {
  const relata = useRelata();
  const { data, isLoading, error } = useQuery({
    queryKey: ['coverage', projectId, category],
    queryFn: async ({ signal }) => {
      const answer = await relata.ontology.coverage(projectId, { category, signal });
      return { answer, byName: new Map(answer.attributes.map((one) => [one.name, one])) };
    },
    staleTime: 60_000,
  });
  return { coverage: data, isCounting: isLoading, error };
}

export const countProblems = ({ problems }: AttributeCoverage): number =>
  problems.reduce((sum, { count }) => sum + count, 0);
