import { FAILURES, type Failure, type STATE } from '../backup/stream/stream.ts';
import type { Logger } from '../kernel/logger.ts';

/** Reports the state of the continuous backup in the log and to the health check. */

/** Reads a number that the thread of the backup shares. */
export type ReadState = (name: keyof typeof STATE) => number;

/** Callbacks for a service that becomes, or stops being, the writer. */
export interface RoleChanges {
  superseded(): Promise<void>;
  /** Is called before the first change is accepted. */
  promoting(): Promise<void>;
  promoted(): Promise<void>;
}

interface Watched {
  readonly read: ReadState;
  describe(): Promise<string>;
  readonly logger: Logger;
  readonly target: string;
  readonly on: RoleChanges;
}

/** The remedy for each failure. Until it is fixed, a writer keeps its changes on the disk, and a standby waits. */
const TEXTS: Readonly<Record<Failure, string | undefined>> = {
  none: undefined,
  unreachable: 'the target of the backup cannot be reached: check RELATA_BACKUP_URL and the network',
  refused: 'the target of the backup refuses access: check its keys, or the permissions of its folder',
  full: 'the target of the backup is full: free space there',
  damaged:
    'an object of the backup is damaged or missing, or has another RELATA_BACKUP_KEY: relata backups URL --verify names it',
  unauthenticated:
    'RELATA_BACKUP_KEY does not authenticate an object of the backup: relata backups URL --verify names it; if an earlier version made the backup, or it has no key, set RELATA_BACKUP_URL to an empty target',
  vanished:
    'the target of the backup does not exist or holds another backup, and no new backup begins: mount its disk, or set RELATA_BACKUP_URL to another target',
  incomplete:
    'the target of the backup had lost its base copy or a segment when it was last checked, so a new base copy is made: see the log for what is missing',
  otherSchema: 'the writer has a newer schema: install the version of the writer on this standby',
  dataDirectory: 'the backup cannot read or write the data directory: see the log, and run relata doctor',
};

export const failureIn = (read: ReadState): Failure => FAILURES[read('failure')] ?? 'unreachable';

/** @returns the current failure with its remedy; undefined if there is no failure */
export const describeFailure = (read: ReadState): string | undefined => TEXTS[failureIn(read)];

/** @returns a function that logs each change of the state once and calls the callbacks for changes of the role */
export function watchState({ read, describe, logger, target, on }: Watched) {
  let before = { text: TEXTS.none, isSuperseded: false, isPromoted: false };
  const logFailure = async (problem: string | undefined) =>
    problem === undefined
      ? logger.info({ target }, 'the continuous backup works again')
      : logger.error(
          { target, problem, reason: await describe() },
          'the continuous backup failed; it is retried',
        );
  return async () => {
    const is = (name: 'isSuperseded' | 'isPromoted') => read(name) === 1;
    const text = describeFailure(read);
    const now = { text, isSuperseded: is('isSuperseded'), isPromoted: is('isPromoted') };
    const last = before;
    before = now;
    if (now.isPromoted && !last.isPromoted) {
      logger.warn({ target }, 'this standby was promoted and accepts changes from now on');
      await on.promoted();
    }
    if (now.isSuperseded && !last.isSuperseded) {
      logger.error({ target }, 'another service was promoted; this one no longer accepts changes');
      await on.superseded();
    } else if (now.text !== last.text) await logFailure(now.text);
  };
}
