import { isIPv6 } from 'node:net';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Database } from '../../storage/storage.ts';
import {
  countAttempt,
  dropWindowsUpTo,
  findWindows,
  forgiveAttempt,
  type PasswordWindow,
} from './password-window-store.ts';
import { hashSecret } from './user.ts';

const MINUTE_MS = 60_000;

/**
 * How many attempts with a password there may be. One address tries little; many addresses together try more at one user,
 * but far too little to guess, and so much that locking somebody out takes many addresses. Source: docs/interface.md §5.6
 * rule 9.
 */
const LIMITS = {
  pair: { attempts: 10, windowMs: 15 * MINUTE_MS },
  address: { attempts: 100, windowMs: 15 * MINUTE_MS },
  email: { attempts: 100, windowMs: 60 * MINUTE_MS },
} as const;

type LimitName = keyof typeof LIMITS;

/** Who tries a password, and from where. */
export interface Attempt {
  readonly email: string;
  readonly address: string;
}

export interface PasswordLimit {
  /** Counts an attempt, also for an unknown user. @throws sign_in_limited, before the password is checked */
  count(attempt: Attempt): Promise<void>;
  /** To be called when the password was right. */
  forgive(attempt: Attempt): Promise<void>;
  dropEnded(): Promise<void>;
}

/** Counted in the database: it holds for all processes together and after a restart. */
export function createPasswordLimit(database: Database, clock: Clock): PasswordLimit {
  return {
    async count(attempt) {
      const keys = keysOf(attempt);
      const now = clock.now();
      // Beyond the limit an attempt costs a read and no write.
      refuseAtLimit(keys, await findWindows(database.read, Object.values(keys), now), now);
      const counted = entriesOf(keys).map(([name, key]) => ({ key, endsAt: now + LIMITS[name].windowMs }));
      refuseOverLimit(keys, await countAttempt(database, counted, now), now);
    },
    async forgive(attempt) {
      const { pair, ...others } = keysOf(attempt);
      // The sign-in stays valid; on a full or failing disk the attempt counts until its window ends.
      await forgiveAttempt(database, { forgotten: pair, lowered: Object.values(others) }).catch(ignoreDisk);
    },
    dropEnded: () => dropWindowsUpTo(database, clock.now()),
  };
}

function ignoreDisk(error: unknown): void {
  if (!(error instanceof ServiceError) || !['storage_full', 'storage_failed'].includes(error.code))
    throw error;
}

type Keys = Readonly<Record<LimitName, string>>;

/** Hashed, because addresses that were tried are private, above all those of unknown users. */
function keysOf({ email, address }: Attempt): Keys {
  const place = networkOf(address);
  return {
    pair: hashSecret(`pair ${email} ${place}`),
    address: hashSecret(`address ${place}`),
    email: hashSecret(`email ${email}`),
  };
}

/** An address as some proxies forward it, with the port of the connection, which is another one each time. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d+)?$/;

/** The owner of one IPv6 address usually has its whole /64. */
function networkOf(given: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(given) ?? [];
  const address = ipv4 ?? ipv6 ?? given;
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = '', after] = address.split('%', 1)[0]?.split('::') ?? [];
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  const groups = [...head, ...zeros, ...tail].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}

function entriesOf(keys: Keys): [LimitName, string][] {
  return Object.entries(keys) as [LimitName, string][];
}

const refuseAtLimit = (keys: Keys, windows: readonly PasswordWindow[], now: number) =>
  refuse(keys, windows, { now, isOver: (attempts, limit) => attempts >= limit });

const refuseOverLimit = (keys: Keys, windows: readonly PasswordWindow[], now: number) =>
  refuse(keys, windows, { now, isOver: (attempts, limit) => attempts > limit });

function refuse(
  keys: Keys,
  windows: readonly PasswordWindow[],
  { now, isOver }: { now: number; isOver: (attempts: number, limit: number) => boolean },
): void {
  const ends = entriesOf(keys).flatMap(([name, key]) =>
    windows
      .filter((window) => window.key === key && isOver(window.attempts, LIMITS[name].attempts))
      .map(({ endsAt }) => endsAt),
  );
  if (ends.length === 0) return;
  throw new ServiceError('sign_in_limited', { retryAfterSeconds: (Math.max(...ends) - now) / 1000 });
}
