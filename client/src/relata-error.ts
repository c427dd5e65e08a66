import type { Error as ErrorBody, ProductViolation, Task } from './wire.ts';

/** A refusal of the service. Source: docs/interface §7. */
export class RelataError extends Error {
  override readonly name = 'RelataError';
  /** The HTTP status. */
  readonly status: number;
  /** One code of a closed list, such as `delete_guard`. Source: docs/interface §7.7. */
  readonly reason: ErrorBody['reason'] | undefined;
  /** The log of the service has the same id. */
  readonly requestId: string | undefined;
  readonly details: readonly string[];
  /** One element for each invalid product of a body, in the order of the body. */
  readonly validation: readonly ProductViolation[];
  /** The value of `Retry-After`. */
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

/** The service could not be reached, even after the repetitions. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(cause: unknown) {
    super('The service cannot be reached', { cause });
  }
}

/** A task that was waited for ended as FAILED or CANCELLED. */
export class TaskError extends Error {
  override readonly name = 'TaskError';
  readonly task: Task;

  constructor(task: Task) {
    super(task.error?.message ?? `The task ended ${task.taskStatus}`);
    this.task = task;
  }
}
