import type { ManagedProject, Relata } from '@relata/client';
import {
  type InfiniteData,
  type UseInfiniteQueryOptions,
  type UseQueryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useContext } from 'react';
import { ProjectContext } from './project-context.ts';
import { useRelata } from './session.tsx';

export { ProjectContext } from './project-context.ts';

/** The project of the present view. */
export function useProject(): ManagedProject {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('this view belongs to a project');
  return project;
}

interface Asking {
  readonly relata: Relata;
  readonly projectId: number;
  readonly signal: AbortSignal;
}

export type Key = readonly [name: string, ...of: unknown[]];
type Options<Value> = Omit<UseQueryOptions<Value>, 'queryKey' | 'queryFn'>;

/** What the service says of the project of the view; its key is the name, the project, and what else it is of. */
export function useOfProject<Value>(
  [name, ...of]: Key,
  ask: (asking: Asking) => Promise<Value>,
  options: Options<Value> = {},
) {
  const relata = useRelata();
  const { id: projectId } = useProject();
  return useQuery({
    queryKey: [name, projectId, ...of],
    queryFn: ({ signal }) => ask({ relata, projectId, signal }),
    ...options,
  });
}

interface Page {
  readonly nextCursor?: string | null | undefined;
}

type PageOptions<One> = Omit<
  UseInfiniteQueryOptions<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>,
  'queryKey' | 'queryFn' | 'initialPageParam' | 'getNextPageParam'
>;

/** The same page by page, as one asks for more. */
export function usePages<One extends Page>(
  [name, ...of]: Key,
  ask: (asking: Asking & { readonly cursor: string | undefined }) => Promise<One>,
  options?: PageOptions<One>,
) {
  const relata = useRelata();
  const { id: projectId } = useProject();
  return useInfiniteQuery<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>({
    queryKey: [name, projectId, ...of],
    queryFn: ({ pageParam, signal }) => ask({ relata, projectId, signal, cursor: pageParam }),
    initialPageParam: undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    ...options,
  });
}

/** All projects in reach: up to 1,000, as many as a page of the list holds. */
export function useProjects() {
  const relata = useRelata();
  return useQuery({
    queryKey: ['projects'],
    queryFn: async ({ signal }) => (await relata.projects.list({ limit: 1000, signal })).items,
  });
}

export function useGroups() {
  const relata = useRelata();
  return useQuery({
    queryKey: ['groups'],
    queryFn: async ({ signal }) => (await relata.projects.listGroups({ limit: 1000, signal })).items,
    // A project's key reaches no groups.
    retry: false,
  });
}
