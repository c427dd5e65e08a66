import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { sql } from 'kysely';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';

/** An idempotency key together with its sender. */
export interface AnswerKey {
  /** `key ID` or `user ID`. */
  readonly caller: string;
  readonly idempotencyKey: string;
}

/** @returns the first answer for this key since the given time; undefined if there is none */
export async function findAnswer(database: Database, key: AnswerKey & { since: number }) {
  return database.read
    .selectFrom('idempotent_answer')
    .select(['request_hash as requestHash', 'answer'])
    .where((is) => is.and({ caller: key.caller, idempotency_key: key.idempotencyKey }))
    .where('created_at', '>', key.since)
    .executeTakeFirst();
}

/**
 * Stores the answer unless one was stored since the given time. Waits for another transaction that is storing one.
 * @returns whether it was stored
 */
export async function saveAnswer(
  tx: ControlTransaction,
  row: AnswerKey & { requestHash: string; answer: string; since: number; now: number },
): Promise<boolean> {
  const columns = { request_hash: row.requestHash, answer: row.answer, created_at: row.now };
  const stored = await tx
    .insertInto('idempotent_answer')
    .values({ caller: row.caller, idempotency_key: row.idempotencyKey, ...columns })
    .onConflict((conflict) =>
      conflict
        .columns(['caller', 'idempotency_key'])
        .doUpdateSet(columns)
        .where('idempotent_answer.created_at', '<=', row.since),
    )
    .returning('caller')
    .executeTakeFirst();
  return stored !== undefined;
}

/** The limit for the stored answers of one API key or user. Source: docs/interface §7.5. */
const BYTES_OF_CALLER = 64 * 1024 * 1024;
/** The approximate size of a row without its answer. */
const BYTES_OF_ROW = 512;

/**
 * Removes answers older than 24 hours, and the oldest answers of a caller whose answers exceed the limit. Source:
 * docs/interface §7.5.
 */
export async function dropAnswersBefore(database: Database, before: number, bytesOfCaller = BYTES_OF_CALLER) {
  await database.write('rows', async (tx) => {
    await tx.deleteFrom('idempotent_answer').where('created_at', '<', before).execute();
    const bytes = sql`octet_length(answer) + octet_length(idempotency_key) + ${sql.lit(BYTES_OF_ROW)}`;
    await sql`delete from idempotent_answer where (caller, idempotency_key) in (
        select caller, idempotency_key from (
          select caller, idempotency_key,
            sum(${bytes}) over (partition by caller order by created_at desc, idempotency_key) as bytes
          from idempotent_answer where caller in (
            select caller from idempotent_answer group by caller having sum(${bytes}) > ${bytesOfCaller}
          )
        ) as sized where bytes > ${bytesOfCaller}
      )`.execute(tx);
  });
}

/**
 * Packs large answers for storage. Many answers repeat the body of the request, which may have been packed to a
 * hundredth of its size. So an unpacked answer could be much larger than the request.
 */
const PLAIN_CHARACTERS = 4 * 1024;
/** In base64 characters. Source: docs/interface §8. */
const LARGEST_PACKED = 256 * 1024;
/** Prefixes of stored texts that are not JSON. No JSON text begins with these letters. */
const [PACKED, NOT_STORED] = ['packed ', 'not kept'];

export async function packAnswer(answer: object): Promise<string> {
  const text = JSON.stringify(answer);
  if (text.length <= PLAIN_CHARACTERS) return text;
  const packed = (await promisify(deflate)(text)).toString('base64');
  return packed.length <= LARGEST_PACKED ? `${PACKED}${packed}` : NOT_STORED;
}

/** @throws answer_not_kept */
export async function unpackAnswer(stored: string): Promise<object> {
  if (stored === NOT_STORED) throw new ServiceError('answer_not_kept');
  if (!stored.startsWith(PACKED)) return JSON.parse(stored);
  const text = await promisify(inflate)(Buffer.from(stored.slice(PACKED.length), 'base64'));
  return JSON.parse(text.toString());
}
