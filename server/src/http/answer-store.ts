import type { ControlTransaction, Database } from '../storage/storage.ts';

/** @returns the first answer to this key since then; undefined when there is none. */
export async function findAnswer(
  database: Database,
  wanted: { apiKeyId: number; idempotencyKey: string; since: number },
): Promise<{ requestHash: string; answer: string } | undefined> {
  return database.read
    .selectFrom('idempotent_answer')
    .select(['request_hash as requestHash', 'answer'])
    .where('api_key_id', '=', wanted.apiKeyId)
    .where('idempotency_key', '=', wanted.idempotencyKey)
    .where('created_at', '>', wanted.since)
    .executeTakeFirst();
}

export async function saveAnswer(
  tx: ControlTransaction,
  row: { apiKeyId: number; idempotencyKey: string; requestHash: string; answer: string; now: number },
): Promise<void> {
  await tx
    .replaceInto('idempotent_answer')
    .values({
      api_key_id: row.apiKeyId,
      idempotency_key: row.idempotencyKey,
      request_hash: row.requestHash,
      answer: row.answer,
      created_at: row.now,
    })
    .execute();
}

/** Answers are kept for 24 hours. Source: docs/interface.md §7.5. */
export async function dropAnswersBefore(database: Database, before: number): Promise<void> {
  await database.write((tx) => tx.deleteFrom('idempotent_answer').where('created_at', '<', before).execute());
}
