// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createByteCache } from '../../storage/storage.ts';
import { BufferPool, createThreadPool } from '../../storage/threads/threads.ts';
import type { Attribute } from '../ontology/ontology.ts';
import { CachedWriter, catalogOf } from './cached-writer.ts';
import { LookupAnswers } from './lookup-answers.ts';

const MIB = 1024 * 1024;
const catalog = { projectId: 1, version: 1, edition: 1, unknownKeys: new WeakRef(new Set<string>()) };
const frame = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
const identifiers = ['a', 'b', 'c', 'd'];
const product = { id: 1, document: 1, updatedAt: 1 };

const openAnswers = (cacheBytes: number) =>
  new LookupAnswers({
    cache: createByteCache(cacheBytes),
    makers: createThreadPool(new URL('file:///'), { size: 0, workerData: {} }),
    buffers: new BufferPool(),
  });

test('the serving thread stops a lookup at the first long upload, so that another thread makes it (§8)', () => {
  const read: string[] = [];
  const find = (identifier: string) => {
    read.push(identifier);
    return identifier === 'c' ? ('long' as const) : { ...product, answer: Buffer.alloc(1) };
  };
  assert.equal(openAnswers(0).answer(catalog, { identifiers, frame }, { find }), undefined);
  assert.deepEqual(read, ['a', 'b', 'c']);
});

test('the serving thread does not join a long answer, even if all of it is cached (§8)', () => {
  const answers = openAnswers(64 * MIB);
  const many = Array.from({ length: 50 }, (_, index) => `${index}`);
  const find = () => ({ ...product, answer: Buffer.alloc(200 * 1024) });
  for (const identifier of many)
    assert.equal(answers.answer(catalog, { identifiers: [identifier], frame }, { find })?.count, 1);
  assert.ok(answers.holdsAll(catalog, many));
  assert.equal(answers.findCached(catalog, many, frame), undefined);
  assert.equal(answers.findCached(catalog, many.slice(0, 20), frame)?.count, 20);
});

/** Products of a store that counts the reads of rows and uploads. */
function countReads(names: readonly string[]) {
  const documents = new Map(names.map((name, index) => [name, index + 1]));
  const reads = { rows: [] as string[], uploads: [] as string[] };
  const store = {
    findOrigin(identifier: string) {
      reads.rows.push(identifier);
      const document = documents.get(identifier);
      return document === undefined ? undefined : { document, at: 1 };
    },
    find(identifier: string) {
      reads.uploads.push(identifier);
      const document = documents.get(identifier);
      const answer = Buffer.from(`"name":"${identifier} ${document}"`);
      return document === undefined ? undefined : { id: 1, document, updatedAt: 1, answer };
    },
  };
  return { documents, store, reads };
}

test('after a product changes, its upload is read again, and the row of each other product once (§4.2)', () => {
  const answers = openAnswers(64 * MIB);
  const names = Array.from({ length: 1_000 }, (_, index) => `P${index}`);
  const { documents, store, reads } = countReads(names);
  const lookUp = (version: number, edition = 1) => {
    reads.rows = [];
    reads.uploads = [];
    const joined = answers.answer({ ...catalog, version, edition }, { identifiers: names, frame }, store);
    return String(joined?.bytes);
  };
  lookUp(1);
  assert.deepEqual([reads.rows.length, reads.uploads.length], [0, 1_000], 'none is in memory');
  lookUp(1);
  assert.deepEqual([reads.rows.length, reads.uploads.length], [0, 0]);
  documents.set('P7', 5_000);
  assert.match(lookUp(2), /"P7 5000"/);
  assert.deepEqual([reads.rows.length, reads.uploads], [1_000, ['P7']]);
  assert.equal(answers.findCached({ ...catalog, version: 2 }, names, frame)?.count, 1_000, 'no row any more');
  assert.equal(answers.findCached({ ...catalog, version: 3 }, names, frame), undefined);
  documents.delete('P8');
  assert.doesNotMatch(lookUp(3), /"P8 /);
  assert.deepEqual(reads.uploads, ['P8']);
  lookUp(3, 2);
  assert.equal(reads.uploads.length, 1_000, 'answers of another ontology');
});

const text = (id: number, name: string, synonyms?: string[]): Attribute => ({
  id,
  name,
  type: 'TEXT_ATTRIBUTE',
  ...(synonyms && { synonyms }),
});

const upload = (identifier: string, keys: readonly string[]) =>
  Buffer.from(
    JSON.stringify({
      identifier,
      groupIdentifier: identifier,
      name: identifier,
      productUrl: '',
      images: [],
      categories: [],
      attributes: keys.map((key) => ({ key, value: `${key} of ${identifier}` })),
    }),
  );

/** A catalog that counts the uploads which a lookup of all its products reads. */
function openCatalog(uploads: Record<string, Buffer>) {
  const answers = openAnswers(64 * MIB);
  const names = Object.keys(uploads);
  const documents = new Map(names.map((name, index) => [name, index + 1]));
  let cached = new CachedWriter(() => 0);
  let version = 0;
  return {
    change(name: string, raw: Buffer) {
      uploads[name] = raw;
      documents.set(name, 1_000 + version);
    },
    openAnew() {
      cached = new CachedWriter(() => 0);
    },
    lookUp(attributes: readonly Attribute[]) {
      version += 1;
      const present = cached.follow(version, { mode: 'automatic', revision: 0, attributes });
      const read: string[] = [];
      present.writer.begin();
      const store = {
        findOrigin: (name: string) => ({ document: documents.get(name) as number, at: 1 }),
        find(name: string) {
          read.push(name);
          const answer = present.writer.write(uploads[name] as Buffer);
          return { id: 1, document: documents.get(name) as number, updatedAt: 1, answer };
        },
      };
      const joined = answers.answer(catalogOf(1, present), { identifiers: names, frame }, store);
      const products = JSON.parse(`[${joined?.bytes}]`) as {
        identifier: string;
        facts: { value: string }[];
      }[];
      return { read, facts: products.map(({ facts }) => facts.map(({ value }) => value)) };
    },
  };
}

test('new attributes keep the cached answers of products that do not have them (§4.2)', () => {
  const many = openCatalog({
    A: upload('A', ['Colour']),
    B: upload('B', ['Colour']),
    C: upload('C', ['Size']),
  });
  const colour = [text(1, 'Colour')];
  assert.deepEqual(many.lookUp(colour).read, ['A', 'B', 'C']);
  many.change('B', upload('B', ['Colour', 'Length']));
  const longer = [...colour, text(2, 'Length')];
  assert.deepEqual(many.lookUp(longer), {
    read: ['B'],
    facts: [['Colour of A'], ['Colour of B', 'Length of B'], []],
  });
  const sized = [...longer, text(3, 'Size')];
  assert.deepEqual(many.lookUp(sized), {
    read: ['A', 'B', 'C'],
    facts: [['Colour of A'], ['Colour of B', 'Length of B'], ['Size of C']],
  });
  assert.deepEqual(
    many.lookUp(longer).facts,
    [['Colour of A'], ['Colour of B', 'Length of B'], []],
    'one less',
  );
  const retyped = [text(1, 'Colour', ['Size']), text(2, 'Length')];
  assert.deepEqual(many.lookUp(retyped).facts[2], ['Size of C'], 'another one for the same key');
  const named = [...retyped, text(4, 'Size')];
  assert.deepEqual(many.lookUp(named).read, ['A', 'B', 'C'], 'a name goes before a synonym');
});

test('a catalog that is opened again and gets attributes discards answers with their keys', () => {
  const many = openCatalog({ A: upload('A', ['Colour', 'Size']) });
  const colour = [text(1, 'Colour')];
  many.lookUp(colour);
  many.openAnew();
  assert.deepEqual(many.lookUp(colour).read, [], 'the same ontology');
  assert.deepEqual(many.lookUp([...colour, text(2, 'Size')]).facts, [['Colour of A', 'Size of A']]);
});

test('the keys of a writer are freed with the writer, and its answers remain cached', async () => {
  const answers = openAnswers(64 * MIB);
  const lookUp = () => {
    const present = new CachedWriter(() => 0).follow(1, { mode: 'automatic', revision: 0, attributes: [] });
    present.writer.begin();
    const find = () => ({ ...product, answer: present.writer.write(upload('A', ['Colour'])) });
    answers.answer(catalogOf(1, present), { identifiers: ['A'], frame }, { find });
    return present.unknownKeys;
  };
  const keys = lookUp();
  assert.deepEqual([...(keys.deref() ?? [])], ['Colour']);
  await setImmediate();
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  assert.equal(keys.deref(), undefined);
  const last = answers.findLastAnswered(1);
  assert.deepEqual(last && answers.listOrigins(last, ['A']), [{ document: 1, at: 1 }]);
});
