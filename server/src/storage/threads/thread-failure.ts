import { ServiceError } from '../../kernel/errors.ts';

/** The refusal of a question whose thread was replaced. That thread may still use the memory of the question. */
export class ThreadReplaced extends ServiceError {
  constructor({ code, facts }: ServiceError) {
    super(code, facts);
  }
}

export interface ThreadAnswer {
  readonly output?: unknown;
  readonly failure?: ThreadFailure;
}

/** An error in the form that crosses threads: its class is lost, but its code remains. */
interface ThreadFailure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly refusal: { code: string; facts: object } | undefined;
}

/** @returns a refusal for a thread that ran out of memory, otherwise the error */
export function explainDeath(error: Error, heapMib: number): Error {
  const isFull = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isFull
    ? new ThreadReplaced(new ServiceError('memory_exceeded', { values: [heapMib], cause: error }))
    : error;
}

export function reviveFailure({ message, stack, refusal }: ThreadFailure): Error {
  if (refusal !== undefined) return new ServiceError(refusal.code as 'storage_full', refusal.facts);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** @returns an error in the form that crosses threads */
export function describeFailure(error: unknown): ThreadFailure {
  if (!(error instanceof ServiceError)) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { message, stack, refusal: undefined };
  }
  // The facts are included because the log shows them. A cause is reduced to its message.
  const { cause, ...facts } = error.facts;
  const why = cause instanceof Error && { cause: cause.message };
  const refusal = { code: error.code, facts: { ...facts, ...why } };
  return { message: error.message, stack: undefined, refusal };
}
