/**
 * The door of timeline: a continuous backup as one line of states, which the names of the objects in a target describe.
 * This room decides who may continue the line, what a restore needs, and which objects are too old. Source:
 * docs/decisions/0034-continuous-backup.md.
 */
export {
  askForHandover,
  HANDOVER_MS,
  type HeldLease,
  handoverOf,
  LEASE_MS,
  leaseNameOf,
  listLeases,
  PATIENCE_MS,
  RENEW_MS,
  readHandover,
  readLease,
  renewLease,
  takeLease,
} from './leases.ts';
export { keepHouse, type Retention, removeBroken } from './retention.ts';
export {
  findBase,
  findLast,
  findPath,
  hourOf,
  KINDS,
  type Lease,
  listPoints,
  nameOf,
  planRestore,
  type Span,
  spansOf,
} from './spans.ts';
export { findMissing, inspectTarget, MissingObject, refuseOther } from './target-check.ts';
export { listSpans, readLine, readSpanObject } from './timeline-reads.ts';
