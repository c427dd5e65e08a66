import { MissingObject } from '../timeline/timeline.ts';
import { classify, FAILURES } from './failures.ts';
import { STATE, type StreamState } from './stream-state.ts';

/** The report of a stream: numbers that all threads read, and the reason of its last failure. */
export class StreamReport {
  private readonly state: StreamState;
  private reason = '';

  constructor(state: StreamState) {
    this.state = state;
  }

  read(name: keyof typeof STATE): number {
    return this.state[STATE[name]] ?? 0;
  }

  set(name: keyof typeof STATE, value: number): void {
    this.state[STATE[name]] = value;
  }

  add(name: keyof typeof STATE, more: number): void {
    this.set(name, this.read(name) + more);
  }

  /** The message of the last failure. */
  get lastError(): string {
    return this.reason;
  }

  /** @returns the index of the failure in FAILURES */
  noteFailure(error: unknown): number {
    this.reason = (error as Error).message;
    this.add('failures', 1);
    const failure = FAILURES.indexOf(classify(error));
    this.set('failure', failure);
    return failure;
  }

  /** Notes that the target lacks an object that a restore needs. It counts until a check finds every object. */
  noteMissing(missing: string): void {
    this.noteFailure(new MissingObject(missing));
    this.set('isIncomplete', 1);
    this.add('gaps', 1);
    this.set('basedAt', 0);
  }

  /** Notes a successful attempt. @param houseFailure why the housework failed, an index in FAILURES */
  noteSuccess(houseFailure: number): void {
    this.set('failure', houseFailure || this.read('isIncomplete') * FAILURES.indexOf('incomplete'));
  }
}
