import type { ApiKey, Relata } from '@relata/client';
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryOptions,
  type UseQueryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useCalls, useProject } from './rights.ts';
import { useRelata } from './session.tsx';

interface Asking {
  readonly relata: Relata;
  readonly signal: AbortSignal;
}

export interface AskingOfProject extends Asking {
  readonly projectId: number;
}

export type Key = readonly [name: string, ...of: unknown[]];

/** For a preview that is renewed while the user types. The earlier preview stays until the new one arrives. */
export const WHILE_TYPING = {
  placeholderData: keepPreviousData,
  refetchOnWindowFocus: false,
  staleTime: 60_000,
  gcTime: 0,
} as const;

type Options<Value> = Omit<UseQueryOptions<Value>, 'queryKey' | 'queryFn'>;

/** An answer of the service, cached under its key. */
export function useAnswer<Value>(
  key: Key,
  ask: (asking: Asking) => Promise<Value>,
  options: Options<Value> = {},
) {
  const relata = useRelata();
  return useQuery({ queryKey: key, queryFn: ({ signal }) => ask({ relata, signal }), ...options });
}

/** The same for the view's project, whose id follows the name in the key. */
export function useOfProject<Value>(
  [name, ...of]: Key,
  ask: (asking: AskingOfProject) => Promise<Value>,
  options?: Options<Value>,
) {
  const { id: projectId } = useProject();
  return useAnswer([name, projectId, ...of], (asking) => ask({ ...asking, projectId }), options);
}

interface PageOf {
  readonly nextCursor?: string | null | undefined;
}

/** @yields the pages of a list, each read with the cursor of the page before */
export async function* readPages<Page extends PageOf>(
  read: (cursor: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield page;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

type PageOptions<One> = Omit<
  UseInfiniteQueryOptions<One, Error, InfiniteData<One>, readonly unknown[], string | undefined>,
  'queryKey' | 'queryFn' | 'initialPageParam' | 'getNextPageParam'
>;

/** The same page by page, on request. */
export function usePages<One extends PageOf>(
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

/** The entries of a list, at most 1,000, which is the size of one page. */
export const useAll = <One>(
  name: string,
  list: (relata: Relata, page: { limit: number; signal: AbortSignal }) => Promise<{ items: One[] }>,
  options?: Options<One[]>,
) =>
  useAnswer(
    [name],
    async ({ relata, signal }) => (await list(relata, { limit: 1000, signal })).items,
    options,
  );

export const useProjects = () => useAll('projects', ({ projects }, page) => projects.list(page));

export const useAllKeys = (select?: (all: ApiKey[]) => ApiKey[]) =>
  useAll('api-keys', ({ apiKeys }, page) => apiKeys.list(page), { ...(select && { select }) });

export const useGroups = () => useAll('groups', ({ projects }, page) => projects.listGroups(page));
