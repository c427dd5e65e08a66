/**
 * The door of answers: refusals with their status and text, answers kept for an `Idempotency-Key`, ETags.
 */
export { type AnswerOnce, createAnswerOnce, type RecordAnswer } from './answer-once.ts';
export { dropAnswersBefore } from './answer-store.ts';
export {
  byType,
  cutPage,
  DoneAnswer,
  done,
  ErrorAnswer,
  hasAlready,
  Id,
  IfMatch,
  Instant,
  ListQuery,
  Name,
  oneOf,
  orNull,
  PageQuery,
  ProjectParams,
  ProjectQuery,
  pageOf,
  projectIdOf,
  readIfMatch,
  sendMark,
} from './common-schemas.ts';
export {
  describeRefusal,
  describeSchemaErrors,
  type FailureBody,
  REASONS,
  type Reason,
  replyWithError,
} from './error-mapper.ts';
