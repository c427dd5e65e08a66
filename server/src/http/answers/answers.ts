/**
 * The door of answers: refusals with their status and text, answers kept for an `Idempotency-Key`, ETags.
 */
export { type AnswerOnce, createAnswerOnce, type RecordAnswer } from './answer-once.ts';
export { dropAnswersBefore } from './answer-store.ts';
export {
  byType,
  DoneAnswer,
  done,
  ErrorAnswer,
  Id,
  ListQuery,
  ProjectParams,
  ProjectQuery,
  projectIdOf,
} from './common-schemas.ts';
export { describeRefusal, type FailureBody, REASONS, type Reason, replyWithError } from './error-mapper.ts';
export { hasAlready, IfMatch, readIfMatch, sendMark } from './if-match.ts';
export { cutPage, PageQuery } from './pages.ts';
export { describeSchemaErrors } from './schema-errors.ts';
