/** Who holds memory: a key or a user, of an account. */
export interface Holder {
  readonly caller: string;
  readonly accountId: number;
}

/** What one body or answer holds of the memory. */
export interface HeldMemory {
  /** @returns false while there is no room for that many bytes in all: no more than before is held then */
  grow(toBytes: number): boolean;
  /** @returns once that many bytes in all are held, or all was given back */
  waitFor(toBytes: number): Promise<void>;
  /** Gives back what is held beyond so many bytes. */
  shrink(toBytes: number): void;
  /** Gives all of it back. */
  release(): void;
}

/** Memory that requests share, of which one caller and one account hold a part at most. */
export interface MemoryBudget {
  open(holder: Holder): HeldMemory;
}

/** Parts of the whole. Source: docs/interface.md §7.2 rule 8. */
const CALLER_SHARE = 1 / 2;
const ACCOUNT_SHARE = 3 / 4;

/** Those that share a limit, in the order in which they began. */
interface Group {
  readonly name: string;
  readonly limitBytes: number;
  readonly members: Set<Holding>;
  bytes: number;
}

interface Holding {
  readonly caller: Group;
  readonly account: Group;
  readonly all: Group;
  bytes: number;
  /** Set while it waits. */
  request?: { readonly toBytes: number; readonly grant: () => void } | undefined;
}

/**
 * The oldest of a caller may exceed what the caller may hold, the oldest of an account everything: however many hold a part and
 * wait for more, one of each account goes on. Of those that wait the smallest go first.
 */
export function createMemoryBudget(limitBytes: number): MemoryBudget {
  const all = makeGroup('all', limitBytes);
  const groups = new Map<string, Group>();
  let waiting: Holding[] = [];

  function findGroup(name: string, share: number): Group {
    const group = groups.get(name) ?? makeGroup(name, limitBytes * share);
    groups.set(name, group);
    return group;
  }

  function begin(holder: Holder): Holding {
    const caller = findGroup(holder.caller, CALLER_SHARE);
    const account = findGroup(`account ${holder.accountId}`, ACCOUNT_SHARE);
    const holding = { caller, account, all, bytes: 0 };
    for (const group of [caller, account]) group.members.add(holding);
    return holding;
  }

  function end(holding: Holding): void {
    addBytes(holding, -holding.bytes);
    for (const group of [holding.caller, holding.account]) {
      group.members.delete(holding);
      if (group.members.size === 0) groups.delete(group.name);
    }
    grant(holding);
    if (waiting.length > 0) grantWaiting();
  }

  function grantWaiting(): void {
    waiting = waiting
      .filter(({ request }) => request !== undefined)
      .sort((a, b) => (a.request?.toBytes ?? 0) - (b.request?.toBytes ?? 0));
    for (const holding of waiting) if (grow(holding, holding.request?.toBytes ?? 0)) grant(holding);
  }

  return {
    open(holder) {
      /** Made with the first byte: a body of which nothing came is not the oldest of its caller. */
      let holding: Holding | undefined;
      let isReleased = false;
      return {
        grow(toBytes) {
          if (isReleased) return true;
          holding ??= begin(holder);
          return grow(holding, toBytes);
        },
        waitFor: (toBytes) =>
          new Promise((grant) => {
            if (isReleased) return grant();
            holding ??= begin(holder);
            holding.request = { toBytes, grant };
            waiting.push(holding);
            grantWaiting();
          }),
        shrink(toBytes) {
          if (holding === undefined || holding.bytes <= toBytes) return;
          addBytes(holding, toBytes - holding.bytes);
          grantWaiting();
        },
        release() {
          isReleased = true;
          if (holding !== undefined) end(holding);
          holding = undefined;
        },
      };
    },
  };
}

const makeGroup = (name: string, limitBytes: number): Group => ({
  name,
  limitBytes,
  members: new Set(),
  bytes: 0,
});

function grow(holding: Holding, toBytes: number): boolean {
  const more = toBytes - holding.bytes;
  if (more <= 0) return true;
  if (!hasRoom(holding, more)) return false;
  addBytes(holding, more);
  return true;
}

function hasRoom(holding: Holding, more: number): boolean {
  const { caller, account, all } = holding;
  if (isOldest(account, holding)) return true;
  return fits(all, more) && fits(account, more) && (fits(caller, more) || isOldest(caller, holding));
}

function addBytes(holding: Holding, bytes: number): void {
  holding.bytes += bytes;
  for (const group of [holding.caller, holding.account, holding.all]) group.bytes += bytes;
}

function grant(holding: Holding): void {
  holding.request?.grant();
  holding.request = undefined;
}

const isOldest = (group: Group, holding: Holding) => group.members.values().next().value === holding;
const fits = (group: Group, more: number) => group.bytes + more <= group.limitBytes;
