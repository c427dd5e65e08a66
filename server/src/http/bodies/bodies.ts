/**
 * The door of bodies: bytes of requests, bounded in size, time and the memory they share.
 */

export {
  BEGINNING_BYTES,
  brokeOff,
  type IncomingPayload,
  MIB,
  type RawBody,
  readBody,
  streamBody,
} from './body.ts';
export { createBodyChecks, createParameterChecks, joinTwins, refuseBody, takeNoBody } from './body-check.ts';
export {
  JSON_LIMITS,
  type JsonTerms,
  jsonOperations,
  type ReadElsewhere,
  readJsonBody,
} from './json-body.ts';
export { createMemoryBudget, type HeldMemory, type MemoryBudget } from './memory-budget.ts';
