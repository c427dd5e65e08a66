import { type RawBuilder, sql } from 'kysely';
import { ServiceError } from '../../kernel/errors.ts';
import type { Database } from '../storage.ts';
import type { SealedPlace, Secrets } from './secrets.ts';

/** A column that holds sealed texts, or null. */
export interface SealedColumn extends Omit<SealedPlace, 'row'> {
  /** The columns of the table's key. */
  readonly key: readonly string[];
}

type KeyedRow = Readonly<Record<string, string | number>> & { readonly sealed: string };

const PAGE = 500;

/**
 * Seals anew what an earlier key sealed, row by row: a row that is changed meanwhile is left alone.
 * @returns how many, and how many no key can unseal
 */
export async function resealColumn(
  database: Pick<Database, 'read' | 'write'>,
  secrets: Secrets,
  column: SealedColumn,
): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  if (secrets.mark === undefined) return counts;
  for (let after: KeyedRow | undefined; ; ) {
    const { rows } = await sql<KeyedRow>`${selectOld(column, secrets.mark, after)}`.execute(database.read);
    for (const row of rows) counts[await reseal(database, secrets, { column, row })] += 1;
    after = rows.at(-1);
    if (after === undefined) return counts;
  }
}

/** @returns how many texts of a column no key can unseal; nothing is written */
export async function countUnreadable(
  { read }: Pick<Database, 'read'>,
  secrets: Secrets,
  column: SealedColumn,
): Promise<number> {
  let count = 0;
  for (let after: KeyedRow | undefined; ; ) {
    const { rows } = await sql<KeyedRow>`${selectOld(column, secrets.mark, after)}`.execute(read);
    count += rows.filter((row) => unsealRow(secrets, column, row) === undefined).length;
    after = rows.at(-1);
    if (after === undefined) return count;
  }
}

function selectOld(
  { table, column, key }: SealedColumn,
  mark: string | undefined,
  after: KeyedRow | undefined,
): RawBuilder<unknown> {
  const keys = sql.join(key.map((name) => sql.ref(name)));
  const isOld = mark === undefined ? sql`` : sql`and ${sql.ref(column)} not like ${`${mark}%`}`;
  const place =
    after === undefined ? sql`` : sql`and (${keys}) > (${sql.join(key.map((name) => after[name]))})`;
  return sql`select ${keys}, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.ref(column)} is not null ${isOld} ${place}
    order by ${keys} limit ${sql.lit(PAGE)}`;
}

const placeOf = ({ table, column, key }: SealedColumn, row: KeyedRow): SealedPlace => ({
  table,
  column,
  row: key.map((name) => row[name] as string | number),
});

/** @returns undefined when no key can */
function unsealRow(secrets: Secrets, column: SealedColumn, row: KeyedRow): string | undefined {
  try {
    return secrets.unseal(row.sealed, placeOf(column, row));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

async function reseal(
  database: Pick<Database, 'write'>,
  secrets: Secrets,
  { column: sealedColumn, row }: { column: SealedColumn; row: KeyedRow },
): Promise<'resealed' | 'unreadable'> {
  const { table, column, key } = sealedColumn;
  const text = unsealRow(secrets, sealedColumn, row);
  if (text === undefined) return 'unreadable';
  const place = placeOf(sealedColumn, row);
  const isThat = sql.join(
    key.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
    sql` and `,
  );
  const set = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${secrets.seal(text, place)}
    where ${isThat} and ${sql.ref(column)} = ${row.sealed}`;
  await database.write((tx) => set.execute(tx), { of: 'rows' });
  return 'resealed';
}
