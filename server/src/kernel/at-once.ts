/** A result that may already be known: waiting for a promise takes longer than most checks of a request. */
export type AtOnce<Value> = Value | Promise<Value>;

/** @returns the result of `next` for a value, synchronously if it is known. @throws what `next` throws then */
export const andThen = <Value, Result>(
  value: AtOnce<Value>,
  next: (value: Value) => AtOnce<Result>,
): AtOnce<Result> => (value instanceof Promise ? value.then(next) : next(value));
