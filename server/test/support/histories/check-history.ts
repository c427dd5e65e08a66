/**
 * The clients' view of projects in which each write gives all products one new value. The check verifies that the
 * service kept its promises (docs/interface §3.3, §7.5). All times are from one clock, in ms.
 */
export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly looks: readonly TaskLook[];
}

interface Call {
  readonly project: number;
  readonly begunAt: number;
  /** The time of the answer. */
  readonly endedAt: number;
}

/** A write with all its attempts, which share an idempotency key. */
export interface Write extends Call {
  readonly value: string;
  readonly outcome: 'accepted' | 'refused' | 'unknown';
  /** One entry for each answered attempt. */
  readonly taskIds: readonly string[];
}

export interface Read extends Call {
  /** The value of each product. */
  readonly values: readonly string[];
}

/** An answer about a task. */
export interface TaskLook extends Call {
  readonly taskId: string;
  readonly status: string;
  /** The reason of its failure. */
  readonly error?: string;
}

const ENDS: ReadonlySet<string> = new Set(['FINISHED', 'FAILED', 'CANCELLED']);

/** @returns the broken promises in words. The last reads of tasks must be made after everything has recovered. */
export function checkHistory({ writes, reads, looks }: History): string[] {
  const projects = new Set(writes.map(({ project }) => project));
  const ends = findEnds(looks);
  return [
    ...[...projects].flatMap((project) => {
      const own = <One extends Call>(calls: readonly One[]) =>
        calls.filter((call) => call.project === project);
      return checkProject(own(writes), own(reads), ends);
    }),
    ...checkWrites(writes, ends),
    ...checkEnds(looks),
  ];
}

/** @returns for each task the first read that showed its end */
function findEnds(looks: readonly TaskLook[]): ReadonlyMap<string, TaskLook> {
  const ends = new Map<string, TaskLook>();
  for (const look of looks) {
    const earlier = ends.get(look.taskId);
    if (ENDS.has(look.status) && !(earlier && earlier.endedAt <= look.endedAt)) ends.set(look.taskId, look);
  }
  return ends;
}

/** An accepted write is one task, which succeeds. */
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

/** Once a read showed the end of a task, later reads show the same end. */
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
  const writeByValue = new Map(writes.map((write) => [write.value, write]));
  return [
    ...torn.map(({ values }) => `a read saw several versions: ${[...new Set(values)].join(', ')}`),
    ...whole.flatMap((read) => checkSource(read, writeByValue)),
    ...checkOrder(whole, writeByValue, shownEnds(writes, ends)),
    ...checkTurns(writes, whole, ends),
  ];
}

/** A read value was sent before, and not refused. */
function checkSource({ values: [value], endedAt }: Read, writeByValue: ReadonlyMap<string, Write>): string[] {
  if (value === undefined) return [];
  const write = writeByValue.get(value);
  if (write === undefined) return [`${value} was read but never written`];
  if (write.outcome === 'refused') return [`${value} was refused but read`];
  return write.begunAt > endedAt ? [`${value} was read before it was written`] : [];
}

interface Moment {
  readonly instant: number;
  readonly write: Write;
}

/** Writes that every later read must show: their tasks were shown as finished. */
function shownEnds(writes: readonly Write[], ends: ReadonlyMap<string, TaskLook>): Moment[] {
  return writes.flatMap((write) => {
    const end = write.taskIds.map((id) => ends.get(id)).find((taskId) => taskId?.status === 'FINISHED');
    return end === undefined ? [] : [{ instant: end.endedAt, write }];
  });
}

/**
 * If a read of products or tasks before this read showed a write, this read shows no value accepted before that write
 * began.
 */
function checkOrder(
  reads: readonly Read[],
  writeByValue: ReadonlyMap<string, Write>,
  shown: readonly Moment[],
): string[] {
  const seen = reads.flatMap(({ values: [value = ''], endedAt }) => {
    const write = writeByValue.get(value);
    return write === undefined ? [] : [{ instant: endedAt, write }];
  });
  const newestBefore = newestOf([...seen, ...shown]);
  return reads
    .toSorted((a, b) => a.begunAt - b.begunAt)
    .flatMap(({ values: [value], begunAt }) => {
      const newest = newestBefore(begunAt);
      // Values that were never written are the subject of another check.
      const acceptedAt = value === undefined ? -1 : (writeByValue.get(value)?.endedAt ?? begunAt);
      if (newest === undefined || acceptedAt >= newest.begunAt) return [];
      return [`${value ?? 'nothing'} was read after ${newest.value} had taken effect`];
    });
}

/** @returns the write in effect at a time that began last. Callers must ask for increasing times. */
function newestOf(moments: readonly Moment[]): (time: number) => Write | undefined {
  const sorted = moments.toSorted((a, b) => a.instant - b.instant);
  let next = 0;
  let newest: Write | undefined;
  return (time) => {
    for (let moment = sorted[next]; moment !== undefined && moment.instant < time; moment = sorted[next]) {
      if (newest === undefined || moment.write.begunAt > newest.begunAt) newest = moment.write;
      next += 1;
    }
    return newest;
  };
}

/** A value with the time during which it certainly existed, from the first moment to the last. */
interface Zone {
  readonly value: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Each value exists once, for one period. Source: Gibbons and Korach, Testing Shared Memories (1997): if each value is written
 * once, certain periods do not overlap, and no other value is read entirely within one.
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
  const faults = certain.flatMap((zone, index) => {
    const next = certain[index + 1];
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
