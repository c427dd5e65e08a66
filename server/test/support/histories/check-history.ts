/**
 * What clients saw of projects whose writes each give all products one new value, and whether the service kept its word
 * (docs/interface.md §3.3, §7.5). Times are of one clock, in ms.
 */
export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly looks: readonly TaskLook[];
}

interface Call {
  readonly project: number;
  readonly begunAt: number;
  /** When it was answered. */
  readonly endedAt: number;
}

/** With all its attempts, which share an idempotency key. */
export interface Write extends Call {
  readonly value: string;
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** One for each attempt that was answered. */
  readonly taskIds: readonly string[];
}

export interface Read extends Call {
  /** The value of each product. */
  readonly values: readonly string[];
}

/** What somebody was told of a task. */
export interface TaskLook extends Call {
  readonly taskId: string;
  readonly status: string;
  /** Why it failed. */
  readonly error?: string;
}

const ENDS: ReadonlySet<string> = new Set(['FINISHED', 'FAILED', 'CANCELLED']);

/** @returns what broke a promise, in words; the last looks are taken when all is well again */
export function checkHistory({ writes, reads, looks }: History): string[] {
  const projects = new Set(writes.map(({ project }) => project));
  const ends = findEnds(looks);
  return [
    ...[...projects].flatMap((project) => {
      const own = <One extends Call>(calls: readonly One[]) => calls.filter((one) => one.project === project);
      return checkProject(own(writes), own(reads), ends);
    }),
    ...checkWrites(writes, ends),
    ...checkEnds(looks),
  ];
}

/** @returns when each task was first shown to have ended, and how */
function findEnds(looks: readonly TaskLook[]): ReadonlyMap<string, TaskLook> {
  const ends = new Map<string, TaskLook>();
  for (const look of looks) {
    const known = ends.get(look.taskId);
    if (ENDS.has(look.status) && !(known && known.endedAt <= look.endedAt)) ends.set(look.taskId, look);
  }
  return ends;
}

/** An accepted write is one task, which ends well. */
function checkWrites(writes: readonly Write[], ends: ReadonlyMap<string, TaskLook>): string[] {
  return writes.flatMap(({ value, outcome, taskIds }) => {
    if (outcome !== 'accepted') return [];
    const [taskId = ''] = taskIds;
    const { status, error = '' } = ends.get(taskId) ?? { status: 'open' };
    return [
      ...(new Set(taskIds).size === 1
        ? []
        : [`${value} was accepted as several tasks: ${taskIds.join(', ')}`]),
      ...(status === 'FINISHED' ? [] : [`${value} was accepted, and its task is ${status} ${error}`.trim()]),
    ];
  });
}

/** Whoever asks after an end was shown is told the same. */
function checkEnds(looks: readonly TaskLook[]): string[] {
  const ends = findEnds(looks);
  return looks.flatMap(({ taskId, status, begunAt }) => {
    const end = ends.get(taskId);
    if (end === undefined || begunAt <= end.endedAt || status === end.status) return [];
    return [`task ${taskId} ended ${end.status} and was ${status} later`];
  });
}

function checkProject(
  writes: readonly Write[],
  reads: readonly Read[],
  ends: ReadonlyMap<string, TaskLook>,
): string[] {
  const whole = reads.filter(({ values }) => new Set(values).size < 2);
  const torn = reads.filter(({ values }) => new Set(values).size > 1);
  const known = new Map(writes.map((write) => [write.value, write]));
  return [
    ...torn.map(({ values }) => `a read saw several versions: ${[...new Set(values)].join(', ')}`),
    ...whole.flatMap((read) => checkSource(read, known)),
    ...checkOrder(whole, known, shownEnds(writes, ends)),
    ...checkTurns(writes, whole, ends),
  ];
}

/** What was read had been sent, and not refused. */
function checkSource({ values: [value], endedAt }: Read, known: ReadonlyMap<string, Write>): string[] {
  if (value === undefined) return [];
  const write = known.get(value);
  if (write === undefined) return [`${value} was read, and nobody wrote it`];
  if (write.outcome === 'refused') return [`${value} was refused, and was read`];
  return write.begunAt > endedAt ? [`${value} was read before it was written`] : [];
}

interface Moment {
  readonly at: number;
  readonly write: Write;
}

/** Writes that everybody must see from then on: their tasks were shown as finished. */
function shownEnds(writes: readonly Write[], ends: ReadonlyMap<string, TaskLook>): Moment[] {
  return writes.flatMap((write) => {
    const end = write.taskIds.map((id) => ends.get(id)).find((one) => one?.status === 'FINISHED');
    return end === undefined ? [] : [{ at: end.endedAt, write }];
  });
}

/** No read shows what was accepted before a write began that somebody had seen, or been told of, before the read began. */
function checkOrder(
  reads: readonly Read[],
  known: ReadonlyMap<string, Write>,
  shown: readonly Moment[],
): string[] {
  const seen = reads.flatMap(({ values: [value = ''], endedAt }) => {
    const write = known.get(value);
    return write === undefined ? [] : [{ at: endedAt, write }];
  });
  const newestBefore = newestOf([...seen, ...shown]);
  return reads
    .toSorted((a, b) => a.begunAt - b.begunAt)
    .flatMap(({ values: [value], begunAt }) => {
      const newest = newestBefore(begunAt);
      // Of a value that nobody wrote another check tells.
      const acceptedAt = value === undefined ? -1 : (known.get(value)?.endedAt ?? begunAt);
      if (newest === undefined || acceptedAt >= newest.begunAt) return [];
      return [`${value ?? 'nothing'} was read after ${newest.value} had taken effect`];
    });
}

/** @returns the write that began last of those that had taken effect at a time; asked for later and later times */
function newestOf(moments: readonly Moment[]): (time: number) => Write | undefined {
  const sorted = moments.toSorted((a, b) => a.at - b.at);
  let next = 0;
  let newest: Write | undefined;
  return (time) => {
    for (let one = sorted[next]; one !== undefined && one.at < time; one = sorted[next]) {
      if (newest === undefined || one.write.begunAt > newest.begunAt) newest = one.write;
      next += 1;
    }
    return newest;
  };
}

/** A value with the time for which it was there: from its first certain moment to its last. */
interface Zone {
  readonly value: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Each value is there once and for one time. Source: Gibbons and Korach, Testing Shared Memories (1997): of values that are written
 * once, times that are certain do not overlap, and no other value is read wholly within one.
 */
function checkTurns(
  writes: readonly Write[],
  reads: readonly Read[],
  ends: ReadonlyMap<string, TaskLook>,
): string[] {
  const readsOf = Map.groupBy(reads, ({ values }) => values[0]);
  const zones = writes
    .filter(({ outcome }) => outcome !== 'refused')
    .map((write) => zoneOf(write, readsOf.get(write.value) ?? [], ends))
    .filter(({ from }) => from < Number.POSITIVE_INFINITY);
  const certain = zones.filter(({ from, to }) => from < to).sort((a, b) => a.from - b.from);
  const faults = certain.flatMap((zone, at) => {
    const next = certain[at + 1];
    return next !== undefined && next.from < zone.to ? [twice(zone, next)] : [];
  });
  for (const { value, from, to } of zones.filter((zone) => zone.from >= zone.to)) {
    const around = certain.find((zone) => zone.from < to && from < zone.to);
    if (around !== undefined) faults.push(twice(around, { value }));
  }
  return faults;
}

const twice = ({ value }: Zone, between: { value: string }) =>
  `${value} was there before and after ${between.value}`;

function zoneOf(
  { value, begunAt, taskIds }: Write,
  own: readonly Read[],
  ends: ReadonlyMap<string, TaskLook>,
): Zone {
  const shown = taskIds.map((id) => ends.get(id)?.endedAt ?? Number.POSITIVE_INFINITY);
  return {
    value,
    from: Math.min(...shown, ...own.map(({ endedAt }) => endedAt)),
    to: Math.max(begunAt, ...own.map((read) => read.begunAt)),
  };
}
