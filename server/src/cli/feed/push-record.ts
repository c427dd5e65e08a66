import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { readClientSettings } from '../../config.ts';
import { UsageError } from './usage-error.ts';

/** How far a push is. It is on the disk before the next batch is sent. */
interface PushState {
  /** Names its requests: one that is sent again counts once. Source: docs/interface.md §7.5. */
  readonly run: string;
  readonly fullUpdateId?: number;
  readonly batches: number;
  readonly products: number;
  readonly skipped: number;
  readonly tasks: readonly string[];
  readonly isCommitting: boolean;
}

export interface PushedFiles {
  readonly url: string;
  readonly key: string;
  readonly projectId: number | undefined;
  readonly mode: string;
  readonly files: readonly string[];
  readonly size: number;
  readonly isResumed: boolean;
}

const begin = (): PushState => ({
  ...{ run: randomUUID(), batches: 0, products: 0, skipped: 0, tasks: [], isCommitting: false },
});

export class PushRecord {
  state: PushState;
  private readonly path: string | undefined;

  private constructor(path: string | undefined, state: PushState) {
    this.path = path;
    this.state = state;
  }

  /** @throws UsageError where there is nothing to resume */
  static open(pushed: PushedFiles): PushRecord {
    const path = pushed.files.includes('-') ? undefined : pathOf(pushed);
    const known = path === undefined ? undefined : read(path);
    if (pushed.isResumed) {
      if (known !== undefined) return new PushRecord(path, known);
      console.error('No push of these files was broken off: this one begins at the start.');
    } else if (known !== undefined && known.batches > 0)
      console.error(
        `A push of these files was broken off after ${known.products} products: --resume goes on.`,
      );
    return new PushRecord(path, begin());
  }

  keep(changed: Partial<PushState>): void {
    this.state = { ...this.state, ...changed };
    if (this.path === undefined) return;
    writeFileSync(`${this.path}.new`, JSON.stringify(this.state), { mode: 0o600, flush: true });
    renameSync(`${this.path}.new`, this.path);
  }

  restart(): void {
    this.keep({ fullUpdateId: undefined, ...begin() } as PushState);
  }

  /** @returns an idempotency key */
  nameOf(request: string): string {
    return `${this.state.run}-${request}`;
  }

  close(): void {
    if (this.path !== undefined) rmSync(this.path, { force: true });
  }
}

function read(path: string): PushState | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as PushState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`${path} cannot be read, delete it: ${(error as Error).message}`);
  }
}

/** A file that has changed since makes other batches, so it is another push. */
function pathOf({ url, key, projectId, mode, size, files }: PushedFiles): string {
  const described = files.map((file) => {
    const { size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 };
    return [resolve(file), size, mtimeMs];
  });
  const hash = createHash('sha256').update(
    JSON.stringify([url, key, projectId ?? null, mode, size, described]),
  );
  const folder = join(readClientSettings().stateHome ?? join(homedir(), '.local', 'state'), 'relata');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, `push-${hash.digest('hex').slice(0, 32)}.json`);
}
