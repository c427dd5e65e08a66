// runs: long (not on postgres: runs of members, which PostgreSQL has as rows)
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Operator } from '../../../catalog/filters/filters.ts';
import { CatalogFiles } from '../../../storage/sqlite/sqlite.ts';
import { Budget } from '../../../storage/threads/threads.ts';
import type { MemberColumns, Membership } from '../../memberships/memberships.ts';
import { extendIn, relationDerivation } from './membership-store.ts';
import { createFileView } from './view-store.ts';

/** A product in the list. */
interface Member {
  readonly document: number;
  readonly rank: string;
  readonly compared: readonly (string | null)[];
}

const KEY = Buffer.from('01', 'hex').toString('base64');
type Test = (a: string | null, b: string) => boolean;
const TESTS: Record<'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual' | 'notEquals', Test> = {
  less: (a, b) => a !== null && a < b,
  lessOrEqual: (a, b) => a !== null && a <= b,
  greater: (a, b) => a !== null && a > b,
  greaterOrEqual: (a, b) => a !== null && a >= b,
  notEquals: (a, b) => a !== b,
};
const OPERATORS = Object.keys(TESTS) as (keyof typeof TESTS)[];
/** A group may be any text, such as one with quotes. */
const GROUPS = ['g', 'g"', '"],["', 'g\\', '\\\\"\n,"', 'ü'];

function startRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * One list has more members than a merge step takes. Without a sort, all members have the same empty rank.
 */
for (const rankBytes of [2, 0]) {
  test(`a list in runs has its exact members after each change and each merge step, with ranks of ${rankBytes} bytes`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'relata-runs-'));
    const files = new CatalogFiles(folder);
    t.after(() => {
      files.closeAll();
      rmSync(folder, { recursive: true });
    });
    const file = files.open(1);
    const { remove, tidy } = relationDerivation();
    const random = startRandom(rankBytes + 7);
    const hex = (bytes: number, values: number) =>
      bytes === 0
        ? ''
        : random(values)
            .toString(16)
            .padStart(bytes * 2, '0');
    const members = new Map<number, Member>();
    let documents = 0;

    function putProducts(ids: readonly number[]): void {
      const changed = ids.map((id): [number, Member] => {
        documents += 1;
        const others = [1, 2].map((bytes) => (random(3) === 0 ? null : hex(bytes, 200)));
        return [
          id,
          { document: documents, rank: hex(rankBytes, 5_000), compared: [hex(2, 3_000), ...others] },
        ];
      });
      const extended = changed.map(([productId, { document: id, rank, compared }]) => {
        const memberships = [describe(rank, compared)];
        return { id, productId, group: groupOf(productId), memberships, added: memberships };
      });
      file.transaction(() => file.perform(extendIn(file)(extended)));
      const removedDocuments = ids.flatMap((id) => members.get(id)?.document ?? []);
      const upsert = file.prepare(
        `insert into product values (?, ?, ?, x'', 1, 1, 1) on conflict (id) do update set document_id = excluded.document_id`,
      );
      file.transaction(() => {
        for (const [id, { document }] of changed) upsert.run(id, `p${id}`, document);
        remove(file, removedDocuments);
      });
      for (const [id, member] of changed) members.set(id, member);
    }

    function removeProducts(ids: readonly number[]): void {
      const removedDocuments = ids.flatMap((id) => members.get(id)?.document ?? []);
      file.transaction(() => {
        for (const id of ids) file.prepare('delete from product where id = ?').run(id);
        remove(file, removedDocuments);
      });
      for (const id of ids) members.delete(id);
    }

    function check(most: number): void {
      const ordered = [...members].sort(compareMembers);
      function compare(operators: readonly (keyof typeof TESTS)[], values: readonly (string | null)[]): void {
        const isMatch = ({ compared }: Member) =>
          operators.every((operator, column) => {
            const value = values[column] ?? null;
            return value === null || TESTS[operator](compared[column] ?? null, value);
          });
        const expected = first(
          most,
          ordered.filter(([, member]) => isMatch(member)),
        );
        for (const isMerged of [false, true]) {
          const listed = list({ operators, values, most, isMerged });
          assert.deepEqual(listed, expected, `${operators} ${values} ${isMerged}`);
        }
      }
      compare([], []);
      for (const operator of OPERATORS) {
        for (const value of ['0003', '0bb0']) compare([operator], [value]);
        const [second, third] = [pick(OPERATORS), pick(OPERATORS)];
        compare([operator, second, third], [pick(['0003', '0100', null]), '60', '0080']);
        compare([operator, second, third], ['0600', pick(['60', null]), pick(['0004', '00c0'])]);
      }
    }

    const pick = <Item>(items: readonly Item[]) => items[random(items.length)] as Item;

    function list({ operators, values, most, isMerged }: Listed): readonly (readonly [number, string])[] {
      const opposite = { ...describe('', values), side: 'source' as const };
      const searched = { build: 1, side: 'target' as const, limit: 5, excluded: undefined };
      const candidates: [number, string][] = [];
      for (const { productId, group } of createFileView(file, { limit: Budget.unlimited() }).listCandidates({
        ...searched,
        opposite,
        operators,
        isMerged,
      })) {
        if (candidates.length === most) break;
        candidates.push([productId, group]);
      }
      return candidates;
    }

    const series = (count: number, from: number) => Array.from({ length: count }, (_, index) => from + index);
    for (const from of [1, 6_001, 12_001]) putProducts(series(6_000, from));
    check(300);
    for (let round = 0; round < 6; round += 1) {
      if (random(3) > 0) file.transaction(() => tidy(file));
      putProducts(series(1 + random(3_000), 1 + random(17_000)));
      removeProducts(series(random(400), 1 + random(17_000)));
      // Changes of single members become separate rows.
      for (let step = 0; step < 20; step += 1) putProducts([1 + random(17_000)]);
      // Checking the whole list takes seconds, so it happens only halfway and at the end.
      check(round === 3 ? 30_000 : 300);
    }
    while (file.transaction(() => tidy(file)));
    check(30_000);
    const [left] = file.database
      .prepare(
        `select (select count(*) from relation_entry where document_id not in (select document_id from relation_document)) as gone,
           (select sum(changed) from relation_list) as noted, (select count(*) from relation_member) as "rows",
           (select count(*) from relation_run where id not in (select run from relation_member where run is not null)) as stray`,
      )
      .all() as { gone: number; noted: number; rows: number; stray: number }[];
    assert.ok(left && left.gone <= left.noted && left.stray === 0, JSON.stringify(left));
    assert.ok(left.rows < 8_000, `${left.rows} rows for ${members.size} members`);
  });
}

test('a merge step reads a bounded number of members, in however many lists', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-runs-'));
  const files = new CatalogFiles(folder);
  t.after(() => {
    files.closeAll();
    rmSync(folder, { recursive: true });
  });
  const file = files.open(1);
  const { remove, tidy } = relationDerivation();
  const keys = ['01', '02', '03', '04', '05'].map((key) => Buffer.from(key, 'hex').toString('base64'));
  const upsert = file.prepare(`insert or replace into product values (?, ?, ?, x'', 1, 1, 1)`);
  const putProducts = (from: number, count: number, firstDocument: number) =>
    file.transaction(() => {
      const extended = Array.from({ length: count }, (_, index) => {
        const rank = ((index * 7_919) % 5_000).toString(16).padStart(4, '0');
        const memberships = [{ ...describe(rank, ['0001']), keys }];
        const [id, productId] = [firstDocument + index, from + index];
        upsert.run(productId, `p${productId}`, id);
        return { id, productId, group: 'g', memberships, added: memberships };
      });
      file.perform(extendIn(file)(extended));
    });
  const newest = () => Number(file.prepare('select max(run) as run from relation_member').get()?.run);
  const countSince = (run: number) =>
    Number(file.prepare('select count(*) as count from relation_entry where run > ?').get(run)?.count);

  function mergeAll(): number[] {
    const steps: number[] = [];
    for (let isMore = true; isMore; ) {
      const before = newest();
      isMore = file.transaction(() => tidy(file));
      steps.push(countSince(before));
    }
    return steps.filter((members) => members > 0);
  }

  for (let batch = 0; batch < 3; batch += 1) putProducts(batch * 2_000 + 1, 2_000, batch * 2_000 + 1);
  const steps = mergeAll();
  assert.equal(steps.length, 5, JSON.stringify(steps));
  assert.ok(Math.max(...steps) < 8_100, JSON.stringify(steps));

  // Members whose document may be gone count twice.
  putProducts(1, 3_000, 10_001);
  file.transaction(() =>
    remove(
      file,
      Array.from({ length: 3_000 }, (_, index) => index + 1),
    ),
  );
  const again = mergeAll();
  assert.ok(again.length >= 10 && Math.max(...again) < 4_100, JSON.stringify(again));
  const members = file.prepare('select count(*) as count from relation_entry').get()?.count;
  assert.equal(members, 5 * 6_000);
});

test('members in numbered form become the same runs, with the same extremes, as members one by one', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-runs-'));
  const files = new CatalogFiles(folder);
  t.after(() => {
    files.closeAll();
    rmSync(folder, { recursive: true });
  });
  const random = startRandom(5);
  const texts = ['00', '0000', '01', '0100', '01ff', '7f', '80', '8000', 'fe', 'ff', 'ff00'];
  const key = texts.indexOf('01') + 1;
  const listed = Array.from({ length: 150 }, (_, row) => {
    const value = () => (random(3) === 0 ? 0 : 1 + random(texts.length));
    // In most runs, the last column has no value.
    return { row, rank: 1 + Math.floor(row / 15), values: [value(), value(), row < 20 ? value() : 0] };
  });
  const widths = [0, 1, 2, 3];
  const columns: MemberColumns = {
    lists: Uint32Array.from(widths.flatMap((width) => [width + 1, 1, key, width, listed.length])),
    members: Uint32Array.from(
      widths.flatMap((width) =>
        listed.flatMap(({ row, rank, values }) => [row, rank, ...values.slice(0, width)]),
      ),
    ),
    ends: Uint32Array.from([0, ...texts], (_, index) => texts.slice(0, index).join('').length / 2),
    bytes: Uint8Array.from(Buffer.from(texts.join(''), 'hex')),
  };
  const numbered = files.open(1);
  const documents = listed.map(({ row }) => ({ row, id: row + 1, productId: row + 1, derived: 'g\0[]' }));
  numbered.transaction(() => relationDerivation().place(numbered, { documents, columns }));

  const textOf = (number: number) => texts[number - 1] ?? null;
  const extended = listed.map(({ row, rank, values }) => {
    const memberships = widths.map((width) => ({
      ...describe(textOf(rank) ?? '', values.slice(0, width).map(textOf)),
      build: width + 1,
    }));
    return { id: row + 1, productId: row + 1, group: 'g', memberships, added: memberships };
  });
  const written = files.open(2);
  written.transaction(() => written.perform(extendIn(written)(extended)));

  const read = ({ database }: typeof numbered) => [
    database.prepare('select * from relation_member order by build_id, rank, product_id').all(),
    database.prepare('select * from relation_run order by id').all(),
    database.prepare('select * from relation_list order by build_id').all(),
  ];
  assert.equal(read(numbered)[1]?.length, 4 * 3);
  assert.deepEqual(read(numbered), read(written));
});

test('a merge that an earlier version began still drops members whose document is gone', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-runs-'));
  let files = new CatalogFiles(folder);
  t.after(() => {
    files.closeAll();
    rmSync(folder, { recursive: true });
  });
  const { remove, tidy } = relationDerivation();
  const count = 20_000;
  const before = files.open(1);
  const upsert = before.prepare(`insert or replace into product values (?, ?, ?, x'', 1, 1, 1)`);
  before.transaction(() => {
    const extended = Array.from({ length: count }, (_, index) => {
      const memberships = [describe(index.toString(16).padStart(4, '0'), ['0001'])];
      upsert.run(index + 1, `p${index}`, index + 1);
      return { id: index + 1, productId: index + 1, group: 'g', memberships, added: memberships };
    });
    before.perform(extendIn(before)(extended));
  });
  while (before.transaction(() => tidy(before))) {}
  const removedDocuments = Array.from({ length: count / 2 }, (_, index) => 2 * index + 1);
  before.transaction(() => {
    remove(before, removedDocuments);
    before.prepare('delete from product where id % 2 = 1').run();
  });
  before.transaction(() => tidy(before));
  files.closeAll();

  const earlier = new DatabaseSync(join(folder, '1.db'));
  earlier.exec(`drop trigger relation_run_of_member; drop table relation_dropped_run;
    create trigger relation_run_of_member after delete on relation_member when old.run is not null begin
      delete from relation_run where id = old.run; end;
    alter table relation_list drop column gone; alter table relation_member drop column others; pragma user_version = 15`);
  assert.equal(
    earlier.prepare('select changed from relation_list where at_rank is not null').get()?.changed,
    0,
  );
  earlier.close();

  files = new CatalogFiles(folder);
  const file = files.open(1);
  while (file.transaction(() => tidy(file))) {}
  assert.equal(file.prepare('select count(*) as count from relation_entry').get()?.count, count / 2);
});

const groupOf = (productId: number) => `${GROUPS[productId % GROUPS.length]}${productId}`;

const compareMembers = ([a, first]: [number, Member], [b, second]: [number, Member]) => {
  if (first.rank === second.rank) return a - b;
  return first.rank < second.rank ? -1 : 1;
};

const first = (most: number, members: readonly [number, Member][]) =>
  members.slice(0, most).map(([productId]) => [productId, groupOf(productId)] as const);

interface Listed {
  readonly operators: readonly Operator[];
  readonly values: readonly (string | null)[];
  readonly most: number;
  readonly isMerged: boolean;
}

const describe = (rank: string, compared: readonly (string | null)[]): Membership => ({
  build: 1,
  side: 'target',
  keys: [KEY],
  rank: Buffer.from(rank, 'hex').toString('base64'),
  compared: compared.map((value) => value && Buffer.from(value, 'hex').toString('base64')),
});
