/** A result that may already be available, because waiting for a promise takes longer than most checks of a request. */
export type AtOnce<Value> = Value | Promise<Value>;

/**
 * Calls `next` synchronously if the value is available.
 * @throws the error of `next`, if it was called synchronously
 */
export const andThen = <Value, Result>(
  value: AtOnce<Value>,
  next: (value: Value) => AtOnce<Result>,
): AtOnce<Result> => (value instanceof Promise ? value.then(next) : next(value));
