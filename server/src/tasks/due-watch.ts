import type { Logger } from '../kernel/logger.ts';

/** Looks again and again for what is due. */
export interface DueWatch {
  start(): void;
  /** Waits for what is being started. */
  close(): Promise<void>;
}

export interface DueWatchParts<Found> {
  readonly logger: Logger;
  /** Logged when looking begins to fail. */
  readonly failing: string;
  /** @returns the next of those that are due, behind `after`; none at the end */
  listDue(after: Found | undefined): Promise<readonly Found[]>;
  startDue(found: Found): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;

/** Thrown beside a start: another process made it, or what is due was changed meanwhile, and nothing is left to do. */
export class Moved extends Error {
  override readonly name = 'Moved';
}

export function createDueWatch<Found>({
  logger,
  failing,
  listDue,
  startDue,
}: DueWatchParts<Found>): DueWatch {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  let isClosed = false;
  let isFailing = false;

  async function* listAll(): AsyncGenerator<Found, void> {
    for (let page = await listDue(undefined); page.length > 0; page = await listDue(page.at(-1))) {
      for (const found of page) {
        if (isClosed) return;
        yield found;
      }
    }
  }

  async function look(): Promise<void> {
    const failures: unknown[] = [];
    const note = (error: unknown) => void failures.push(error);
    try {
      // One that cannot be started must not keep the others waiting, nor may a page of them.
      for await (const found of listAll()) await startDue(found).catch(note);
    } catch (error) {
      // What is due stays so until it is started.
      note(error);
    }
    // Once, and not every second while a database is away.
    if (failures.length > 0 && !isFailing)
      logger.warn({ err: failures[0] }, `${failing} cannot be looked after, it is tried again`);
    isFailing = failures.length > 0;
  }

  function plan(): void {
    timer = setTimeout(() => {
      looking = look().finally(() => {
        if (!isClosed) plan();
      });
    }, LOOK_EVERY_MS);
    timer.unref();
  }

  return {
    start: plan,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
