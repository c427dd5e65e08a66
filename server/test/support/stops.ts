/**
 * The place where a test registers what to stop, or the owner of a service that outlives a test. The context of a test
 * is one.
 */
export interface Stopping {
  after(stop: () => unknown): void;
}

/** Collects functions to stop things, for services that a test stops itself or that several tests share. */
export class Stops implements Stopping {
  private readonly stops: (() => unknown)[] = [];

  after(stop: () => unknown): void {
    this.stops.push(stop);
  }

  /** Stops in the order of registration, like the hooks of a test. */
  async stopAll(): Promise<void> {
    for (const stop of this.stops.splice(0)) await stop();
  }
}
