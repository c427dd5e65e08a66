import { useQuery } from '@tanstack/react-query';
import { useRelata } from '../state/session.tsx';

/** How much of the catalog one attribute covers. */
export interface AttributeCoverage {
  readonly products: number;
  readonly withValue: number;
  readonly withFact: number;
  readonly values: readonly { value: string; count: number }[];
  readonly problems: number;
  readonly examples: readonly { identifier: string; value: string; code: string }[];
}

/** @returns by the name of the attribute; undefined while it is counted, or where it is not served */
export function useCoverage(projectId: number): ReadonlyMap<string, AttributeCoverage> | undefined {
  const relata = useRelata();
  return useQuery({
    queryKey: ['coverage', projectId],
    queryFn: async ({ signal }) => readCoverage(await relata.ontology.coverage(projectId, { signal })),
    staleTime: 60_000,
  }).data;
}

interface CoverageAnswer {
  products: number;
  attributes: {
    name: string;
    productsWithValue: number;
    productsWithFact: number;
    values: { value: string; count: number }[];
    problems: { code: string; count: number; examples: { identifier: string; value: string }[] }[];
  }[];
}

function readCoverage(answer: CoverageAnswer): ReadonlyMap<string, AttributeCoverage> {
  return new Map(
    answer.attributes.map((attribute) => [
      attribute.name,
      {
        products: answer.products,
        withValue: attribute.productsWithValue,
        withFact: attribute.productsWithFact,
        values: attribute.values,
        problems: attribute.problems.reduce((sum, { count }) => sum + count, 0),
        examples: attribute.problems.flatMap(({ code, examples }) =>
          examples.map((example) => ({ ...example, code })),
        ),
      },
    ]),
  );
}
