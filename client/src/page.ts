import type { CallOptions, Transport } from './transport.ts';

/** Selects a part of a list. */
export type Page = CallOptions & { readonly limit?: number; readonly cursor?: string | undefined };

/** @returns the query parameters for the named parts */
export const paging = ({ limit, cursor }: Page) => ({
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { cursor }),
});

/** A value with its `ETag`. Pass the `ETag` to a change as `ifMatch`. */
export interface Tagged<Value> {
  readonly value: Value;
  readonly etag: string | undefined;
}

/** Reads one thing with its `ETag`. */
export async function readTagged<Value>(
  { request }: Pick<Transport, 'request'>,
  path: string,
  { signal }: CallOptions = {},
): Promise<Tagged<Value>> {
  const response = await request({ method: 'GET', path, ...(signal && { signal }) });
  const value = (await response.json()) as Value;
  return { value, etag: response.headers.get('etag') ?? undefined };
}
