import { own, type Program, row, type Sql, sql, text } from '../../storage/storage.ts';
import type { RestoreEffect } from '../port.ts';
import { planForWholeTables } from './planning-store.ts';
import { listEntries } from './undo-store.ts';

/** What a restore would do, counted without doing it: by the same rules as `playBack`. */

type Counts = Pick<RestoreEffect, 'created' | 'changed' | 'deleted' | 'changedSince'>;

/** @returns undefined for a commit that is not kept */
export function* weighRestore(commit: number): Program<RestoreEffect | undefined> {
  const entries = yield* listEntries();
  const at = entries.findIndex((entry) => entry.commit === commit);
  const [last, oldest] = [entries[0], entries[at]];
  if (last === undefined || oldest === undefined) return undefined;
  yield* planForWholeTables();
  const span = { from: oldest.id, isOne: at === 0 };
  const present = yield* row<Counts>(weighTouched(span));
  const created = yield* row<Pick<Counts, 'deleted' | 'changedSince'>>(weighCreated(span));
  const countOf = (name: keyof Counts) => Number(present?.[name] ?? 0);
  return {
    ...{ commits: at + 1, last: last.commit, created: countOf('created'), changed: countOf('changed') },
    deleted: countOf('deleted') + Number(created?.deleted ?? 0),
    changedSince: countOf('changedSince') + Number(created?.changedSince ?? 0),
  };
}

interface Span {
  /** The id of the oldest entry in the log. */
  readonly from: number;
  readonly isOne: boolean;
}

const COLUMNS = 'identifier, product_id, undo_id, document_before, hash_before, document_after';

/** Products that the commits changed or deleted; several commits name one several times. */
const touched = ({ from, isOne }: Span): Sql => {
  const rank = (order: string) =>
    text(isOne ? '1' : `row_number() over (partition by identifier order by undo_id ${order})`);
  return sql`(select ${text(COLUMNS)}, ${rank('')} as oldest, ${rank('desc')} as newest
    from undo_change where ${own()} and undo_id >= ${from}) t`;
};

/** The document that a product returns to; null for one that the commits created. */
const former = ({ from, isOne }: Span): Sql =>
  isOne
    ? text('t.document_before')
    : sql`case when exists (select 1 from undo_created c where ${own('c')} and c.undo_id >= ${from}
        and c.undo_id < t.undo_id and t.product_id >= c.first_product and t.product_id < c.first_product + c.created)
        then null else t.document_before end`;

const sumOf = (condition: string, name: string): string =>
  `coalesce(sum(case when ${condition} then 1 else 0 end), 0) as "${name}"`;

const weighTouched = (span: Span): Sql => sql`select
  ${text(sumOf('r.oldest = 1 and r.former is not null and r.present is null', 'created'))},
  ${text(sumOf('r.oldest = 1 and r.former is not null and r.hash <> r.hash_before', 'changed'))},
  ${text(sumOf('r.oldest = 1 and r.former is null and r.present is not null', 'deleted'))},
  ${text(sumOf('r.newest = 1 and r.present is distinct from r.document_after', 'changedSince'))}
  from (select t.oldest, t.newest, t.hash_before, t.document_after, p.document_id as present, p.hash, ${former(span)} as former
    from ${touched(span)} left join product p on ${own('p')} and p.identifier = t.identifier
    where t.oldest = 1 or t.newest = 1) r`;

/** Products that the commits created and nothing deleted since. */
const weighCreated = (span: Span): Sql => sql`select count(*) as deleted,
  ${text(sumOf('m.document_id <> m.made', 'changedSince'))}
  from (select p.identifier, p.document_id, c.first_document + p.id - c.first_product as made from undo_created c
    join product p on ${own('p')} and p.id >= c.first_product and p.id < c.first_product + c.created
    where ${own('c')} and c.undo_id >= ${span.from}) m
  left join (select t.identifier from ${touched(span)} where t.newest = 1) s on s.identifier = m.identifier
  where s.identifier is null`;
