import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeAnswer } from '../../../src/catalog/browse/browse.ts';
import { indexByKey, type Ontology } from '../../../src/catalog/ontology/attribute.ts';
import { describeFacts, listFacts } from '../../../src/catalog/ontology/extraction.ts';
import type {
  CatalogSnapshot,
  ChangeCounts,
  CommitOrder,
  DeleteResult,
  PresentProduct,
  ReportPart,
  ReportPlace,
} from '../../../src/catalog/port.ts';
import {
  type PackedProducts,
  ProductPacker,
} from '../../../src/catalog/products/documents/packed-products.ts';
import { normaliseProduct, type UploadedProduct } from '../../../src/catalog/products/product.ts';
import { Budget } from '../../../src/storage/threads/threads.ts';
import { type CatalogTables, type CatalogUnderTest, listAll, type ProductRow } from './catalog-under-test.ts';

/** A product in the model: its upload and its id. */
interface ModelProduct {
  readonly id: number;
  readonly content: number;
}
type Model = ReadonlyMap<string, ModelProduct>;
type ProductRows = ReadonlyMap<string, ProductRow>;

interface UndoEntry {
  /** undefined: the product was created. */
  readonly before: Map<string, ModelProduct | undefined>;
  readonly rows: ProductRows;
}

export interface Batch {
  readonly batch: number;
  readonly products: ReadonlyMap<string, number>;
  /** Extracted but not staged yet, so the catalog may change in between. */
  packed: PackedProducts | undefined;
}

export interface Session {
  readonly fullUpdateId: number;
  readonly batches: Batch[];
}

export const IDENTIFIERS = ['a', 'b', 'c', 'd'] as const;
export const NAMES = ['x', 'y', 'z'] as const;
export const PATHS = ['["p"]', '["p","q"]', '["r"]'] as const;
export const EXTRACTED_BY = '{"revision":1,"drafts":[]}';
/** The time of refreshed facts, which no task has. */
const REFRESHED_AT = 7;
const REFRESHED_BY = 1_000_000;
/** More than any catalog here has. */
const ALL = 10_000;
/** Source: docs/interface §4.4. */
const PREVIEWED = 100;
const FIRST_CATEGORY_ID = 1_000_000_001;

export const rawOf = (identifier: string, content: number) =>
  JSON.stringify(
    normaliseProduct({
      identifier,
      name: `of ${identifier}`,
      attributes: NAMES.map((key) => ({ key, value: `${key} ${content}` })),
    }),
  );
/** Only some revisions of the ontology change facts. */
const typeOf = (revision: number) =>
  (revision >> 1) % 2 === 0 ? ('TEXT_ATTRIBUTE' as const) : ('UNTYPED_ATTRIBUTE' as const);
/** An answer of a lookup, as JSON without the time. */
export function describeAnswer(raw: string, { attributes }: Ontology): string {
  const product = JSON.parse(raw) as UploadedProduct;
  const { identifier, groupIdentifier: groupId, name, productUrl: link } = product;
  const facts = describeFacts(listFacts(product.attributes, indexByKey(attributes)));
  const fields = JSON.stringify({ identifier, groupId, name, link, images: [], categories: [] });
  return `${fields.slice(1, -1)},"facts":[${facts}]`;
}
const hashOf = (raw: string) => createHash('sha256').update(raw).digest('hex').slice(0, 32);

/** Compares uploads. */
const compareRows = (before: ProductRows, after: ProductRows) => ({
  created: [...after.keys()].filter((identifier) => !before.has(identifier)).length,
  changed: [...after].filter(
    ([identifier, { hash }]) => before.has(identifier) && before.get(identifier)?.hash !== hash,
  ).length,
  deleted: [...before.keys()].filter((identifier) => !after.has(identifier)).length,
});

const frameOf = (head: string, tail: string) => ({ head: Buffer.from(head), tail: Buffer.from(tail) });

/** A catalog and its model: every change is made to both, and every check compares them. */
export class CatalogWorld {
  readonly catalog: CatalogUnderTest;
  readonly undoDepth: number;
  model: Model = new Map();
  sessions: Session[] = [];
  private undo: UndoEntry[] = [];
  /** Every id that a product ever had. */
  private readonly ids = new Set<number>();
  private readonly reserved = new Map<string, number>();
  /** Whether outdated facts have to be extracted. */
  private isOutdated = false;
  private lastTask = 0;
  private lastFullUpdate = 0;

  constructor(catalog: CatalogUnderTest, undoDepth: number) {
    this.catalog = catalog;
    this.undoDepth = undoDepth;
  }

  private get store() {
    return this.catalog.store;
  }

  private get projectId() {
    return this.catalog.projectId;
  }

  nextOrder() {
    this.lastTask += 1;
    return { taskNumber: this.lastTask, at: 1_000 + this.lastTask };
  }

  /** Does the work twice, like after a crash. The second time must change nothing. */
  private async twice<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = await work();
    const before = await this.catalog.readAll();
    assert.deepEqual(await work(), result, 'a repetition gives the same result as the first run');
    assert.deepEqual(await this.catalog.readAll(), before, 'a repetition changes nothing');
    return result;
  }

  private read<Result>(work: (snapshot: CatalogSnapshot) => Promise<Result>): Promise<Result> {
    return this.catalog.snapshots.read(this.projectId, Budget.unlimited(), work);
  }

  private readOntology() {
    return this.store.getOntology(this.projectId);
  }

  /** Works like the parsing thread. `gains`: facts of attributes that the full update creates. */
  extract(products: ReadonlyMap<string, number>, gains = false): Promise<PackedProducts> {
    return this.read(async (snapshot) => {
      const present = await snapshot.findPresent([...products.keys()]);
      let row = 0;
      const packer = new ProductPacker();
      for (const [identifier, content] of products) {
        const sent = { identifier, raw: rawOf(identifier, content), gains };
        pack(packer, sent, present[row++]);
      }
      return packer.pack({ catalogVersion: await snapshot.readCatalogVersion(), paths: [] });
    });
  }

  initiate(): void {
    if (this.sessions.length === 2) this.sessions.shift();
    this.lastFullUpdate += 1;
    this.sessions.push({ fullUpdateId: this.lastFullUpdate, batches: [] });
  }

  async accept(session: Session, products: ReadonlyMap<string, number>): Promise<void> {
    const packed = await this.extract(products);
    session.batches.push({ batch: session.batches.length + 1, products, packed });
  }

  /** A batch whose products changed in between is extracted again, and then fits. */
  async stage({ fullUpdateId }: Session, batch: Batch): Promise<void> {
    const staged = {
      fullUpdateId,
      batch: batch.batch,
      observed: '[]',
      extractedBy: EXTRACTED_BY,
      report: `of batch ${batch.batch}\n`,
      derivationRevision: 0,
    };
    const put = (packed: PackedProducts, derivationRevision = 0) =>
      this.store.stageBatch(this.projectId, { ...staged, packed, derivationRevision });
    const wasStaged = await this.isStaged(fullUpdateId, batch.batch);
    const isTaken = await put(await this.extract(batch.products), 1);
    assert.equal(isTaken, wasStaged, 'a batch with another derivation is not staged');
    const isStaged =
      (await put(batch.packed ?? (await this.extract(batch.products)))) ||
      (await put(await this.extract(batch.products)));
    assert.ok(isStaged, 'a batch that was just extracted can be staged');
    batch.packed = undefined;
  }

  async commit(session: Session): Promise<void> {
    for (const batch of session.batches) await this.stage(session, batch);
    if (session.batches.length === 0) return;
    await this.restage(session);
    await this.settle(session);
    const { fullUpdateId, batches } = session;
    const { mode, revision } = await this.readOntology();
    const order = {
      fullUpdateId,
      batches: batches.length,
      mode,
      revision,
      newAttributes: Buffer.from('[]'),
      maxDeletePercent: 100,
      undoDepth: this.undoDepth,
    };
    await this.checkPreview(session);
    const task = this.nextOrder();
    // Only sometimes, because a refused commit has prepared the next one.
    if (task.taskNumber % 2 === 0) await this.checkRefused({ ...task, ...order }, expectedOf(session));
    const before = await this.readRows();
    const result = await this.twice(() => this.store.commit(this.projectId, { ...task, ...order }));
    assert.ok(result.kind === 'done');
    const after = await this.readRows();
    const counts = this.checkRows(before, after, task);
    const unchanged = expectedOf(session).size - counts.created - counts.changed;
    assert.deepEqual(result.counts, { ...counts, unchanged });
    const made = [...after.values()].filter((row) => row.updated_by === task.taskNumber);
    assert.ok(made.every((row) => row.ontology_revision === revision));
    this.change(expectedOf(session), { before, after, isKept: true });
    this.sessions = this.sessions.filter((other) => other !== session);
  }

  /** Batches that no longer fit the catalog are staged again, whether the caller or the store notices. */
  private async restage(session: Session): Promise<void> {
    const { fullUpdateId, batches } = session;
    const { mode, revision } = await this.readOntology();
    const order = { fullUpdateId, batches: batches.length, mode, revision, newAttributes: Buffer.from('[]') };
    const noticed = () =>
      this.lastTask % 2 === 0
        ? this.store.dropOutdated(this.projectId, { fullUpdateId })
        : this.store
            .commit(this.projectId, {
              ...this.nextOrder(),
              ...order,
              maxDeletePercent: 100,
              allowDeletes: -1,
              undoDepth: 0,
            })
            .then(({ kind }) => kind === 'stale');
    const staged = async () => (await this.rowsOf('staged_batch', fullUpdateId)).length;
    assert.equal(await noticed(), (await staged()) < batches.length, 'a batch that does not fit is dropped');
    for (const batch of batches) await this.stage(session, batch);
    assert.equal(await this.store.dropOutdated(this.projectId, { fullUpdateId }), false);
    assert.equal(await staged(), batches.length);
  }

  /** The preview before a commit: facts of equal uploads do not count as changes there. */
  private async checkPreview(session: Session): Promise<void> {
    const wanted = expectedOf(session);
    const isPresent = (identifier: string) => this.model.has(identifier);
    const isEqual = (identifier: string) => this.model.get(identifier)?.content === wanted.get(identifier);
    const identifiers = [...wanted.keys()].sort();
    const describe = (all: string[]) => ({ count: all.length, identifiers: all.slice(0, PREVIEWED) });
    const expected = {
      present: this.model.size,
      created: describe(identifiers.filter((product) => !isPresent(product))),
      changed: describe(identifiers.filter((product) => isPresent(product) && !isEqual(product))),
      unchanged: describe(identifiers.filter((product) => isPresent(product) && isEqual(product))),
      deleted: describe([...this.model.keys()].filter((identifier) => !wanted.has(identifier)).sort()),
    };
    const compare = (withIdentifiers: boolean) =>
      this.store.compareStaged(this.projectId, { fullUpdateId: session.fullUpdateId, withIdentifiers });
    assert.deepEqual(await compare(true), expected);
    const { count: deleted } = (await compare(false)).deleted;
    assert.equal(deleted, expected.deleted.count);
  }

  /** Refused commits change nothing that readers see. */
  private async checkRefused(
    order: CommitOrder & { taskNumber: number; at: number },
    wanted: ReadonlyMap<string, number>,
  ): Promise<void> {
    const before = await this.readRows();
    const other = order.mode === 'own' ? 'automatic' : 'own';
    for (const stale of [
      { batches: order.batches + 1 },
      { revision: order.revision + 1 },
      { mode: other } as const,
    ]) {
      const result = await this.store.commit(this.projectId, { ...order, ...stale });
      assert.equal(result.kind, 'stale', `not with ${JSON.stringify(stale)}`);
    }
    const deleted = [...this.model.keys()].filter((identifier) => !wanted.has(identifier)).length;
    const guarded = await this.store.commit(this.projectId, { ...order, allowDeletes: deleted + 1 });
    assert.deepEqual(guarded, { kind: 'guarded', present: this.model.size, deleted });
    assert.deepEqual(await this.readRows(), before);
  }

  /**
   * Each changed product names the task that changed it, and all others are as before.
   * @returns the number of rows that the task changed
   */
  private checkRows(
    before: ProductRows,
    after: ProductRows,
    task: { taskNumber: number; at: number },
  ): Omit<ChangeCounts, 'unchanged'> {
    for (const [identifier, row] of after) {
      if (row.updated_by === task.taskNumber) assert.equal(row.updated_at, task.at);
      else assert.deepEqual(row, before.get(identifier), `${identifier} did not change`);
    }
    const changed = [...after.values()].filter((row) => row.updated_by === task.taskNumber);
    const created = changed.filter(({ identifier }) => !before.has(identifier)).length;
    const deleted = [...before.keys()].filter((identifier) => !after.has(identifier)).length;
    return { created, changed: changed.length - created, deleted };
  }

  private async readRows(): Promise<ProductRows> {
    const rows = await this.catalog.rows('product');
    return new Map(rows.map((row) => [row.identifier, row]));
  }

  private async rowsOf(
    table: 'staged_batch',
    fullUpdateId: number,
  ): Promise<CatalogTables['staged_batch'][]> {
    const rows = await this.catalog.rows(table);
    return rows.filter((row) => row.full_update_id === fullUpdateId);
  }

  /** Checks staged batches once more, as after a change of the ontology. */
  private async settle({ fullUpdateId, batches }: Session): Promise<void> {
    for (const { batch, products } of batches) {
      const staged = await this.read((snapshot) => snapshot.listStagedDocuments({ fullUpdateId, batch }));
      assert.deepEqual(staged.map(({ raw }) => raw).sort(), listRaws(products));
      const isFresh = (raw: string) =>
        this.model.get(JSON.parse(raw).identifier)?.content !== products.get(JSON.parse(raw).identifier);
      for (const product of staged) assert.equal(product.isFresh, Number(isFresh(product.raw)));
      const report = `of batch ${batch}, anew\n`;
      const reviewed = { fullUpdateId, batch, extractedBy: EXTRACTED_BY, report, gaining: [] };
      await this.store.reviewBatch(this.projectId, reviewed);
    }
    const reports: string[] = [];
    for (let next: ReportPlace | undefined = { batch: 0, at: 0 }; next !== undefined; ) {
      const part: ReportPart = await this.store.readStagedReports(this.projectId, { fullUpdateId, ...next });
      if (part.lines !== '') reports.push(part.lines);
      next = part.next;
    }
    assert.deepEqual(
      reports,
      batches.map(({ batch }) => `of batch ${batch}, anew\n`),
    );
  }

  async apply(products: ReadonlyMap<string, number>): Promise<void> {
    const { revision } = await this.readOntology();
    const task = this.nextOrder();
    const change = { ...task, revision, derivationRevision: 0, packed: await this.extract(products) };
    const before = await this.readRows();
    for (const other of [{ revision: revision - 1 }, { derivationRevision: 1 }]) {
      const result = await this.store.applyProducts(this.projectId, { ...change, ...other });
      assert.deepEqual(result, { stale: true });
    }
    const result = await this.twice(() => this.store.applyProducts(this.projectId, change));
    const after = await this.readRows();
    const counts = this.checkRows(before, after, task);
    assert.deepEqual(result, { ...counts, unchanged: products.size - counts.created - counts.changed });
    const others = [...this.model].map(([identifier, { content }]) => [identifier, content] as const);
    this.change(new Map([...others, ...products]), { before, after, isKept: false });
  }

  async delete(identifiers: readonly string[]): Promise<void> {
    const task = this.nextOrder();
    const lists = [Buffer.from(JSON.stringify(identifiers))];
    const change = { ...task, lists, undoDepth: this.undoDepth };
    const before = await this.readRows();
    const result = await this.twice(() => this.store.deleteProducts(this.projectId, change));
    const { deleted, unknown } = readDeleted(result);
    const after = await this.readRows();
    assert.deepEqual(this.checkRows(before, after, task), { created: 0, changed: 0, deleted });
    const wanted = [...new Set(identifiers)];
    assert.equal(deleted, wanted.filter((identifier) => this.model.has(identifier)).length);
    assert.deepEqual([...unknown].sort(), wanted.filter((identifier) => !this.model.has(identifier)).sort());
    if (deleted === 0) return;
    const left = [...this.model].filter(([identifier]) => !identifiers.includes(identifier));
    const contents = new Map(left.map(([identifier, { content }]) => [identifier, content]));
    this.change(contents, { before, after, isKept: true });
  }

  async restore(): Promise<void> {
    const order = this.nextOrder();
    assert.equal((await this.store.listUndoableCommits(this.projectId)).length, this.undo.length);
    const overwritten = await this.findOverwritten();
    const { revision } = await this.readOntology();
    const before = await this.readRows();
    const [last] = await this.store.listUndoableCommits(this.projectId);
    const effect = last && (await this.read((snapshot) => snapshot.weighRestore(last.id)));
    const { result } = await this.twice(() => this.store.restore(this.projectId, order));
    const entry = this.undo.pop();
    assert.equal(result === null, entry === undefined, 'an entry is in the undo log or not');
    if (entry === undefined || result === null) return;
    const after = await this.readRows();
    const expected = { commits: 1, last: last?.id, changedSince: overwritten.length };
    assert.deepEqual(effect, { ...expected, ...compareRows(before, after) }, 'as the preview reported');
    const model = new Map(this.model);
    for (const [identifier, product] of entry.before) {
      if (product === undefined) model.delete(identifier);
      else model.set(identifier, product);
      assert.deepEqual(after.get(identifier), product && entry.rows.get(identifier), 'it is unchanged');
    }
    const others = [...before].filter(([identifier]) => !entry.before.has(identifier));
    for (const [identifier, row] of others) assert.deepEqual(after.get(identifier), row, 'others stay');
    const restored = [...entry.before].flatMap(([identifier, product]) =>
      product === undefined ? [] : (after.get(identifier) ?? []),
    );
    const needsExtraction = restored.some((row) => row.ontology_revision < revision);
    assert.deepEqual(result, { restored: restored.length, overwritten, needsExtraction });
    this.isOutdated ||= needsExtraction;
    this.model = model;
  }

  /** Undoes several commits at once, with the same result as one by one. */
  async restoreDown(depth: number): Promise<void> {
    const order = this.nextOrder();
    const undoable = await this.store.listUndoableCommits(this.projectId);
    const oldest = undoable[depth - 1];
    const other = { ...order, commit: (undoable.at(-1)?.id ?? 1) - 1 };
    if (oldest === undefined) {
      assert.equal((await this.store.restore(this.projectId, other)).result, null, 'it is not kept');
      return;
    }
    const { revision } = await this.readOntology();
    const before = await this.readRows();
    const effect = await this.read((snapshot) => snapshot.weighRestore(oldest.id));
    await this.twice(() => this.store.restore(this.projectId, { ...order, commit: oldest.id }));
    const after = await this.readRows();
    assert.ok(effect !== undefined);
    const { changedSince: _, ...counts } = effect;
    const expected = { commits: depth, last: undoable[0]?.id, ...compareRows(before, after) };
    assert.deepEqual(counts, expected, 'as the preview reported');
    const model = new Map(this.model);
    for (const entry of this.undo.splice(-depth).reverse())
      for (const [identifier, product] of entry.before)
        if (product === undefined) model.delete(identifier);
        else model.set(identifier, product);
    this.model = model;
    this.isOutdated ||= [...after.values()].some((row) => row.ontology_revision < revision);
  }

  /** @returns the products that changed since the last commit or delete */
  private async findOverwritten(): Promise<string[]> {
    const last = Math.max(...(await this.catalog.rows('undo_log')).map(({ id }) => id));
    const changes = (await this.catalog.rows('undo_change')).filter((row) => row.undo_id === last);
    const created = (await this.catalog.rows('undo_created')).filter((row) => row.undo_id === last);
    const rows = await this.readRows();
    const isOther = (row: CatalogTables['undo_change']) =>
      (rows.get(row.identifier)?.document_id ?? null) !== row.document_after;
    const isChanged = ({ id, document_id: document }: ProductRow) =>
      created.some(
        ({ first_product: first, created: count, first_document: firstDocument }) =>
          id >= first && id < first + count && document !== firstDocument + id - first,
      );
    return [...changes.filter(isOther), ...[...rows.values()].filter(isChanged)]
      .map(({ identifier }) => identifier)
      .sort();
  }

  async changeOntology(): Promise<void> {
    const before = await this.readOntology();
    const { mode, attributes, revision } = before;
    const [first] = attributes;
    const synonyms = [`revision ${revision}`];
    const wanted = {
      mode,
      attributes: [{ ...(first ?? { name: NAMES[0] }), type: typeOf(revision), synonyms }],
    };
    const { ontology, changed } = await this.store.replaceOntology(this.projectId, wanted);
    assert.ok(changed);
    assert.equal(ontology.revision, revision + 1);
    assert.deepEqual(await this.readOntology(), ontology);
    const past = await this.read((snapshot) => snapshot.readPastOntology(revision));
    assert.deepEqual(past, attributes, 'the former ontology is known');
    this.learnIds(new Map(ontology.attributes.map(({ name, id }) => [name, id])));
    const again = await this.store.replaceOntology(this.projectId, wanted);
    assert.deepEqual(again, { ontology, changed: false }, 'the same ontology is not a change');
    this.isOutdated = true;
  }

  async reserveIds(names: readonly string[], paths: readonly string[]): Promise<void> {
    this.learnIds(await this.store.reserveIds(this.projectId, { names, paths }));
    const categories = await this.read((snapshot) => snapshot.findCategories(PATHS));
    this.learnIds(categories);
    for (const path of paths) assert.ok((categories.get(path) ?? 0) >= FIRST_CATEGORY_ID);
  }

  /** An id is given once and never reused. */
  private learnIds(ids: ReadonlyMap<string, number>): void {
    for (const [name, id] of ids) {
      const reservedId = this.reserved.get(name);
      if (reservedId === undefined)
        assert.ok(![...this.reserved.values()].includes(id), `${id} is another's`);
      else assert.equal(id, reservedId, `${name} keeps its id forever`);
      this.reserved.set(name, id);
    }
  }

  /** Extracts outdated products again; `meanwhile` changes the catalog before the results are written. */
  async refresh(meanwhile = async () => {}): Promise<void> {
    const { revision } = await this.readOntology();
    const rows = await this.read((snapshot) => snapshot.listOutdated({ revision, after: 0, limit: ALL }));
    const expected = [...(await this.readRows()).values()].filter((row) => row.ontology_revision < revision);
    assert.deepEqual(
      rows.map(({ id }) => id),
      expected.map(({ id }) => id).sort((a, b) => a - b),
      'all products whose facts are outdated, by id',
    );
    for (const row of rows)
      assert.equal(row.revision, expected.find(({ id }) => id === row.id)?.ontology_revision);
    await meanwhile();
    const before = await this.readRows();
    const isOther = ({ document }: { document: number }) => document % 2 === 0;
    await this.store.followOntology(this.projectId, {
      revision,
      products: rows.map(({ id }) => id),
      documents: rows.map(({ document }) => document),
      changed: rows.map(isOther),
      at: REFRESHED_AT,
      taskNumber: REFRESHED_BY,
    });
    const outdated = new Set(rows.map(({ document }) => document));
    const after = await this.readRows();
    assert.equal(after.size, before.size);
    for (const [identifier, row] of before) {
      const isRefreshed = outdated.has(row.document_id) && row.ontology_revision < revision;
      const changed = isOther({ document: row.document_id })
        ? { updated_at: REFRESHED_AT, updated_by: REFRESHED_BY }
        : {};
      const expected = isRefreshed ? { ...row, ontology_revision: revision, ...changed } : row;
      assert.deepEqual(after.get(identifier), expected);
    }
    const present = await this.readOntology();
    this.isOutdated &&= [...after.values()].some((row) => row.ontology_revision < present.revision);
  }

  /** @returns whether there may be more garbage; otherwise no finished full update is left */
  async collect(): Promise<boolean> {
    const live = this.sessions.map(({ fullUpdateId }) => fullUpdateId);
    const limits = { live, undoDepth: this.undoDepth };
    const isMore = await this.store.collectGarbage(this.projectId, limits);
    if (isMore) return true;
    for (const table of ['staged_batch'] as const) {
      const left = await this.catalog.rows(table);
      assert.ok(
        left.every((row) => live.includes(row.full_update_id)),
        `${table} is cleaned up`,
      );
    }
    return false;
  }

  /** Applies a change to the model. New products must have unused ids. */
  private change(
    wanted: ReadonlyMap<string, number>,
    { before: rows, after, isKept }: { before: ProductRows; after: ProductRows; isKept: boolean },
  ): void {
    const before = new Map<string, ModelProduct | undefined>();
    const model = new Map<string, ModelProduct>();
    for (const identifier of [...new Set([...this.model.keys(), ...wanted.keys()])].sort()) {
      const old = this.model.get(identifier);
      const product = this.become(old, wanted.get(identifier), after.get(identifier)?.id);
      if (product !== old) before.set(identifier, old);
      if (product !== undefined) model.set(identifier, product);
    }
    this.model = model;
    if (!isKept) return;
    this.undo.push({ before, rows });
    this.undo = this.undoDepth === 0 ? [] : this.undo.slice(-this.undoDepth);
  }

  private become(
    old: ModelProduct | undefined,
    content: number | undefined,
    id: number | undefined,
  ): ModelProduct | undefined {
    if (content === undefined || content === old?.content) return content === undefined ? undefined : old;
    if (old !== undefined) return { id: old.id, content };
    assert.ok(id !== undefined, 'a created product exists');
    assert.ok(!this.ids.has(id), `the id ${id} belonged to another product`);
    this.ids.add(id);
    return { id, content };
  }

  private async isStaged(fullUpdateId: number, batch: number): Promise<boolean> {
    const staged = await this.rowsOf('staged_batch', fullUpdateId);
    return staged.some((row) => row.batch === batch);
  }

  async check(): Promise<void> {
    const ontology = await this.readOntology();
    const { revision } = ontology;
    const rows = await this.readRows();
    const stored = await listAll(this.store, this.projectId);
    assert.deepEqual(
      stored.map(({ id, text }) => ({ id, raw: text })),
      [...this.model]
        .sort()
        .map(([identifier, { id, content }]) => ({ id, raw: rawOf(identifier, content) })),
      'every product equals the model, and its document exists',
    );
    for (const { identifier, text: raw } of stored) {
      const { ontology_revision: followed = 0, hash } = rows.get(identifier) ?? {};
      assert.equal(hash, hashOf(raw), 'a hash is that of its upload');
      assert.ok(followed === revision || this.isOutdated, 'no run would extract the facts again');
    }
    await this.checkLookups(rows, ontology);
    const documents = new Map((await this.catalog.rows('document')).map((row) => [row.id, row]));
    this.checkDerived(rows, documents);
    await this.checkUndo(documents);
    for (const session of this.sessions) await this.checkStaged(session, documents);
  }

  /**
   * In reverse, to test that the store keeps the caller's order. Once from the store, and once from memory if it is
   * cached.
   */
  private async checkLookups(rows: ProductRows, ontology: Ontology): Promise<void> {
    const stored = await listAll(this.store, this.projectId);
    const [first, second] = stored;
    const behind = { from: first?.identifier ?? '', isAfter: true, to: undefined };
    const page = await this.store.listRange(this.projectId, { ...behind, limit: 1, isWhole: true });
    assert.deepEqual(page.rows[0]?.identifier, first && second?.identifier);
    const expected: string[] = [];
    for (const { id, text, updatedAt, identifier } of stored) {
      const row = rows.get(identifier);
      const present = await this.store.findProduct(this.projectId, identifier);
      assert.ok(present !== undefined);
      const { ontology: _, categories: __, updatedBy, ...product } = present;
      assert.deepEqual([updatedAt, updatedBy], [row?.updated_at, row?.updated_by]);
      assert.deepEqual(product, { id, identifier, updatedAt, raw: text });
      assert.equal(writeAnswer(present), describeAnswer(text, ontology));
      expected.unshift(`{"id":${id},${describeAnswer(text, ontology)},"lastUpdateTs":${updatedAt}}`);
    }
    const requested = ['z', ...IDENTIFIERS, 'a', ...this.model.keys()].sort().reverse();
    for (let time = 0; time < 2; time += 1) {
      const order = { projectId: this.projectId, identifiers: requested, frame: frameOf('[', ']') };
      const answers = await this.store.findAnswers(order);
      assert.equal(Buffer.from(answers?.bytes ?? []).toString(), `[${expected.join()}]`);
      answers?.release();
      const made = await this.store.makeAnswers(order, new AbortController().signal);
      assert.equal(Buffer.from(made.bytes).toString(), `[${expected.join()}]`, 'by another thread');
    }
    assert.equal(await this.store.countProducts(this.projectId), this.model.size);
    assert.equal(await this.store.hasAny(this.projectId, requested), this.model.size > 0);
  }

  private checkDerived(rows: ProductRows, documents: ReadonlyMap<number, CatalogTables['document']>): void {
    const { derived } = this.catalog;
    for (const { id, document_id: document } of rows.values()) {
      assert.equal(documents.get(document)?.product_id, id, 'a document names its product');
      assert.equal(derived.get(document), id, 'so does its derivation');
    }
    for (const document of derived.keys())
      assert.ok(documents.has(document), 'no derivation without a document');
  }

  private async checkUndo(documents: ReadonlyMap<number, CatalogTables['document']>): Promise<void> {
    const undoIds = new Set((await this.catalog.rows('undo_log')).map(({ id }) => id));
    const changes = (await this.catalog.rows('undo_change')).filter(
      (row) => undoIds.has(row.undo_id) && row.document_before !== null,
    );
    changes.sort((a, b) => a.undo_id - b.undo_id || (a.identifier < b.identifier ? -1 : 1));
    const expected = this.undo.flatMap(({ before }) =>
      [...before]
        .sort()
        .flatMap(([identifier, old]) => (old ? { id: old.id, raw: rawOf(identifier, old.content) } : [])),
    );
    assert.deepEqual(
      changes.map((row) => ({
        id: row.product_id,
        raw: documents.get(row.document_before ?? 0)?.raw ?? 'gone',
      })),
      expected,
      'everything that a restore would bring back exists',
    );
  }

  private async checkStaged(
    { fullUpdateId, batches }: Session,
    documents: ReadonlyMap<number, CatalogTables['document']>,
  ): Promise<void> {
    const staged = await this.store.listStagedBatches(this.projectId, fullUpdateId);
    const rows = await this.rowsOf('staged_batch', fullUpdateId);
    assert.equal(rows.length, staged.length);
    for (const { batch, hashes, created, changed, first_document: first } of rows) {
      const raws = listRaws(batches.find((candidate) => candidate.batch === batch)?.products ?? new Map());
      const stagedHashes = hashes.match(/.{32}/g) ?? [];
      assert.deepEqual(
        [...stagedHashes].sort(),
        raws.map(hashOf).sort(),
        'the staged products are those of the batch',
      );
      const fresh = Array.from(
        { length: created + changed },
        (_, index) => documents.get(first + index)?.raw ?? '',
      );
      assert.deepEqual(fresh.map(hashOf), stagedHashes.slice(0, created + changed), 'its documents exist');
    }
  }

  /** Ends everything, removes all garbage, and checks that only the needed rows remain. */
  async finish(): Promise<void> {
    this.sessions = [];
    for (let steps = 0; await this.collect(); steps += 1) assert.ok(steps < 1_000, 'the removal ends');
    await this.check();
    const undone = await this.catalog.rows('undo_change');
    const undoIds = (await this.catalog.rows('undo_log')).map(({ id }) => id);
    assert.ok(
      [...undone, ...(await this.catalog.rows('undo_created'))].every((row) => undoIds.includes(row.undo_id)),
      'nothing of a forgotten commit is left',
    );
    const needed = [
      ...[...(await this.readRows()).values()].map((row) => row.document_id),
      ...undone.flatMap((row) => row.document_before ?? []),
    ];
    const documents = await this.catalog.rows('document');
    assert.deepEqual(
      new Set(documents.map(({ id }) => id)),
      new Set(needed),
      'no other document is left, and each of these exists',
    );
    for (const table of ['garbage_document', 'staged_batch'] as const)
      assert.deepEqual(await this.catalog.rows(table), [], `${table} is empty`);
    await this.store.removeCatalog(this.projectId);
    assert.deepEqual(
      Object.values(await this.catalog.readAll()).flat(),
      [],
      'nothing of a removed catalog is left',
    );
  }
}

const listRaws = (products: ReadonlyMap<string, number>) =>
  [...products].map(([identifier, content]) => rawOf(identifier, content)).sort();

function pack(
  packer: ProductPacker,
  { identifier, raw, gains }: { identifier: string; raw: string; gains: boolean },
  present: PresentProduct | undefined,
): void {
  packer.begin(identifier);
  packer.addText(raw);
  const row = { product: present?.id ?? 0, hash: packer.hashRaw(), document: 0 };
  if (present?.hash === row.hash) packer.endPresent({ ...row, document: present.document, gains });
  else {
    packer.addText('derived');
    packer.endFresh(row);
  }
}

/** The last accepted batch wins. */
function expectedOf({ batches }: Session): Map<string, number> {
  return new Map(batches.flatMap(({ products }) => [...products]));
}

/** @returns a result of `deleteProducts` with the identifiers that its report names */
function readDeleted({ deleted, unknown: count, report }: DeleteResult) {
  const lines = Buffer.from(report).toString().split('\n').slice(0, -1);
  const unknown: string[] = lines.map((line) => JSON.parse(line).identifier);
  assert.equal(unknown.length, count);
  return { deleted, unknown };
}
