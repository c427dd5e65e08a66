import { lookupJoin, own, type Program, row, rows, type Sql, sql, tabled } from '../../storage/storage.ts';
import type { Difference } from '../port.ts';
import type { StagedDocument } from '../snapshot.ts';
import { absentProducts, compareCounts, findRepeated } from './commit-store.ts';
import { planForWholeTables } from './planning-store.ts';
import { uploadText } from './product-list-store.ts';
import { openPart, stagedList } from './staged-store.ts';

const PREVIEWED = 100;

export interface ComparedUpdate {
  readonly fullUpdateId: number;
  readonly withIdentifiers: boolean;
}

/** Counts what a commit would do; with the first identifiers of each kind when asked. */
export function* compareStaged({ fullUpdateId, withIdentifiers }: ComparedUpdate): Program<Difference> {
  yield* planForWholeTables();
  const compared = yield* compareCounts(fullUpdateId);
  const { present, staged } = compared;
  const kinds = selectKinds(fullUpdateId, yield* findRepeated(fullUpdateId, compared));
  const [created, changed] = [yield* count(kinds.created), yield* count(kinds.changed)];
  // A product may have gone since the batches were staged.
  const counts = { created, changed, unchanged: staged - changed, deleted: Math.max(present - staged, 0) };
  const described: [string, Difference['created']][] = [];
  for (const [kind, of] of Object.entries(counts)) {
    const identifiers = withIdentifiers ? yield* listFirst(kinds[kind as keyof typeof kinds]) : [];
    described.push([kind, { count: of, identifiers }]);
  }
  return { present, ...(Object.fromEntries(described) as Omit<Difference, 'present'>) };
}

/** Selects the identifiers of each kind. */
function selectKinds(
  fullUpdateId: number,
  byBatch: ReadonlyMap<number, readonly number[]>,
): Record<keyof Omit<Difference, 'present'>, Sql> {
  const repeated = [...byBatch].flatMap(([batch, ids]) => ids.map((id) => [id, batch]));
  const isLast = sql`(s.value, s.batch) not in
    (select l.id, l.batch from ${tabled('l', { id: 'bigint', batch: 'bigint' }, repeated)})`;
  const staged = stagedList(fullUpdateId, 'products');
  const changed = sql`select s.value from ${staged} where s.place < s.changed and ${isLast}
    union all select s.value from ${stagedList(fullUpdateId, 'gaining')} where ${isLast}`;
  return {
    created: sql`select s.value as identifier from ${stagedList(fullUpdateId, 'identifiers')}`,
    changed: sql`select p.identifier from product p where ${own('p')} and p.id in (${changed})`,
    unchanged: sql`select p.identifier from product p where ${own('p')} and p.id in (select s.value from ${staged})
      and p.id not in (${changed})`,
    deleted: sql`select p.identifier from ${absentProducts(fullUpdateId)}`,
  };
}

function* count(kind: Sql): Program<number> {
  const counted = yield* row<{ count: number }>(
    sql`select count(distinct k.identifier) as count from (${kind}) k`,
  );
  return counted?.count ?? 0;
}

function* listFirst(kind: Sql): Program<string[]> {
  const found = yield* rows<{ identifier: string }>(
    sql`select distinct k.identifier from (${kind}) k order by k.identifier limit ${PREVIEWED}`,
  );
  return found.map(({ identifier }) => identifier);
}

/** The uploads of one batch: those that it brought, and the present ones where it found them unchanged. */
export function* listStagedDocuments({
  fullUpdateId,
  batch,
}: {
  fullUpdateId: number;
  batch: number;
}): Program<StagedDocument[]> {
  const { firstDocument, created, changed, present } = yield* openPart(fullUpdateId, batch);
  const raw = sql`${uploadText(true)} as raw`;
  const fresh = yield* rows<StagedDocument>(
    sql`select d.product_id as product, 1 as "isFresh", ${raw} from document d
      where ${own('d')} and d.id >= ${firstDocument} and d.id < ${firstDocument + created + changed}`,
  );
  const unchanged = yield* rows<StagedDocument>(
    sql`select p.id as product, 0 as "isFresh", ${raw} from ${present}
      ${lookupJoin('product', 'p', sql`p.id = s.product_id`)} ${lookupJoin('document', 'd', sql`d.id = p.document_id`)}
      where not s.is_fresh`,
  );
  return [...fresh, ...unchanged];
}
