// runs: deep (not on postgres: the work of a question, which is counted above the stores)
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { asWriter, commandAuthor } from '../../src/projects/projects.ts';
import { rowCatalogs } from '../../src/relations/relation-store/postgres/postgres.ts';
import { fileCatalogs } from '../../src/relations/relation-store/sqlite/sqlite.ts';
import { readerOperations } from '../../src/relations/relation-threads/relation-threads.ts';
import { CatalogFiles } from '../../src/storage/sqlite/sqlite.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { Budget } from '../../src/storage/threads/threads.ts';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  rule,
  SINGLE,
  under,
} from '../support/relations/relation-catalog.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

/** Limits of the work for questions about relations. Source: docs/interface §12.6 rules 5 and 6, §4.8 rule 18. */

/**
 * All products satisfy the first comparisons. Each satisfies only one of the last two, in turn, so a search can skip no
 * part of a list. Each source checks every product, both ways. Each product has its own depth and reach, so no two
 * share a list.
 */
const SIZES = Array.from({ length: 4 }, () => ({ target: 'Size', operator: 'lessOrEqual', source: 'Size' }));
const FRUITLESS = {
  twoWay: true,
  match: [
    { target: 'Depth', operator: 'lessOrEqual', source: 'Size' },
    { target: 'Size', operator: 'lessOrEqual', source: 'Reach' },
    ...SIZES,
    { target: 'Even', operator: 'less', source: 'Size' },
    { target: 'Odd', operator: 'less', source: 'Size' },
  ],
};
/** 72 million pairs. */
const PRODUCTS = 6_000;
/** The cancelled work ends after a second or two. Without cancellation it would take minutes. */
const LONG_MS = 120_000;
/** Searches do not read stored bodies. */
const NO_PAYLOADS = {} as Parameters<typeof fileCatalogs>[1];

const BRIEF = { RELATA_RELATION_SECONDS: '1', RELATA_READER_THREADS: '1' };
const PATIENT = { RELATA_RELATION_SECONDS: '1200', RELATA_READER_THREADS: '1' };

const brief = shareService({ settings: BRIEF });
const patient = shareService({ settings: PATIENT });

async function createLarge(service: TestService): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service);
  await catalog.load(
    ...Array.from({ length: PRODUCTS }, (_, index) =>
      product(`P${index}`, 'Parts', {
        Size: '9000',
        Depth: `${index}`,
        Reach: `${9_000 + index}`,
        Even: index % 2 === 0 ? '0' : '10000',
        Odd: index % 2 === 0 ? '10000' : '0',
      }),
    ),
  );
  return catalog;
}

async function createSmall(service: TestService): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service);
  await catalog.load(product('D1', 'Drills'), product('B1', 'Bits'));
  return catalog;
}

/** A call that its caller can abort. */
function begin(start: (signal: AbortSignal) => Promise<unknown>) {
  const caller = new AbortController();
  let isOpen = true;
  const end = () => {
    isOpen = false;
  };
  const ended = start(caller.signal).then(end, end);
  return { leave: () => caller.abort(), isOpen: () => isOpen, ended };
}

const callOf = (service: TestService, { projectId }: RelationCatalog) => ({
  preview: (signal: AbortSignal) =>
    post(service, `/management/projects/${projectId}/relations/preview`, { body: rule(FRUITLESS), signal }),
  relate: (id: number) => (signal: AbortSignal) => {
    const identifiers = Array.from({ length: 1_000 }, (_, index) => `P${index}`);
    const body = { identifiers, includeRelations: [{ id }] };
    return post(service, `/search/relations/bulk-results?projectId=${projectId}`, { body, signal });
  },
});

async function post(
  { address, key }: TestService,
  path: string,
  { body, signal }: { body: object; signal: AbortSignal },
) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${address}${path}`, {
    method: 'POST',
    headers,
    signal,
    body: JSON.stringify(body),
  });
  return response.text();
}

test('a preview ends when its time is used up and answers with an even sample (§12.6 rule 5)', async () => {
  const catalog = await createLarge(brief());
  const { status, body } = await catalog.manage('POST', '/preview', rule(FRUITLESS));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    [body.endedEarly, body.sampled, body.source, body.target],
    [...[true, true, { products: PRODUCTS }, { products: PRODUCTS }]],
  );
  assert.ok(body.sampledSources > 0 && body.sampledSources < PRODUCTS, `${body.sampledSources}`);
  assert.deepEqual([body.withResults, body.withoutResults.count], [0, body.sampledSources]);
});

test('an answer that takes too long is refused (§4.8 rule 18)', async () => {
  const catalog = await createLarge(brief());
  const relations = Array.from({ length: 8 }, (_, index) =>
    rule({ ...FRUITLESS, name: `Fruitless ${index}` }),
  );
  const imported = await catalog.manage('POST', '/import', { relations });
  assert.equal(imported.status, 200, JSON.stringify(imported.body));
  await catalog.settled();
  const identifiers = Array.from({ length: 100 }, (_, index) => `P${index}`);
  const wanted = { identifiers, includeTags: [{ tag: 'accessories' }] };
  const text =
    'The search took longer than 1 seconds: request fewer results, or narrow the search or relation';
  assertRefused(await catalog.post('/search/relations/bulk-results', wanted), 400, text);
  assert.equal((await catalog.manage('GET', `/${imported.body.items[0].id}/health`)).body.endedEarly, true);
});

test('previews do not delay answers, and end when their callers disconnect (§12.6 rule 6)', async () => {
  const service = patient();
  const [large, small] = [await createLarge(service), await createSmall(service)];
  const { id } = await small.relate({ source: under('Drills'), target: under('Bits') });
  const previews = Array.from({ length: 3 }, () => begin(callOf(service, large).preview));
  const related = await small.single({ identifier: 'D1', includeRelations: [{ id }] });
  assert.equal(related.tags[0].relations[0].searchResult[0].identifier, 'B1');
  assert.ok(previews.every(({ isOpen }) => isOpen()));
  for (const { leave } of previews) leave();
  const begunAt = performance.now();
  const { status, body } = await small.manage('POST', '/preview', rule({ source: under('Drills') }));
  assert.deepEqual([status, body.sampledSources], [200, 1]);
  assert.ok(performance.now() - begunAt < LONG_MS);
});

test('a preview of one account does not delay a preview of another account (§12.6 rule 6)', async () => {
  const service = patient();
  const large = await createLarge(service);
  const preview = begin(callOf(service, large).preview);
  await large.call('GET', '/projects');
  const { id: accountId } = await service.app.projects.createAccount(`Other ${large.projectId}`);
  const { value: key } = await service.app.access.createKey(asWriter(commandAuthor(accountId, 'test')), {
    name: 'Key',
    scope: { type: 'account' },
  });
  const group = await service.call('POST', '/management/project-groups', { key, body: { name: 'Group' } });
  const body = { name: 'Empty', projectGroupId: group.body.id, locale: 'de-DE' };
  const project = await service.call('POST', '/management/projects', { key, body });
  assert.equal(project.status, 201, JSON.stringify(project.body));
  const path = `/management/projects/${project.body.id}/relations/preview`;
  const answer = await service.call('POST', path, { key, body: rule({ source: under('Drills') }) });
  assert.deepEqual([answer.status, answer.body.sampledSources], [200, 0]);
  assert.ok(preview.isOpen(), 'the preview of the other account is still searched');
  preview.leave();
});

test('one project never occupies all threads that answer (§12.6 rule 6)', async () => {
  const service = patient();
  const [large, small] = [await createLarge(service), await createSmall(service)];
  const [slow, quick] = [await large.relate(FRUITLESS), await small.relate({ target: under('Bits') })];
  const answers = Array.from({ length: 4 }, () => begin(callOf(service, large).relate(slow.id)));
  const path = `${SINGLE}?identifier=D1&includeRelations=${JSON.stringify([{ id: quick.id }])}`;
  assert.equal((await small.call('GET', path)).status, 200);
  assert.ok(answers.every(({ isOpen }) => isOpen()));
  for (const { leave } of answers) leave();
  await Promise.all(answers.map(({ ended }) => ended));
  const own = `${SINGLE}?identifier=none&includeRelations=${JSON.stringify([{ id: slow.id }])}`;
  assert.equal((await large.call('GET', own)).status, 200, 'the thread is free again');
});

test('stopping the service ends previews (§12.6 rule 6)', async (t) => {
  const service = await startTestService(t, { settings: PATIENT });
  const large = await createLarge(service);
  // All calls use open connections, so the answer to the last call shows that the service had read the
  // previews before.
  await Promise.all(Array.from({ length: 3 }, () => large.call('GET', '/projects')));
  const answers = Array.from({ length: 2 }, () => large.manage('POST', '/preview', rule(FRUITLESS)));
  assert.equal((await large.call('GET', '/projects')).status, 200);
  const begunAt = performance.now();
  await service.stop();
  for (const answer of await Promise.all(answers)) assertRefused(answer, 503);
  assert.ok(performance.now() - begunAt < LONG_MS);
});

const MIB = 1024 * 1024;
/** About 1.2 MB. */
const TEXTS = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [`Text ${index}`, 'x'.repeat(30_000)]),
);

test('one step of an answer about large products reads a few megabytes, and the answer is complete (§4.8 rules 17 and 18)', async (t) => {
  const service = brief();
  const catalog = await createRelationCatalog(service);
  const sources = Array.from({ length: 12 }, (_, index) => `D${index}`);
  await catalog.load(
    ...sources.map((identifier) => product(identifier, 'Drills')),
    ...['B1', 'B2', 'B3'].map((identifier) => product(identifier, 'Bits', TEXTS)),
  );
  const { id } = await catalog.relate({ source: under('Drills'), target: under('Bits') });
  const { kind, dataDir } = service.store;
  let storage: Storage | undefined;
  const files = new CatalogFiles(join(dataDir, 'catalogs'));
  if (kind === 'postgres') storage = await service.store.open();
  t.after(async () => {
    files.closeAll();
    await storage?.close();
  });
  const postgres = storage?.postgres;
  const { relate } = postgres
    ? readerOperations(rowCatalogs({ postgres, readPostgres: () => postgres }))
    : readerOperations(fileCatalogs(files, NO_PAYLOADS));
  const tags = [{ tag: 'accessories', relations: [{ id, limit: 3 }] }];
  const input = { tags, form: 'bulk', explain: false, brandAttribute: '', version: -1, scale: 0 };
  const step = { ...input, projectId: catalog.projectId, identifiers: sources, limitMs: LONG_MS };
  const ask = relate as (step: object, budget: Budget) => Promise<{ bytes: Uint8Array; ends: Uint32Array }>;
  const output = await ask(step, Budget.unlimited());
  assert.ok(output.bytes.length < 14 * MIB, `${output.bytes.length} bytes`);
  assert.equal(output.ends.at(-1), output.bytes.length);
  assert.ok(output.ends.length < sources.length, `${output.ends.length} products`);
  for (const _ of ['read', 'out of memory']) {
    const answer = await catalog.bulk({ identifiers: sources, includeRelations: [{ id, limit: 3 }] });
    assert.deepEqual(Object.keys(answer), sources);
    for (const { tags: answered } of Object.values<{ tags: { relations: { searchResult: object[] }[] }[] }>(
      answer,
    ))
      assert.equal(answered[0]?.relations[0]?.searchResult.length, 3);
  }
});
