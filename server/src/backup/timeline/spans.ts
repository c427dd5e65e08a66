/**
 * The contents of a target, according to the names of its objects. A segment contains the changes that were committed
 * in all files of the data directory since the previous segment, up to one instant. An hour merges the segments of an
 * hour. A base is a copy of every file. The names contain everything that a restore has to know before it reads
 * objects.
 */

export const KINDS = ['bases', 'hours', 'segments'] as const;

/** An object that leads from one state of the directory to another. */
export interface Span {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  /**
   * The number of the segment that it follows. For a base: the segment after which other objects must also be applied.
   */
  readonly from: number;
  /** The number of its last segment. For a base: the segment from which it is valid. */
  readonly to: number;
  readonly epoch: number;
  /** The instant of its last segment, in epoch milliseconds. */
  readonly at: number;
}

/**
 * The permission to write. The holder of the lease with the highest epoch writes. Its segments follow the segment
 * `from` of the previous holders.
 */
export interface Lease {
  readonly epoch: number;
  readonly holder: string;
  readonly at: number;
  readonly from: number;
  /**
   * The last segment that the holder had written when it last renewed the lease. A target without this segment has lost
   * objects.
   */
  readonly sent?: { readonly to: number; readonly at: number } | undefined;
}

export const HOUR_MS = 3_600_000;

const digits = (value: number, width: number) => String(value).padStart(width, '0');

export const hourOf = (instant: number) => digits(Math.floor(instant / HOUR_MS), 7);

export function nameOf({ kind, from, to, epoch, at }: Omit<Span, 'name'>): string {
  const name = [digits(from, 12), digits(to, 12), digits(epoch, 6), digits(at, 13)].join('-');
  return `${kind}/${hourOf(at)}/${name}`;
}

const NAME = /^(bases|hours|segments)\/\d+\/(\d+)-(\d+)-(\d+)-(\d+)$/;

/** @returns undefined for a name that is not an object of a backup */
export function readSpan(name: string): Span | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [from = 0, to = 0, epoch = 0, at = 0] = match.slice(2).map(Number);
  return { name, kind: match[1] as Span['kind'], from, to, epoch, at };
}

/**
 * @param until the last instant that may be included; undefined: everything
 * @returns undefined if nothing can be restored
 */
export function planRestore(spans: readonly Span[], leases: readonly Lease[], until = Infinity) {
  const lease = leases.filter((candidate) => candidate.at <= until).reduce(later, leases[0]);
  if (lease === undefined) return undefined;
  const line = spansOf(spans, leases, lease.epoch).filter((span) => span.at <= until);
  const last = line.filter(({ kind }) => kind !== 'bases').reduce(furthest, undefined);
  if (last === undefined) return undefined;
  // If a missing object makes a base unusable, an earlier base is used.
  for (const base of line
    .filter(({ kind, to }) => kind === 'bases' && to <= last.to)
    .sort((a, b) => b.from - a.from || b.to - a.to)) {
    const path = findPath(line, base);
    const end = path.at(-1);
    if (end !== undefined && end.to >= base.to)
      return {
        /** In the order in which they are applied. */
        spans: [base, ...path],
        to: end.to,
        epoch: lease.epoch,
        at: end.at,
        /** The last instant that the target names, if objects on the way to it are missing. */
        ...lostAfter(end, [last, ...listSent(leases, lease.epoch, until)]),
      };
  }
  return undefined;
}

/** @returns the last segments that the leases of the line up to an epoch name */
const listSent = (leases: readonly Lease[], epoch: number, until: number) =>
  leases.flatMap(({ sent, epoch: own }) => {
    if (sent === undefined || own > epoch || sent.at > until) return [];
    // Segments that a holder sent after the next holder had taken over do not count.
    const next = leases.find((candidate) => candidate.epoch === own + 1 && candidate.epoch <= epoch);
    return [{ to: Math.min(sent.to, next?.from ?? Infinity), at: sent.at }];
  });

function lostAfter(end: Pick<Span, 'to'>, ends: readonly Pick<Span, 'to' | 'at'>[]): { lostAt?: number } {
  const later = ends.filter(({ to }) => to > end.to).map(({ at }) => at);
  return later.length === 0 ? {} : { lostAt: Math.max(...later) };
}

const later = (first: Lease | undefined, second: Lease): Lease =>
  first === undefined || second.epoch > first.epoch ? second : first;

/**
 * Of two objects with the same number, the later one is used. It was written because the writer did not know whether
 * the first had arrived.
 */
const furthest = (first: Span | undefined, second: Span): Span =>
  first === undefined || second.to > first.to || (second.to === first.to && second.at > first.at)
    ? second
    : first;

/**
 * @returns the spans that lead to the state of an epoch, without the spans that a former writer wrote after it had lost
 * the lease
 */
export const spansOf = (spans: readonly Span[], leases: readonly Lease[], epoch: number): Span[] =>
  spans.filter(
    (span) =>
      span.epoch <= epoch &&
      leases.every((next) => next.epoch <= span.epoch || next.epoch > epoch || span.to <= next.from),
  );

/** @returns the spans that continue from a state, up to the first gap */
export function findPath(line: readonly Span[], { from: position }: Pick<Span, 'from'>): Span[] {
  const path: Span[] = [];
  const steps = line.filter(({ kind }) => kind !== 'bases').sort((a, b) => a.from - b.from);
  for (let [reached, index] = [position, 0]; ; ) {
    let next: Span | undefined;
    for (; index < steps.length && (steps[index] as Span).from <= reached; index += 1)
      if ((steps[index] as Span).to > reached) next = furthest(next, steps[index] as Span);
    if (next === undefined) return path;
    path.push(next);
    reached = next.to;
  }
}

/** @returns in order the segments and hours at whose instants the directory can be restored */
export function listPoints(spans: readonly Span[], leases: readonly Lease[]): Span[] {
  const points = leases.flatMap(({ epoch }) => {
    const next = leases.find((candidate) => candidate.epoch === epoch + 1)?.at ?? Number.POSITIVE_INFINITY;
    const line = spansOf(spans, leases, epoch);
    const steps = line.filter(({ kind }) => kind !== 'bases').sort((a, b) => a.to - b.to || a.at - b.at);
    const bases = line.filter(({ kind }) => kind === 'bases');
    return bases.flatMap((base) => listReached(base, steps)).filter(({ at }) => at < next);
  });
  return [...new Set(points)].sort((a, b) => a.at - b.at);
}

/** @param steps sorted by their ends */
function listReached(base: Span, steps: readonly Span[]): Span[] {
  const reached: Span[] = [];
  let position = base.from;
  for (const step of steps.filter(({ to }) => to > base.from)) {
    if (step.from > position) break;
    position = step.to;
    if (position >= base.to) reached.push(step);
  }
  return reached;
}

/** @returns the span that leads furthest */
export const findLast = (line: readonly Span[]): Span | undefined =>
  line
    .filter(({ kind }) => kind !== 'bases')
    .reduce<Span | undefined>(
      (first, second) => (first && first.to >= second.to ? first : second),
      undefined,
    );

/** @returns the base with which restores begin */
export const findBase = (line: readonly Span[], upTo: number): Span | undefined =>
  line
    .filter(({ kind, from }) => kind === 'bases' && from <= upTo)
    .sort((a, b) => a.from - b.from || a.to - b.to)
    .at(-1);
