import { isStorableText } from '../../kernel/storable-text.ts';
import {
  listed,
  lookupJoin,
  own,
  type Program,
  row,
  rows,
  type Sql,
  sql,
  text,
} from '../../storage/storage.ts';
import type { KeptChange, KeptCommit, KeptPage, ProductChange } from '../port.ts';
import { planForParts } from './planning-store.ts';
import { uploadText } from './product-list-store.ts';
import { listEntries, toKeptCommit, type UndoEntry, wantedProducts } from './undo-store.ts';

/** What commits and deletes changed, as far as the undo log reaches. */

/** A row of the log, with its documents. */
interface LoggedChange {
  readonly productId: number;
  readonly identifier: string;
  readonly before: number | null;
  readonly after: number | null;
}

const LOGGED = text(`u.product_id as "productId", u.identifier, u.document_before as "before",
  u.document_after as "after"`);

/** @returns undefined for a commit that is not kept */
export function* listKeptChanges(page: KeptPage): Program<KeptChange[] | undefined> {
  const entries = yield* listEntries();
  const at = entries.findIndex(({ commit }) => commit === page.commit);
  const entry = entries[at];
  if (entry === undefined) return undefined;
  yield* planForParts();
  const later = entries.slice(0, at).map(({ id }) => id);
  const changes = yield* listLogged(entry.id, later, page);
  return yield* settle(changes, yield* findNext(entry.id, changes));
}

/** @returns the changes of one product, the last one first */
export function* listProductChanges(identifier: string): Program<ProductChange[]> {
  if (!isStorableText(identifier)) return [];
  const entries = yield* listEntries();
  yield* planForParts();
  const productId = yield* findProductId(identifier, entries);
  if (productId === undefined) return [];
  const found: { commit: KeptCommit; change: LoggedChange }[] = [];
  for (const entry of entries) {
    const change = yield* findLogged(entry.id, { productId, identifier });
    if (change !== undefined) found.push({ commit: toKeptCommit(entry), change });
  }
  const changes: ProductChange[] = [];
  // A change ends where the next one begins.
  for (const [at, { commit, change }] of found.entries()) {
    const next = found[at - 1]?.change.before;
    const [settled] = yield* settle([change], new Map(next ? [[productId, next]] : []));
    if (settled !== undefined) changes.push({ ...settled, commit });
  }
  return changes;
}

/** The present product of an identifier, or the one that a kept commit changed last. */
function* findProductId(identifier: string, entries: readonly UndoEntry[]): Program<number | undefined> {
  const present = yield* row<{ id: number }>(sql`select p.id from ${wantedProducts([identifier])}`);
  if (present !== undefined) return present.id;
  for (const { id } of entries) {
    const found = yield* row<{ id: number }>(
      sql`select product_id as id from undo_change where ${own()} and undo_id = ${id} and identifier = ${identifier} limit 1`,
    );
    if (found !== undefined) return found.id;
  }
  return undefined;
}

function* findLogged(
  entry: number,
  { productId, identifier }: Pick<LoggedChange, 'productId' | 'identifier'>,
): Program<LoggedChange | undefined> {
  const changed = yield* row<LoggedChange>(
    sql`select ${LOGGED} from undo_change u where ${own('u')} and u.undo_id = ${entry} and u.product_id = ${productId}`,
  );
  if (changed !== undefined) return changed;
  const created = yield* row<{ document: number }>(
    sql`select first_document + ${productId} - first_product as document from undo_created
      where ${own()} and undo_id = ${entry} and first_product <= ${productId} and first_product + created > ${productId}`,
  );
  return created && { productId, identifier, before: null, after: created.document };
}

const OF_KIND = {
  created: 'u.document_before is null',
  changed: 'u.document_before is not null and u.document_after is not null',
  deleted: 'u.document_after is null',
};

/** Those that were there first, then those that the commit created. */
function* listLogged(entry: number, later: readonly number[], page: KeptPage): Program<LoggedChange[]> {
  const { kind, after, limit } = page;
  const found =
    after.part === 'created'
      ? []
      : yield* rows<LoggedChange>(
          sql`select ${LOGGED} from undo_change u where ${own('u')} and u.undo_id = ${entry}
            and u.product_id > ${after.productId} and ${text(kind ? OF_KIND[kind] : 'true')}
            order by u.product_id limit ${limit}`,
        );
  if (found.length === limit || (kind !== undefined && kind !== 'created')) return found;
  const from = after.part === 'created' ? after.productId : 0;
  return [...found, ...(yield* listCreated(entry, { later, from, limit: limit - found.length }))];
}

/** Ids that no product got are left out; products that were deleted since are named by a later entry. */
function* listCreated(
  entry: number,
  { later, from, limit }: { later: readonly number[]; from: number; limit: number },
): Program<LoggedChange[]> {
  const ranges = yield* rows<{ first: number; end: number; document: number }>(
    sql`select first_product as first, first_product + created as "end", first_document as document
      from undo_created where ${own()} and undo_id = ${entry} order by first_product`,
  );
  const created: LoggedChange[] = [];
  for (const { first, end, document } of ranges) {
    if (created.length === limit) break;
    const wanted = { after: Math.max(from, first - 1), end, limit: limit - created.length };
    for (const { id: productId, identifier } of yield* listOfRange(wanted, later))
      created.push({ productId, identifier, before: null, after: document + productId - first });
  }
  return created;
}

interface Named {
  readonly id: number;
  readonly identifier: string;
}

function* listOfRange(
  { after, end, limit }: { after: number; end: number; limit: number },
  later: readonly number[],
): Program<Named[]> {
  if (after + 1 >= end) return [];
  const list = (columns: string, where: Sql): Program<Named[]> =>
    rows(sql`select ${text(columns)} where ${own()} and ${where} order by 1 limit ${text(String(limit))}`);
  const found = [...(yield* list('id, identifier from product', sql`id > ${after} and id < ${end}`))];
  for (const id of later)
    found.push(
      ...(yield* list(
        'product_id as id, identifier from undo_change',
        sql`undo_id = ${id} and product_id > ${after} and product_id < ${end}`,
      )),
    );
  const byId = new Map(found.map((one) => [one.id, one]));
  return [...byId.values()].sort((a, b) => a.id - b.id).slice(0, limit);
}

/** @returns by product the document that the next kept commit found */
function* findNext(entry: number, changes: readonly LoggedChange[]): Program<Map<number, number>> {
  const ids = changes.map(({ productId }) => productId);
  const found = yield* rows<{ id: number; document: number }>(
    sql`select w.value as id, u.document_before as document from ${listed('w', 'bigint', ids)} cross join undo_log l
      ${lookupJoin('undo_change', 'u', sql`u.undo_id = l.id and u.product_id = w.value`)}
      where ${own('l')} and l.id > ${entry} and u.document_before is not null order by l.id desc`,
  );
  return new Map(found.map(({ id, document }) => [id, document]));
}

/** Reads the documents. One that a change left may be gone: then what came next stands for it. */
function* settle(changes: readonly LoggedChange[], next: ReadonlyMap<number, number>): Program<KeptChange[]> {
  const present = new Map(
    (yield* rows<{ id: number; document: number }>(
      sql`select p.id, p.document_id as document from ${listed(
        'w',
        'bigint',
        changes.map(({ productId }) => productId),
      )}
        ${lookupJoin('product', 'p', sql`p.id = w.value`)}`,
    )).map(({ id, document }) => [id, document]),
  );
  const settled = changes.map((change) => {
    if (change.after === null) return { change, after: null, isChangedSince: false };
    const after = next.get(change.productId) ?? present.get(change.productId) ?? null;
    return { change, after, isChangedSince: after !== change.after };
  });
  const texts = yield* readDocuments(settled.flatMap(({ change, after }) => [change.before, after]));
  const textOf = (document: number | null) => (document === null ? null : (texts.get(document) ?? null));
  return settled.map(({ change: { productId, identifier, before, after: left }, after, isChangedSince }) => ({
    ...{ productId, identifier, isChangedSince, before: textOf(before), after: textOf(after) },
    kind: before === null ? 'created' : left === null ? 'deleted' : 'changed',
  }));
}

function* readDocuments(documents: readonly (number | null)[]): Program<Map<number, string>> {
  const ids = [...new Set(documents.filter((id) => id !== null))];
  const found = yield* rows<{ id: number; text: string }>(
    sql`select d.id, ${uploadText(true)} as text from ${listed('w', 'bigint', ids)}
      ${lookupJoin('document', 'd', sql`d.id = w.value`)}`,
  );
  return new Map(found.map(({ id, text }) => [id, text]));
}
