/**
 * Registers functions that stop things at the end: at the end of a test if this is its context, or later for a service
 * that outlives a test.
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
