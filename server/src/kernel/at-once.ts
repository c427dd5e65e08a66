/** A result that may be known already: waiting for a promise takes longer than most checks of a request do. */
export type AtOnce<Value> = Value | Promise<Value>;

/** @returns what `next` makes of a value, at once where it is known. @throws what `next` throws then */
export const andThen = <Value, Result>(
  value: AtOnce<Value>,
  next: (value: Value) => AtOnce<Result>,
): AtOnce<Result> => (value instanceof Promise ? value.then(next) : next(value));
