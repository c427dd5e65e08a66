/** Does the work of a write once for each `Idempotency-Key`. Source: docs/interface §7.5. */
import type { FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type FailureCode, ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { type AnswerKey, findAnswer, packAnswer, saveAnswer, unpackAnswer } from './answer-store.ts';
import { type DigestElsewhere, digestRequest, hashRequest } from './request-digest.ts';

/** Stores the answer in the transaction of the change, so that a crash keeps both or neither. */
export type RecordAnswer<Answer> = (tx: ControlTransaction, answer: Answer) => Promise<void>;

/** Throws a refusal if the first answer is no longer true when it would be repeated. */
type CheckRepeated<Answer> = (answer: Answer) => Promise<void>;

/** Does the work of a write once for each `Idempotency-Key`. A repetition gets the first answer. */
export type AnswerOnce = <Answer extends object>(
  request: FastifyRequest,
  work: (record: RecordAnswer<Answer>) => Promise<Answer>,
  checkRepeated?: CheckRepeated<Answer>,
) => Promise<Answer>;

const STORED_MS = 24 * 3_600_000;
/** Codes which mean that the store does not answer at present. */
const AWAY: ReadonlySet<string> = new Set<FailureCode>([
  'not_ready',
  'schema_moved',
  'storage_full',
  'storage_failed',
]);

/** Thrown to roll the work back, because another process has done it. */
class AnsweredElsewhere extends Error {
  override readonly name = 'AnsweredElsewhere';
}

interface KeyedRequest extends AnswerKey {
  readonly requestHash: string;
}

interface Answered<Answer> {
  readonly answer: Answer;
  readonly isRepeated: boolean;
}

/** Finds, for a repetition, the answer of this or another process to the first request. */
class FirstAnswers {
  private readonly database: Database;
  private readonly clock: Clock;
  /** Requests with keys that are in progress, so their answers are not stored yet. */
  private readonly underWay = new Map<
    string,
    { readonly requestHash: string; readonly answered: Promise<Answered<object>> }
  >();

  constructor(database: Database, clock: Clock) {
    this.database = database;
    this.clock = clock;
  }

  /**
   * @returns the answer of the first request with this key, which does the work
   * @throws idempotency_key_reused
   */
  async answer<Answer extends object>(
    keyed: KeyedRequest,
    work: (record: RecordAnswer<Answer>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const key = `${keyed.caller} ${keyed.idempotencyKey}`;
    const first = this.underWay.get(key);
    if (first !== undefined) {
      refuseOther(first.requestHash, keyed.requestHash);
      const { answer } = await first.answered;
      return { answer: answer as Answer, isRepeated: true };
    }
    const answered = this.answerKeyed(keyed, work);
    this.underWay.set(key, { requestHash: keyed.requestHash, answered });
    return answered.finally(() => this.underWay.delete(key));
  }

  private async answerKeyed<Answer extends object>(
    keyed: KeyedRequest,
    work: (record: RecordAnswer<Answer>) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const stored = await this.find<Answer>(keyed);
    if (stored !== undefined) return { answer: stored, isRepeated: true };
    try {
      return { answer: await work((tx, answer) => this.record(tx, keyed, answer)), isRepeated: false };
    } catch (error) {
      return { answer: await this.findInstead<Answer>(keyed, error), isRepeated: true };
    }
  }

  private async find<Answer extends object>(keyed: KeyedRequest): Promise<Answer | undefined> {
    const first = await findAnswer(this.database, { ...keyed, since: this.clock.now() - STORED_MS });
    if (first === undefined) return undefined;
    refuseOther(first.requestHash, keyed.requestHash);
    return (await unpackAnswer(first.answer)) as Answer;
  }

  private async record(tx: ControlTransaction, keyed: KeyedRequest, answer: object): Promise<void> {
    const now = this.clock.now();
    const row = { ...keyed, answer: await packAnswer(answer), now, since: now - STORED_MS };
    if (!(await saveAnswer(tx, row))) throw new AnsweredElsewhere();
  }

  /** Looks for the answer of another process, whose work may be the reason why this work failed. */
  private async findInstead<Answer extends object>(keyed: KeyedRequest, error: unknown): Promise<Answer> {
    if (!mayBeAnswered(error)) throw error;
    const stored = await this.find<Answer>(keyed);
    if (stored !== undefined) return stored;
    // The answer has just expired, so a retry counts as the first request again.
    throw error instanceof AnsweredElsewhere
      ? new ServiceError('not_ready', { retryAfterSeconds: 1 })
      : error;
  }
}

/**
 * @param digestElsewhere the parsing threads; by default this thread, for a server that only describes its routes
 * @throws idempotency_key_reused when the key was sent with a different request before
 */
export function createAnswerOnce(
  database: Database,
  clock: Clock,
  digestElsewhere: DigestElsewhere = async (request) => digestRequest(request),
): AnswerOnce {
  const first = new FirstAnswers(database, clock);
  return async (request, work, checkRepeated) => {
    const idempotencyKey = readIdempotencyKey(request);
    if (idempotencyKey === undefined) return work(async () => {});
    const requestHash = await hashRequest(request, digestElsewhere);
    const keyed = { caller: nameCaller(request.caller), idempotencyKey, requestHash };
    const { answer, isRepeated } = await first.answer(keyed, work);
    if (isRepeated) await checkRepeated?.(answer);
    request.isRepeated = isRepeated;
    return answer;
  };
}

/** @returns undefined for a request without the header @throws query_invalid */
function readIdempotencyKey({ method, headers, routeOptions }: FastifyRequest): string | undefined {
  // Without the mark, docs/openapi.json would not describe the header.
  if (routeOptions.config.isOnce !== true)
    throw new Error(`${method} ${routeOptions.url} must be marked with isOnce`);
  const key = headers['idempotency-key'];
  if (typeof key !== 'string' || key === '') return undefined;
  if (key.length <= 255) return key;
  throw new ServiceError('query_invalid', 'Idempotency-Key must not have more than 255 characters');
}

function mayBeAnswered(error: unknown): boolean {
  return error instanceof AnsweredElsewhere || (error instanceof ServiceError && !AWAY.has(error.code));
}

function refuseOther(firstHash: string, requestHash: string): void {
  if (firstHash !== requestHash) throw new ServiceError('idempotency_key_reused');
}
