/** Where a test, or the owner of a service that outlives one, registers what to stop. The context of a test is one. */
export interface Stopping {
  after(stop: () => unknown): void;
}

/** Collects what to stop, for services that a test stops itself or that several tests share. */
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
