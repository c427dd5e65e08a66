/** The door of bodies: the bytes of requests, with limits for their size, their time and the memory that they share. */

export {
  BEGINNING_BYTES,
  brokeOff,
  type IncomingPayload,
  MIB,
  type RawBody,
  readBody,
  streamBody,
} from './body.ts';
export {
  createBodyChecks,
  createParameterChecks,
  JSON_LIMITS,
  type JsonTerms,
  joinTwins,
  jsonOperations,
  type ReadElsewhere,
  readJsonBody,
  refuseBody,
  takeNoBody,
} from './json-body.ts';
export { type HeldMemory, MemoryBudget } from './memory-budget.ts';
