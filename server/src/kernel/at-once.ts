/** A result that may already be available. Waiting for a promise takes longer than most checks of a request. */
export type AtOnce<Value> = Value | Promise<Value>;

/**
 * Calls `next` synchronously if the value is available.
 * @throws what `next` throws then
 */
export const andThen = <Value, Result>(
  value: AtOnce<Value>,
  next: (value: Value) => AtOnce<Result>,
): AtOnce<Result> => (value instanceof Promise ? value.then(next) : next(value));
