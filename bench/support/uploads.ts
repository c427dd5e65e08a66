import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceClient } from './service-client.ts';

interface UploadOrder {
  readonly path: string;
  readonly bodies: readonly Buffer[];
  /**
   * The start of each upload, in ms after the first. Undefined: each starts as soon as the previous one is answered.
   */
  readonly starts?: readonly number[];
}

/** @returns a function that stops, and returns when each upload started */
export function startUploads(client: ServiceClient, { path, bodies, starts }: UploadOrder) {
  const begun: number[] = [];
  let isStopped = false;
  const start = performance.now();
  const run = async () => {
    while (!isStopped) {
      const at = begun.length;
      if (starts !== undefined && at >= starts.length) return;
      const early = (starts?.[at] ?? 0) - (performance.now() - start);
      if (early > 0) await pause(early);
      begun.push(performance.now() - start);
      await client.succeed('POST', path, bodies[at % bodies.length]);
    }
  };
  const running = run();
  return {
    async stop(): Promise<readonly number[]> {
      isStopped = true;
      await running;
      return begun;
    },
  };
}
