import type { Error as ErrorBody, ProductViolation, Task } from './wire.ts';

/** A refusal of the service. Source: docs/interface §7. */
export class RelataError extends Error {
  override readonly name = 'RelataError';
  /** The HTTP status. */
  readonly status: number;
  /** One word of a closed list, such as `delete_guard`. Source: docs/interface §7.7. */
  readonly reason: ErrorBody['reason'] | undefined;
  /** Also in the log of the service. */
  readonly requestId: string | undefined;
  readonly details: readonly string[];
  /** One element for each bad product of a body, in its order. */
  readonly validation: readonly ProductViolation[];
  /** From `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: Partial<ErrorBody>, retryAfterSeconds?: number) {
    super(body.message ?? `The service answered ${status}`);
    this.status = status;
    this.reason = body.reason;
    this.requestId = body.requestId;
    this.details = body.details ?? [];
    this.validation = body.validation ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The service could not be reached, also after the repetitions. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(cause: unknown) {
    super('The service cannot be reached', { cause });
  }
}

/** A task that was waited for has FAILED or was CANCELLED. */
export class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly task: Task;

  constructor(task: Task) {
    super(task.error?.message ?? `The task ended ${task.taskStatus}`);
    this.task = task;
  }
}
