import { QueryClient } from '@tanstack/react-query';

/** The client already retries calls that may succeed a moment later; other errors are worth showing. */
export const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5_000 } } });

/** Reloads what was read under these names, or everything if there are none. */
export const reread = (...names: readonly string[]): Promise<unknown> =>
  names.length === 0
    ? queries.invalidateQueries()
    : Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name] })));

/** @returns the result once the views are reloaded, also after a failure: they show the stored state */
export async function rereading<Result>(
  doing: Promise<Result>,
  ...names: readonly string[]
): Promise<Result> {
  try {
    return await doing;
  } finally {
    await reread(...names);
  }
}
