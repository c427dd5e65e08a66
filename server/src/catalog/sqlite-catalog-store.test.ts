import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { CatalogFile } from '../storage/catalog-files.ts';
import {
  findPresent,
  listOutdated,
  listStagedDocuments,
  listStored,
  readOntology,
} from './catalog-reader-store.ts';
import { collectGarbage, deleteProducts, replaceOntology, restore } from './catalog-upkeep-store.ts';
import { commit } from './commit-store.ts';
import type { Derivation } from './derivation.ts';
import { HASH_BYTES, type PackedProducts, ProductPacker, type Row } from './packed-products.ts';
import { applyProducts, refreshFacts } from './product-store.ts';
import { restageBatch, stageBatch } from './staging-store.ts';

/**
 * The statements of the store against a model of it: whatever is staged, committed, changed, restored and removed in
 * whatever order, every product is what the model says and its document is there; what nothing points to goes.
 */

/** A product in the model: what was uploaded, and its id. */
interface ModelProduct {
  readonly id: number;
  readonly content: number;
}
type Model = ReadonlyMap<string, ModelProduct>;

interface UndoEntry {
  /** undefined: the product was created. */
  readonly before: Map<string, ModelProduct | undefined>;
}

interface Batch {
  readonly batch: number;
  readonly products: ReadonlyMap<string, number>;
  /** Extracted, and not staged yet: the catalog may change in between. */
  packed: PackedProducts | undefined;
}

interface Session {
  readonly fullUpdateId: number;
  readonly batches: Batch[];
}

const IDENTIFIERS = ['a', 'b', 'c', 'd'] as const;
const EXTRACTED_BY = '{"revision":1,"drafts":[]}';

const rawOf = (identifier: string, content: number) => JSON.stringify({ identifier, content });
const answerOf = (raw: string, revision: number) => JSON.stringify({ ...JSON.parse(raw), revision });
const hashOf = (raw: string) => createHash('sha256').update(raw).digest().subarray(0, HASH_BYTES);

class World {
  readonly file = new CatalogFile(':memory:');
  readonly keptCommits: number;
  model: Model = new Map();
  undo: UndoEntry[] = [];
  sessions: Session[] = [];
  /** What was derived: of each document, its product. */
  readonly derived = new Map<number, number>();
  readonly derivation: Derivation = {
    open: () => ({ revision: 0, derive: () => '' }),
    place: (_, { id, productId }) => void this.derived.set(id, productId),
    copy: (_, from, { id, productId }) => {
      assert.ok(this.derived.has(from), 'what is copied is there');
      this.derived.set(id, productId);
    },
    move: (_, { id, productId }) => void this.derived.set(id, productId),
    remove: (_, documents) => {
      for (const id of documents) this.derived.delete(id);
    },
  };
  /** Every id that a product ever had. */
  private readonly ids = new Set<number>();
  /** Whether an extraction of outdated facts is due. */
  isOutdated = false;
  private lastTask = 0;
  private lastFullUpdate = 0;

  constructor(keptCommits: number) {
    this.keptCommits = keptCommits;
  }

  get live(): number[] {
    return this.sessions.map(({ fullUpdateId }) => fullUpdateId);
  }

  nextOrder() {
    this.lastTask += 1;
    return { taskNumber: this.lastTask, at: this.lastTask };
  }

  /** Does it, and once more as after a crash: the second time nothing may change. */
  twice<Result>(work: () => Result): Result {
    const result = work();
    const before = listStored(this.file, '', 100);
    assert.deepEqual(work(), result, 'a repetition answers what the first run did');
    assert.deepEqual(listStored(this.file, '', 100), before, 'a repetition changes nothing');
    return result;
  }

  /** As the parsing thread does it. */
  extract(products: ReadonlyMap<string, number>): PackedProducts {
    const { revision } = readOntology(this.file);
    const packer = new ProductPacker(4096);
    for (const [identifier, content] of products) {
      const raw = rawOf(identifier, content);
      const hash = hashOf(raw);
      const present = findPresent(this.file, identifier);
      if (present !== undefined && Buffer.compare(present.hash, hash) === 0) {
        packer.addPresent({ ...present, identifier, product: present.id, hash });
      } else addFresh(packer, { identifier, product: present?.id ?? 0, hash, document: 0, revision }, raw);
    }
    return packer.pack();
  }

  initiate(): void {
    if (this.sessions.length === 2) this.sessions.shift();
    this.lastFullUpdate += 1;
    this.sessions.push({ fullUpdateId: this.lastFullUpdate, batches: [] });
  }

  accept(session: Session, products: ReadonlyMap<string, number>): void {
    session.batches.push({ batch: session.batches.length + 1, products, packed: this.extract(products) });
  }

  /** A batch whose products changed meanwhile is extracted anew, and then fits. */
  stage({ fullUpdateId }: Session, batch: Batch): void {
    const staged = {
      fullUpdateId,
      batch: batch.batch,
      observed: '[]',
      extractedBy: EXTRACTED_BY,
      report: '',
      derivationRevision: 0,
    };
    assert.equal(
      stageBatch(
        this.file,
        { ...staged, derivationRevision: 1, packed: this.extract(batch.products) },
        this.derivation,
      ),
      this.isStaged(fullUpdateId, batch.batch),
      'what was derived otherwise is not staged',
    );
    const packed = batch.packed ?? this.extract(batch.products);
    const isStaged =
      stageBatch(this.file, { ...staged, packed }, this.derivation) ||
      stageBatch(this.file, { ...staged, packed: this.extract(batch.products) }, this.derivation);
    assert.ok(isStaged, 'a batch that was just extracted can be staged');
    batch.packed = undefined;
  }

  commit(session: Session): void {
    for (const batch of session.batches) this.stage(session, batch);
    if (session.batches.length === 0) return;
    this.settle(session);
    const { fullUpdateId, batches } = session;
    const { mode, revision } = readOntology(this.file);
    const rows = this.readRows();
    const fresh = this.readFresh(session);
    const order = {
      fullUpdateId,
      batches: batches.length,
      mode,
      revision,
      newAttributes: [],
      maxDeletePercent: 100,
    };
    const whole = { ...this.nextOrder(), ...order, keptCommits: this.keptCommits };
    assert.equal(
      commit(this.file, { ...whole, batches: batches.length + 1 }, this.derivation).kind,
      'stale',
      'a batch is missing',
    );
    const result = this.twice(() => commit(this.file, whole, this.derivation));
    assert.equal(result.kind, 'done');
    this.isOutdated ||= result.kind === 'done' && result.needsExtraction;
    const old = this.model;
    this.change(expectedOf(session), true);
    this.learnNewFacts(old, rows, revision);
    this.sessions = this.sessions.filter((other) => other !== session);
    this.checkUntouched(rows, revision);
    for (const identifier of fresh)
      assert.equal(findPresent(this.file, identifier)?.revision, revision, `${identifier} has its new facts`);
  }

  /** An equal upload may bring newer facts than a product has, which is a change too; the store says whether it did. */
  private learnNewFacts(
    old: Model,
    before: ReadonlyMap<string, Record<string, unknown>>,
    revision: number,
  ): void {
    const after = this.readRows();
    for (const [identifier, product] of this.model) {
      const row = before.get(identifier);
      if (old.get(identifier) !== product || row === undefined || Number(row.ontology_revision) >= revision)
        continue;
      if (after.get(identifier)?.document_id !== row.document_id)
        this.undo.at(-1)?.before.set(identifier, product);
    }
  }

  /** A product whose upload did not change, with facts that are up to date, is left alone by a commit. */
  private checkUntouched(before: Map<string, Record<string, unknown>>, revision: number): void {
    for (const [identifier, row] of this.readRows()) {
      const old = before.get(identifier);
      if (old?.ontology_revision === revision && Buffer.compare(old.hash as Buffer, row.hash as Buffer) === 0)
        assert.deepEqual(row, old, `${identifier} did not change`);
    }
  }

  private readFresh({ fullUpdateId }: Session): string[] {
    const sql = 'select identifier from staged_product where full_update_id = ? and is_fresh = 1';
    return this.file
      .prepare(sql)
      .all(fullUpdateId)
      .map(({ identifier }) => String(identifier));
  }

  private readRows(): Map<string, Record<string, unknown>> {
    const rows = this.file.prepare('select * from product').all();
    return new Map(
      rows.map((row) => [row.identifier as string, { ...row, hash: Buffer.from(row.hash as Uint8Array) }]),
    );
  }

  /** Makes the answers of staged products anew when the ontology changed since. */
  private settle({ fullUpdateId, batches }: Session): void {
    for (const { batch } of batches) {
      const staged = listStagedDocuments(this.file, { fullUpdateId, batch });
      const rows = staged.filter(({ isFresh }) => isFresh === 1);
      const documents = Float64Array.from(rows, ({ document }) => document);
      const packed = this.extractStored(rows);
      restageBatch(this.file, {
        fullUpdateId,
        batch,
        packed,
        documents,
        extractedBy: EXTRACTED_BY,
        report: '',
      });
    }
  }

  private extractStored(
    rows: readonly { identifier: string; document: number; raw: string }[],
  ): PackedProducts {
    const { revision } = readOntology(this.file);
    const packer = new ProductPacker(4096);
    for (const { identifier, document, raw } of rows) {
      const row = { identifier, product: 0, hash: new Uint8Array(HASH_BYTES), document, revision };
      addFresh(packer, row, raw);
    }
    return packer.pack();
  }

  apply(products: ReadonlyMap<string, number>): void {
    const { revision } = readOntology(this.file);
    const change = { ...this.nextOrder(), revision, derivationRevision: 0, packed: this.extract(products) };
    for (const other of [{ revision: revision - 1 }, { derivationRevision: 1 }]) {
      assert.deepEqual(applyProducts(this.file, { ...change, ...other }, this.derivation), { stale: true });
    }
    this.twice(() => applyProducts(this.file, change, this.derivation));
    const others = [...this.model].map(([identifier, { content }]) => [identifier, content] as const);
    this.change(new Map([...others, ...products]), false);
  }

  delete(identifiers: readonly string[]): void {
    const change = { ...this.nextOrder(), identifiers, keptCommits: this.keptCommits };
    const { deleted, unknown } = this.twice(() => deleteProducts(this.file, change));
    assert.equal(deleted, identifiers.filter((identifier) => this.model.has(identifier)).length);
    assert.equal(deleted + unknown.length, identifiers.length);
    if (deleted === 0) return;
    const left = [...this.model].filter(([identifier]) => !identifiers.includes(identifier));
    this.change(new Map(left.map(([identifier, { content }]) => [identifier, content])), true);
  }

  restore(): void {
    const order = this.nextOrder();
    const result = this.twice(() => restore(this.file, order));
    const entry = this.undo.pop();
    assert.equal(result === undefined, entry === undefined, 'an entry is kept or not');
    if (entry === undefined) return;
    this.isOutdated ||= result?.needsExtraction ?? false;
    const model = new Map(this.model);
    for (const [identifier, before] of entry.before) {
      if (before === undefined) model.delete(identifier);
      else model.set(identifier, before);
    }
    this.model = model;
  }

  changeOntology(): void {
    const { mode, attributes, revision } = readOntology(this.file);
    const [first] = attributes;
    const synonyms = [`revision ${revision}`];
    replaceOntology(this.file, {
      mode,
      attributes: [{ ...(first ?? { name: 'x', type: 'TEXT_ATTRIBUTE' }), synonyms }],
    });
    this.isOutdated = true;
  }

  refresh(): void {
    const { revision } = readOntology(this.file);
    const rows = listOutdated(this.file, { revision, after: 0, limit: 100 });
    const column = (of: 'id' | 'document') => Float64Array.from(rows, (row) => row[of]);
    const packed = this.extractStored(rows);
    refreshFacts(this.file, { products: column('id'), documents: column('document'), packed, at: 0 });
    this.isOutdated = false;
  }

  /** Puts what an extraction found before the catalog changed; it must not touch what changed. */
  refreshAfter(change: () => void): void {
    const { revision } = readOntology(this.file);
    const rows = listOutdated(this.file, { revision, after: 0, limit: 100 });
    const column = (of: 'id' | 'document') => Float64Array.from(rows, (row) => row[of]);
    const packed = this.extractStored(rows);
    change();
    refreshFacts(this.file, { products: column('id'), documents: column('document'), packed, at: 0 });
  }

  collect(): boolean {
    return collectGarbage(this.file, { live: this.live }, this.derivation);
  }

  /** Applies a change to the model. New products have an id that no product ever had. */
  private change(wanted: ReadonlyMap<string, number>, isKept: boolean): void {
    const before = new Map<string, ModelProduct | undefined>();
    const after = new Map<string, ModelProduct>();
    for (const identifier of [...new Set([...this.model.keys(), ...wanted.keys()])].sort()) {
      const old = this.model.get(identifier);
      const product = this.become(identifier, old, wanted.get(identifier));
      if (product !== old) before.set(identifier, old);
      if (product !== undefined) after.set(identifier, product);
    }
    this.model = after;
    if (!isKept) return;
    this.undo.push({ before });
    this.undo = this.keptCommits === 0 ? [] : this.undo.slice(-this.keptCommits);
  }

  private become(
    identifier: string,
    old: ModelProduct | undefined,
    content: number | undefined,
  ): ModelProduct | undefined {
    if (content === undefined || content === old?.content) return content === undefined ? undefined : old;
    if (old !== undefined) return { id: old.id, content };
    const id = Number(findPresent(this.file, identifier)?.id);
    assert.ok(!this.ids.has(id), `the id ${id} was another product's`);
    this.ids.add(id);
    return { id, content };
  }

  private isStaged(fullUpdateId: number, batch: number): boolean {
    const sql = 'select 1 from staged_batch where full_update_id = ? and batch = ?';
    return this.file.prepare(sql).get(fullUpdateId, batch) !== undefined;
  }

  private checkDerived(): void {
    const rows = this.file
      .prepare(
        'select p.id, p.document_id as document, d.product_id as owner from product p join document d on d.id = p.document_id',
      )
      .all();
    for (const { id, document, owner } of rows) {
      assert.equal(owner, id, 'a document knows its product');
      assert.equal(this.derived.get(Number(document)), id, 'so does what was derived for it');
    }
    const documents = new Set(
      this.file
        .prepare('select id from document')
        .all()
        .map(({ id }) => Number(id)),
    );
    for (const document of this.derived.keys())
      assert.ok(documents.has(document), 'nothing is derived of nothing');
  }

  check(): void {
    const { revision } = readOntology(this.file);
    const stored = listStored(this.file, '', 100);
    assert.deepEqual(
      stored.map(({ id, raw }) => ({ id, raw })),
      [...this.model]
        .sort()
        .map(([identifier, { id, content }]) => ({ id, raw: rawOf(identifier, content) })),
      'every product is what the model says, and its document is there',
    );
    for (const { identifier, answer, raw } of stored) {
      const followed = Number(findPresent(this.file, identifier)?.revision);
      const made = Number(JSON.parse(answer).revision);
      assert.equal(answer, answerOf(raw, made), 'an answer is that of its upload');
      assert.ok(made >= followed, 'an answer follows no older ontology than its product says');
      assert.ok(followed === revision || this.isOutdated, 'nobody would extract the facts again');
    }
    this.checkDerived();
    this.checkUndo();
    for (const session of this.sessions) this.checkStaged(session);
  }

  private checkUndo(): void {
    const rows = this.file
      .prepare(
        `select u.undo_id as entry, u.identifier, u.product_id as id, cast(d.raw as text) as raw from undo_change u
         left join document d on d.id = u.document_before
         where u.undo_id in (select id from undo_log) and u.document_before is not null
         order by u.undo_id, u.identifier`,
      )
      .all();
    const expected = this.undo.flatMap(({ before }) =>
      [...before]
        .sort()
        .flatMap(([, old]) => old ?? [])
        .map(({ id, content }) => ({ id, content })),
    );
    assert.deepEqual(
      rows.map(({ id, raw }) => ({ id, content: raw === null ? 'gone' : JSON.parse(String(raw)).content })),
      expected,
      'what a restore would bring back is there',
    );
  }

  private checkStaged({ fullUpdateId, batches }: Session): void {
    const staged = new Set(
      this.file
        .prepare('select batch from staged_batch where full_update_id = ?')
        .all(fullUpdateId)
        .map(({ batch }) => batch),
    );
    const known = batches.filter(({ batch }) => staged.has(batch));
    const rows = this.file
      .prepare(
        `select s.identifier, cast(d.raw as text) as raw from staged_product s left join document d on d.id = s.document_id
         where s.full_update_id = ? order by s.identifier`,
      )
      .all(fullUpdateId);
    const expected = expectedOf({ fullUpdateId, batches: known });
    assert.deepEqual(
      rows.map(({ identifier, raw }) => [identifier, raw]),
      [...expected].sort().map(([identifier, content]) => [identifier, rawOf(identifier, content)]),
      'staged is what the last accepted batch held, and its document is there',
    );
  }

  /** Ends everything, removes all that can be removed, and looks whether only what is needed is left. */
  finish(): void {
    this.sessions = [];
    for (let steps = 0; this.collect(); steps += 1) assert.ok(steps < 1_000, 'the removal comes to an end');
    this.check();
    const count = (sql: string) => Number(this.file.prepare(sql).get()?.count);
    const needed = count(
      `select count(*) as count from (select document_id from product
       union select document_before from undo_change where document_before is not null)`,
    );
    assert.equal(count('select count(*) as count from document'), needed, 'no other document is left');
    for (const table of ['garbage_document', 'staged_product', 'staged_batch']) {
      assert.equal(count(`select count(*) as count from ${table}`), 0, `${table} is empty`);
    }
    this.file.database.close();
  }
}

function addFresh(packer: ProductPacker, row: Row, raw: string): void {
  const answer = answerOf(raw, row.revision);
  packer.addFresh(
    row,
    { raw, derived: 'derived' },
    {
      bound: answer.length,
      write: (target, start) => start + target.write(answer, start),
    },
  );
}

/** The last accepted batch wins. */
function expectedOf({ batches }: Session): Map<string, number> {
  return new Map(batches.flatMap(({ products }) => [...products]));
}

const products = fc
  .dictionary(fc.constantFrom(...IDENTIFIERS), fc.integer({ min: 1, max: 3 }), { minKeys: 1 })
  .map((contents) => new Map(Object.entries(contents)));
const which = fc.nat({ max: 1 });

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('initiate' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('accept' as const), which, products }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('stage' as const), which, batch: fc.nat({ max: 2 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('commit' as const), which }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('apply' as const), products }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      identifiers: fc.uniqueArray(fc.constantFrom(...IDENTIFIERS), { minLength: 1 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restore' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ontology' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('refresh' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late refresh' as const), products }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('collect' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Kind> ? Kind : never;

function take(world: World, taken: Step): void {
  const session =
    'which' in taken ? world.sessions[taken.which % Math.max(world.sessions.length, 1)] : undefined;
  const steps: Record<Step['kind'], () => void> = {
    initiate: () => world.initiate(),
    accept: () => session && 'products' in taken && world.accept(session, taken.products),
    stage() {
      const batch = taken.kind === 'stage' ? session?.batches[taken.batch] : undefined;
      if (session !== undefined && batch?.packed !== undefined) world.stage(session, batch);
    },
    commit: () => session && world.commit(session),
    apply: () => taken.kind === 'apply' && world.apply(taken.products),
    delete: () => taken.kind === 'delete' && world.delete(taken.identifiers),
    restore: () => world.restore(),
    ontology: () => world.changeOntology(),
    refresh: () => world.refresh(),
    'late refresh': () =>
      taken.kind === 'late refresh' && world.refreshAfter(() => world.apply(taken.products)),
    collect: () => world.collect(),
  };
  steps[taken.kind]();
}

const of = (contents: Record<string, number>) => new Map(Object.entries(contents));
const initiate: Step = { kind: 'initiate' };
const collect: Step = { kind: 'collect' };
const back: Step = { kind: 'restore' };
const accept = (which: number, contents: Record<string, number>): Step => ({
  kind: 'accept',
  which,
  products: of(contents),
});
const stage = (which: number, batch: number): Step => ({ kind: 'stage', which, batch });
const commitOf = (which: number): Step => ({ kind: 'commit', which });
const apply = (contents: Record<string, number>): Step => ({ kind: 'apply', products: of(contents) });
const newFacts: Step[] = [{ kind: 'ontology' }, { kind: 'refresh' }];

/** What random sequences seldom meet. */
const RARE: Record<string, Step[]> = {
  'a document is removed between its extraction and its staging': [
    apply({ a: 1 }),
    initiate,
    accept(0, { a: 1 }),
    apply({ a: 2 }),
    collect,
    stage(0, 0),
    commitOf(0),
  ],
  'a document was staged as unchanged before another commit replaced it': [
    ...[
      apply({ a: 1 }),
      initiate,
      accept(0, { a: 2 }),
      initiate,
      accept(1, { a: 1 }),
      stage(1, 0),
      commitOf(0),
      commitOf(0),
    ],
    ...[apply({ a: 3 }), collect, collect, collect, collect, collect, back, back],
  ],
  'a product that was staged as unchanged gets newer facts and then changes': [
    apply({ a: 1 }),
    initiate,
    accept(0, { a: 1 }),
    stage(0, 0),
    ...newFacts,
    apply({ a: 2 }),
    commitOf(0),
  ],
  'the same upload comes another way, with older facts': [
    initiate,
    accept(0, { a: 1 }),
    stage(0, 0),
    apply({ a: 1 }),
    { kind: 'ontology' },
    commitOf(0),
    back,
  ],
  'a later batch is staged first': [
    initiate,
    accept(0, { a: 1, b: 1 }),
    accept(0, { a: 2 }),
    stage(0, 1),
    stage(0, 0),
    commitOf(0),
    collect,
  ],
  'an entry that is not kept any more waits for its removal': [
    apply({ a: 1, b: 1 }),
    { kind: 'delete', identifiers: ['a'] },
    { kind: 'delete', identifiers: ['b'] },
    back,
    { kind: 'delete', identifiers: ['b'] },
    back,
  ],
};

function play(keptCommits: number, steps: readonly Step[]): void {
  const world = new World(keptCommits);
  for (const taken of steps) {
    take(world, taken);
    world.check();
  }
  world.finish();
}

for (const [name, steps] of Object.entries(RARE)) {
  test(name, () => {
    for (const keptCommits of [0, 1, 3]) play(keptCommits, steps);
  });
}

for (const keptCommits of [0, 1, 3]) {
  test(`any sequence of changes leaves what the model says, with ${keptCommits} kept commits`, () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => play(keptCommits, steps)),
      { numRuns: Number(process.env.RELATA_TEST_RUNS ?? 150) },
    );
  });
}
