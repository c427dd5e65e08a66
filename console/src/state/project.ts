import type { ApiKey, ManagedProject, Relata } from '@relata/client';
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryOptions,
  type UseQueryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useContext } from 'react';
import { ProjectContext, useRelata } from './session.tsx';

/** The project of the present view. */
export function useProject(): ManagedProject {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('this view belongs to a project');
  return project;
}

/** What a call of the view takes. */
export function useCalls() {
  const project = useProject();
  return { relata: useRelata(), project, projectId: project.id };
}

interface Asking {
  readonly relata: Relata;
  readonly signal: AbortSignal;
}

interface AskingOfProject extends Asking {
  readonly projectId: number;
}

export type Key = readonly [name: string, ...of: unknown[]];
/** Of a preview, which is made anew as one types: until it has come, the one before. */
export const WHILE_TYPING = {
  ...{ placeholderData: keepPreviousData, refetchOnWindowFocus: false, staleTime: 60_000, gcTime: 0 },
} as const;

type Options<Value> = Omit<UseQueryOptions<Value>, 'queryKey' | 'queryFn'>;

/** What the service says, by a name and what else it is of. */
export function useAsked<Value>(
  key: Key,
  ask: (asking: Asking) => Promise<Value>,
  options: Options<Value> = {},
) {
  const relata = useRelata();
  return useQuery({ queryKey: key, queryFn: ({ signal }) => ask({ relata, signal }), ...options });
}

/** The same of the project of the view, which follows the name in the key. */
export function useOfProject<Value>(
  [name, ...of]: Key,
  ask: (asking: AskingOfProject) => Promise<Value>,
  options?: Options<Value>,
) {
  const { id: projectId } = useProject();
  return useAsked([name, projectId, ...of], (asking) => ask({ ...asking, projectId }), options);
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
  ask: (asking: AskingOfProject & { readonly cursor: string | undefined }) => Promise<One>,
  options?: PageOptions<One>,
) {
  const { relata, projectId } = useCalls();
  return useInfiniteQuery<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>({
    queryKey: [name, projectId, ...of],
    queryFn: ({ pageParam, signal }) => ask({ relata, projectId, signal, cursor: pageParam }),
    initialPageParam: undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    ...options,
  });
}

/** All projects in reach: up to 1,000, as many as a page of the list holds. */
export const useProjects = () =>
  useAsked(
    ['projects'],
    async ({ relata, signal }) => (await relata.projects.list({ limit: 1000, signal })).items,
  );

export const useAllKeys = (select?: (all: ApiKey[]) => ApiKey[]) =>
  useAsked(
    ['api-keys'],
    async ({ relata, signal }) => (await relata.apiKeys.list({ limit: 1000, signal })).items,
    { ...(select && { select }) },
  );

export const useGroups = () =>
  useAsked(
    ['groups'],
    async ({ relata, signal }) => (await relata.projects.listGroups({ limit: 1000, signal })).items,
  );
