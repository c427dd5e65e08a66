import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ControlTransaction, Database } from '../storage/storage.ts';
import { findAnswer, saveAnswer } from './answer-store.ts';

/** Writes the answer beside what it answers, in the same transaction, so that a crash keeps both or neither. */
export type RecordAnswer = (tx: ControlTransaction, answer: object) => Promise<void>;

/** Runs the work of a write once per `Idempotency-Key` and answers a repetition with the first answer. */
export type AnswerOnce = <Answer extends object>(
  request: FastifyRequest,
  work: (record: RecordAnswer) => Promise<Answer>,
) => Promise<Answer>;

const noRecord: RecordAnswer = async () => {};

/** Source: docs/interface.md §7.5. @throws idempotency_key_reused when the key came with another request before */
export function createAnswerOnce(database: Database, clock: Clock): AnswerOnce {
  const underWay = new Map<string, { requestHash: string; answer: Promise<object> }>();

  return async <Answer extends object>(
    request: FastifyRequest,
    work: (record: RecordAnswer) => Promise<Answer>,
  ) => {
    const idempotencyKey = request.headers['idempotency-key'];
    if (typeof idempotencyKey !== 'string' || idempotencyKey === '') return work(noRecord);
    if (idempotencyKey.length > 255) {
      throw new ServiceError('query_invalid', {
        details: ['Idempotency-Key must not have more than 255 characters'],
      });
    }
    const requestHash = hashRequest(request);
    const apiKeyId = request.caller.keyId;
    const first = underWay.get(`${apiKeyId} ${idempotencyKey}`);
    if (first !== undefined) {
      refuseOther(first.requestHash, requestHash);
      return first.answer as Promise<Answer>;
    }
    const answer = (async () => {
      const known = await findAnswer(database, {
        apiKeyId,
        idempotencyKey,
        since: clock.now() - 24 * 3_600_000,
      });
      if (known !== undefined) {
        refuseOther(known.requestHash, requestHash);
        return JSON.parse(known.answer) as Answer;
      }
      return work((tx, given) =>
        saveAnswer(tx, {
          apiKeyId,
          idempotencyKey,
          requestHash,
          answer: JSON.stringify(given),
          now: clock.now(),
        }),
      );
    })();
    underWay.set(`${apiKeyId} ${idempotencyKey}`, { requestHash, answer });
    try {
      return await answer;
    } finally {
      underWay.delete(`${apiKeyId} ${idempotencyKey}`);
    }
  };
}

function refuseOther(firstHash: string, requestHash: string): void {
  if (firstHash !== requestHash) throw new ServiceError('idempotency_key_reused');
}

function hashRequest(request: FastifyRequest): string {
  const hash = createHash('sha256').update(
    `${request.method} ${request.url.split('?', 1)[0]} ${request.project?.id ?? 0} `,
  );
  const query = Object.entries(request.query as object).filter(([name]) => name !== 'apiKey');
  hash.update(JSON.stringify(query.sort(([a], [b]) => (a < b ? -1 : 1))));
  return hash.update(request.rawBody?.bytes ?? '').digest('hex');
}
