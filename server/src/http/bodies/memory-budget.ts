/** The holder of memory: a caller (a key or a user), and its account. */
interface Holder {
  readonly caller: string;
  readonly accountId: number;
}

/** Shares of the whole memory. Source: docs/interface §7.2 rule 8. */
const CALLER_SHARE = 1 / 2;
const ACCOUNT_SHARE = 3 / 4;

/** Holdings that share a limit, oldest first. */
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
  /** Set while it waits for memory. */
  request?: { readonly toBytes: number; readonly grant: () => void } | undefined;
}

/**
 * Memory that requests share. A caller and an account may each hold only a part of it. The oldest holding of a caller
 * may exceed the caller's limit, and the oldest of an account even the total. So at least one holding of each account
 * can always continue, however many wait for more. Among waiting holdings, the smallest is granted first.
 */
export class MemoryBudget {
  private readonly limitBytes: number;
  private readonly all: Group;
  private readonly groups = new Map<string, Group>();
  private waiting: Holding[] = [];

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
    this.all = makeGroup('all', limitBytes);
  }

  open(holder: Holder): HeldMemory {
    return new HeldMemory(this, holder);
  }

  begin(holder: Holder): Holding {
    const caller = this.findGroup(holder.caller, CALLER_SHARE);
    const account = this.findGroup(`account ${holder.accountId}`, ACCOUNT_SHARE);
    const holding = { caller, account, all: this.all, bytes: 0 };
    for (const group of [caller, account]) group.members.add(holding);
    return holding;
  }

  /** Grants the holding's request as soon as there is room. */
  wait(holding: Holding): void {
    this.waiting.push(holding);
    this.grantWaiting();
  }

  shrink(holding: Holding, toBytes: number): void {
    if (holding.bytes <= toBytes) return;
    addBytes(holding, toBytes - holding.bytes);
    this.grantWaiting();
  }

  end(holding: Holding): void {
    addBytes(holding, -holding.bytes);
    for (const group of [holding.caller, holding.account]) {
      group.members.delete(holding);
      if (group.members.size === 0) this.groups.delete(group.name);
    }
    grant(holding);
    if (this.waiting.length > 0) this.grantWaiting();
  }

  private findGroup(name: string, share: number): Group {
    return this.groups.getOrInsertComputed(name, () => makeGroup(name, this.limitBytes * share));
  }

  private grantWaiting(): void {
    this.waiting = this.waiting
      .filter(({ request }) => request !== undefined)
      .sort((a, b) => (a.request?.toBytes ?? 0) - (b.request?.toBytes ?? 0));
    for (const holding of this.waiting) if (grow(holding, holding.request?.toBytes ?? 0)) grant(holding);
  }
}

/** The memory that one body or answer holds. */
export class HeldMemory {
  private readonly budget: MemoryBudget;
  private readonly holder: Holder;
  /**
   * Created with the first byte, because a body of which no byte has arrived must not count as the oldest of its
   * caller.
   */
  private holding: Holding | undefined;
  private isReleased = false;

  constructor(budget: MemoryBudget, holder: Holder) {
    this.budget = budget;
    this.holder = holder;
  }

  /** @returns false when there is no room for this total; the holding then remains as it is */
  grow(toBytes: number): boolean {
    return this.isReleased || grow(this.begun(), toBytes);
  }

  /** Resolves when this total is held, or when the memory was released. */
  waitFor(toBytes: number): Promise<void> {
    return new Promise<void>((grant) => {
      if (this.isReleased) return grant();
      const holding = this.begun();
      holding.request = { toBytes, grant };
      this.budget.wait(holding);
    });
  }

  /** Gives back the bytes beyond this total. */
  shrink(toBytes: number): void {
    if (this.holding !== undefined) this.budget.shrink(this.holding, toBytes);
  }

  release(): void {
    this.isReleased = true;
    if (this.holding !== undefined) this.budget.end(this.holding);
    this.holding = undefined;
  }

  private begun(): Holding {
    this.holding ??= this.budget.begin(this.holder);
    return this.holding;
  }
}

function makeGroup(name: string, limitBytes: number): Group {
  return { name, limitBytes, members: new Set(), bytes: 0 };
}

function grow(holding: Holding, toBytes: number): boolean {
  const { caller, account, all } = holding;
  const more = toBytes - holding.bytes;
  if (more <= 0) return true;
  const hasRoom =
    isOldest(account, holding) ||
    (fits(all, more) && fits(account, more) && (fits(caller, more) || isOldest(caller, holding)));
  if (hasRoom) addBytes(holding, more);
  return hasRoom;
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
