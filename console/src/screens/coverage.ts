import { type AttributeCoverage, type OntologyCoverage, RelataError } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useRelata } from '../state/session.tsx';

export interface Coverage {
  readonly answer: OntologyCoverage;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
}

/** Counting takes some seconds in a large catalog. */
export function useCoverage(projectId: number): { coverage: Coverage | undefined; isCounting: boolean } {
  const relata = useRelata();
  const { data, isLoading } = useQuery({
    queryKey: ['coverage', projectId],
    queryFn: async ({ signal }) => {
      const answer = await relata.ontology.coverage(projectId, { signal }).catch(withoutIt);
      if (answer === null) return null;
      return { answer, byName: new Map(answer.attributes.map((one) => [one.name, one])) };
    },
    staleTime: 60_000,
  });
  return { coverage: data ?? undefined, isCounting: isLoading };
}

/** An older service does not count. */
function withoutIt(error: unknown): null {
  if (error instanceof RelataError && error.status === 404) return null;
  throw error;
}

export const countProblems = ({ problems }: AttributeCoverage): number =>
  problems.reduce((sum, { count }) => sum + count, 0);
