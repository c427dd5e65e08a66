import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type FailureCode, ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import { findAnswer, packAnswer, saveAnswer, unpackAnswer } from './answer-store.ts';

/** Writes the answer beside what it answers, in the same transaction, so that a crash keeps both or neither. */
export type RecordAnswer<Answer> = (tx: ControlTransaction, answer: Answer) => Promise<void>;

/** Runs the work of a write once per `Idempotency-Key` and answers a repetition with the first answer. */
export type AnswerOnce = <Answer extends object>(
  request: FastifyRequest,
  work: (record: RecordAnswer<Answer>) => Promise<Answer>,
) => Promise<Answer>;

const noRecord: RecordAnswer<object> = async () => {};
const STORED_MS = 24 * 3_600_000;
/** Nothing can be asked of the store now. */
const AWAY: ReadonlySet<string> = new Set<FailureCode>([
  'not_ready',
  'schema_moved',
  'storage_full',
  'storage_failed',
]);
/** It has just become as old as an answer becomes: the next request is the first. */
const ANSWER_GONE = { retryAfterSeconds: 1 };

/** Rolls the work back: another process did it meanwhile. */
class AnsweredElsewhere extends Error {
  override readonly name = 'AnsweredElsewhere';
}

interface KeyedRequest {
  readonly caller: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
}

/** Source: docs/interface.md §7.5. @throws idempotency_key_reused when the key came with another request before */
export function createAnswerOnce(database: Database, clock: Clock): AnswerOnce {
  const underWay = new Map<string, { requestHash: string; answer: Promise<object> }>();

  async function find<Answer extends object>(keyed: KeyedRequest): Promise<Answer | undefined> {
    const known = await findAnswer(database, { ...keyed, since: clock.now() - STORED_MS });
    if (known === undefined) return undefined;
    refuseOther(known.requestHash, keyed.requestHash);
    return (await unpackAnswer(known.answer)) as Answer;
  }

  const recordAs =
    (keyed: KeyedRequest): RecordAnswer<object> =>
    async (tx, given) => {
      const now = clock.now();
      const row = { ...keyed, answer: await packAnswer(given), now, since: now - STORED_MS };
      if (!(await saveAnswer(tx, row))) throw new AnsweredElsewhere();
    };

  /** Another process may have done the work meanwhile, which can be why it failed here. */
  async function findInstead<Answer extends object>(keyed: KeyedRequest, error: unknown): Promise<Answer> {
    if (!mayBeAnswered(error)) throw error;
    const stored = await find<Answer>(keyed);
    if (stored !== undefined) return stored;
    throw error instanceof AnsweredElsewhere ? new ServiceError('not_ready', ANSWER_GONE) : error;
  }

  async function answerKeyed<Answer extends object>(
    keyed: KeyedRequest,
    work: (record: RecordAnswer<Answer>) => Promise<Answer>,
    onRepeated: () => void,
  ): Promise<Answer> {
    const known = await find<Answer>(keyed);
    if (known === undefined) {
      try {
        return await work(recordAs(keyed));
      } catch (error) {
        const stored = await findInstead<Answer>(keyed, error);
        onRepeated();
        return stored;
      }
    }
    onRepeated();
    return known;
  }

  return async <Answer extends object>(
    request: FastifyRequest,
    work: (record: RecordAnswer<Answer>) => Promise<Answer>,
  ) => {
    const idempotencyKey = request.headers['idempotency-key'];
    if (typeof idempotencyKey !== 'string' || idempotencyKey === '') return work(noRecord);
    if (idempotencyKey.length > 255) {
      throw new ServiceError('query_invalid', 'Idempotency-Key must not have more than 255 characters');
    }
    const keyed = { caller: nameCaller(request.caller), idempotencyKey, requestHash: hashRequest(request) };
    const place = `${keyed.caller} ${idempotencyKey}`;
    const first = underWay.get(place);
    if (first !== undefined) {
      refuseOther(first.requestHash, keyed.requestHash);
      const shared = (await first.answer) as Answer;
      request.isRepeated = true;
      return shared;
    }
    const answer = answerKeyed(keyed, work, () => {
      request.isRepeated = true;
    });
    underWay.set(place, { requestHash: keyed.requestHash, answer });
    try {
      return await answer;
    } finally {
      underWay.delete(place);
    }
  };
}

function mayBeAnswered(error: unknown): boolean {
  return error instanceof AnsweredElsewhere || (error instanceof ServiceError && !AWAY.has(error.code));
}

function refuseOther(firstHash: string, requestHash: string): void {
  if (firstHash !== requestHash) throw new ServiceError('idempotency_key_reused');
}

function hashRequest(request: FastifyRequest): string {
  // The project of a path is in the path.
  const projectId = request.routeOptions.config.guard === 'project' ? request.project.id : 0;
  const hash = createHash('sha256').update(`${request.method} ${request.url.split('?', 1)[0]} ${projectId} `);
  const query = Object.entries(request.query as object).filter(([name]) => name !== 'apiKey');
  hash.update(JSON.stringify(query.sort(([a], [b]) => (a < b ? -1 : 1))));
  return hash.update(request.rawBody?.bytes ?? request.bodyDigest ?? '').digest('hex');
}
