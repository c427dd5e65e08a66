// runs: postgres deep, waits
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Migration, readMigrations } from '../../src/storage/migrations/migrations.ts';
import { migratePostgres, openPostgres } from '../../src/storage/postgres/postgres.ts';
import { Browser, PASSWORD } from '../support/browser.ts';
import { listWaiting, makeProject, passOverHung } from '../support/postgres/hung-process.ts';
import { type PostgresServer, query, startPostgres } from '../support/postgres/postgres-server.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import {
  createTestStore,
  findServer,
  makeTestStore,
  postgresStoreOn,
  testedStore,
} from '../support/test-store.ts';

/** Several processes on one database: the guarantees to callers, one by one, whichever process answers. */

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

const productsOf = (...identifiers: string[]) => ({
  products: identifiers.map((identifier) => ({ identifier, name: identifier })),
});

/** Two services in this process, each with its own connections and threads. */
async function startTwo(t: TestContext, settings: Record<string, string> = {}) {
  const store = await createTestStore(t);
  const first = await startTestService(t, { store, settings });
  const second = await startTestService(t, { store, settings });
  return { store, first, second, projectId: first.projectId };
}

/** Repeats a check. @returns the time until the condition was true, in ms */
async function untilHolds(what: string, holds: () => Promise<boolean>, withinMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const isTrue = await holds();
    const passed = performance.now() - start;
    if (isTrue) return passed;
    assert.ok(passed < withinMs, `${what} was not true within ${withinMs} ms`);
    await delay(50);
  }
}

suite('two services on one database answer the same', () => {
  let shared: Promise<Awaited<ReturnType<typeof startTwo>>> | undefined;
  after(async () => (await shared)?.store.remove());

  /** The same two services for all tests that use their own project. */
  async function shareTwo() {
    shared ??= (async () => {
      const store = await makeTestStore();
      // Removing the store stops its services.
      const stops = new Stops();
      const first = await startTestService(stops, { store });
      return { store, first, second: await startTestService(stops, { store }), projectId: first.projectId };
    })();
    const { first, second } = await shared;
    return { first, second, projectId: await first.createProject('Project') };
  }

  test("every process shows a task's changes once the task has ended", onlyShared, async () => {
    const { first, second, projectId } = await shareTwo();
    for (let round = 1; round <= 10; round += 1) {
      const body = { products: [{ identifier: 'A', name: `round ${round}` }] };
      const [current, other] = round % 2 === 0 ? [first, second] : [second, first];
      const { body: answer } = await current.call('POST', `/products?projectId=${projectId}`, { body });
      await other.ended(answer.task.id);
      for (const service of [first, second]) {
        const [product] = await service.lookUp(['A'], projectId);
        assert.equal(product.name, `round ${round}`);
      }
    }
  });

  test('a full update may send its batches to any process', onlyShared, async () => {
    const { first, second, projectId } = await shareTwo();
    const services = [first, second];
    const pick = (index: number) => services[index % 2] as TestService;
    const post = async (index: number, path: string, body?: object) => {
      const answer = await pick(index).call('POST', `/products/batch/${path}?projectId=${projectId}`, {
        body,
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    await post(0, 'initiate');
    for (let batch = 0; batch < 6; batch += 1) await post(batch, 'upload', productsOf(`B${batch}`, 'shared'));
    const preview = await post(1, 'preview');
    assert.equal(preview.created.count, 7);
    const started = await post(1, 'start');
    await first.ended(started.data.task.id);
    assert.equal((await second.lookUp(['shared', 'B0', 'B5'], projectId)).length, 3);
  });

  test(
    'updates of one project take effect in order, whichever process accepted them (§3.3)',
    onlyShared,
    async () => {
      const { first, second, projectId } = await shareTwo();
      const ids: string[] = [];
      for (let index = 0; index < 30; index += 1) {
        const service = index % 2 === 0 ? first : second;
        const body = { products: [{ identifier: 'A', name: `${index}` }] };
        const answer = await service.call('POST', `/products?projectId=${projectId}`, { body });
        ids.push(answer.body.task.id);
      }
      for (const id of ids) assert.equal((await first.ended(id)).taskStatus, 'FINISHED');
      const [product] = await second.lookUp(['A'], projectId);
      assert.equal(product.name, '29');
      const finished = await Promise.all(ids.map((id) => second.ended(id)));
      const times = finished.map(({ finishTime }) => finishTime);
      assert.deepEqual(
        times,
        [...times].sort((a, b) => Number(a) - Number(b)),
      );
    },
  );

  test(
    'a deleted key is refused immediately where it was deleted, and everywhere within a second (§5)',
    onlyShared,
    async (t) => {
      const { first, second } = await shareTwo();
      const wanted = { name: 'short-lived', scope: { type: 'account' } };
      const { body: key } = await first.call('POST', '/management/api-keys', { body: wanted });
      const ask = async (service: TestService) =>
        (await service.call('GET', '/projects', { key: key.key })).status;
      assert.deepEqual([await ask(first), await ask(second)], [200, 200]);
      await first.call('DELETE', `/management/api-keys/${key.id}`);
      assert.equal(await ask(first), 401);
      const passed = await untilHolds('the deletion', async () => (await ask(second)) === 401, 10_000);
      t.diagnostic(`the other process refused it after ${Math.round(passed)} ms`);
    },
  );

  test(
    'sessions are valid in every process, and their ends and roles apply within a second (§5.6 rule 6)',
    onlyShared,
    async (t) => {
      const { first, second } = await startTwo(t);
      const owner = await signUp(first);
      const elsewhere = (browser: Browser) => {
        const other = new Browser(second.address);
        other.cookie = browser.cookie;
        other.csrfToken = browser.csrfToken;
        return other;
      };
      const statusOf = async (browser: Browser) => (await browser.call('GET', '/management/session')).status;
      assert.equal(await statusOf(elsewhere(owner)), 200);

      const wish = { email: 'eve@shop.example', role: 'viewer' };
      const { link } = await owner.succeed('POST', '/management/invitations', wish);
      const eve = new Browser(first.address);
      const given = { token: link.split('/').at(-1), name: 'Eve', password: PASSWORD };
      const { user } = await eve.succeed('POST', '/management/invitations/accept', given);
      const eveThere = elsewhere(eve);
      const write = async () =>
        (await eveThere.call('POST', '/management/project-groups', { body: { name: 'x' } })).status;
      assert.equal(await write(), 403);
      await owner.succeed('PATCH', `/management/users/${user.id}`, { role: 'editor' });
      const promoted = await untilHolds('the role', async () => (await write()) === 201, 3_000);
      await owner.succeed('PATCH', `/management/users/${user.id}`, { role: 'viewer' });
      const demoted = await untilHolds('the role', async () => (await write()) === 403, 3_000);
      await owner.succeed('DELETE', `/management/users/${user.id}`);
      const deleted = await untilHolds('the deletion', async () => (await statusOf(eveThere)) === 401, 3_000);
      const ownerThere = elsewhere(owner);
      assert.equal(await statusOf(ownerThere), 200);
      await owner.succeed('DELETE', '/management/session');
      const out = await untilHolds('the end', async () => (await statusOf(ownerThere)) === 401, 3_000);
      t.diagnostic(
        `the other process applied it after ${[promoted, demoted, deleted, out].map(Math.round).join(', ')} ms`,
      );
    },
  );

  test('password attempts are counted over all processes (§5.6 rule 9)', onlyShared, async (t) => {
    const { first, second } = await startTwo(t);
    await signUp(first);
    const body = { email: 'ada@shop.example', password: 'wrong' };
    const answers = Array.from({ length: 30 }, (_, index) =>
      new Browser((index % 2 === 0 ? first : second).address).call('POST', '/management/session', { body }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 401).length, 10);
    assert.equal(statuses.filter((status) => status === 429).length, 20);
  });

  test(
    'a link used at two processes at the same time creates one user (§14.5, §14.6)',
    onlyShared,
    async (t) => {
      const { first, second } = await startTwo(t);
      const token = await first.app.access.makeOwnerLink(1, 'test');
      const use = (path: string, body: object) =>
        Promise.all(
          [first, second, first, second].map(({ address }, index) =>
            new Browser(address).call('POST', path, {
              body: { ...body, email: `user${index}@shop.example` },
            }),
          ),
        );
      const given = { name: 'Ada', password: PASSWORD };
      const owners = (await use('/management/owner', { ...given, token })).map(({ status }) => status);
      assert.deepEqual(owners.sort(), [200, 400, 400, 400]);
    },
  );

  /** The owner of the first account, signed in at one process. */
  async function signUp({ app, address }: TestService): Promise<Browser> {
    const browser = new Browser(address);
    const token = await app.access.makeOwnerLink(1, 'test');
    const body = { token, email: 'ada@shop.example', name: 'Ada', password: PASSWORD };
    await browser.succeed('POST', '/management/owner', body);
    return browser;
  }

  test('the rate limit of a key is counted over all processes (§5.3)', onlyShared, async () => {
    const { first, second } = await shareTwo();
    const wanted = { name: 'limited', scope: { type: 'account' }, rateLimit: { requestsPerMinute: 20 } };
    const { body: key } = await first.call('POST', '/management/api-keys', { body: wanted });
    const answers = Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? first : second).call('GET', '/projects', { key: key.key }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 20);
    assert.equal(statuses.filter((status) => status === 429).length, 20);
  });

  test(
    'one Idempotency-Key sent to two processes at the same time is done once (§7.5)',
    onlyShared,
    async () => {
      const { first, second, projectId } = await shareTwo();
      for (let round = 1; round <= 10; round += 1) {
        const request = { body: productsOf(`I${round}`), headers: { 'idempotency-key': `round ${round}` } };
        const answers = await Promise.all(
          [first, second].map((service) => service.call('POST', `/products?projectId=${projectId}`, request)),
        );
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200],
          JSON.stringify(answers.map(({ body }) => body)),
        );
        assert.equal(answers[0]?.body.task.id, answers[1]?.body.task.id, 'both have the first answer');
      }
      const { body } = await first.call('GET', `/tasks?projectId=${projectId}&limit=1000`);
      assert.equal(body.tasks.length, 10);
    },
  );

  test('changes of the ontology and of relations apply on every process', onlyShared, async () => {
    const { first, second, projectId } = await shareTwo();
    const products = ['A', 'B'].map((identifier) => ({
      identifier,
      name: identifier,
      attributes: [{ key: 'Width', value: '10 mm' }],
    }));
    await first.loadCatalog(products, projectId);
    const relation = { name: 'All', tag: 'all', source: { all: [] }, target: { all: [] } };
    const path = `/management/projects/${projectId}`;
    assert.equal((await second.call('POST', `${path}/relations`, { body: relation })).status, 201);
    const tasksOf = async (service: TestService) =>
      (await service.call('GET', `/tasks?projectId=${projectId}&limit=100`)).body.tasks;
    for (const { id } of await tasksOf(first)) await first.ended(id);
    const tags = encodeURIComponent(JSON.stringify([{ tag: 'all' }]));
    const related = async (service: TestService) => {
      const { body } = await service.call(
        'GET',
        `/search/relations/result?projectId=${projectId}&identifier=A&includeTags=${tags}`,
      );
      return body.tags?.[0]?.relations[0]?.searchResult.length;
    };
    assert.deepEqual([await related(first), await related(second)], [1, 1]);

    const { body: ontology } = await first.call('GET', `${path}/ontology`);
    const attributes = ontology.attributes.map((attribute: object) => ({
      ...attribute,
      type: 'TEXT_ATTRIBUTE',
      unitName: undefined,
    }));
    const changed = await second.call('PUT', `${path}/ontology`, { body: { mode: 'own', attributes } });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    assert.equal((await first.call('GET', `${path}/ontology`)).body.mode, 'own');
  });
});

test('a process with --role api accepts work, and one with --role worker does it', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const api = await startProcess(store, {}, 'api');
  const group = await api.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const body = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
  const { body: project } = await api.call('POST', '/management/projects', { body });
  const path = `/products?projectId=${project.id}`;
  const { body: accepted } = await api.call('POST', path, { body: productsOf('A') });
  const waiting = await api.call('GET', `/tasks/${accepted.task.id}?wait=2`);
  assert.equal(waiting.body.task.finishTime, null, 'no worker runs yet');

  const worker = await startProcess(store, {}, 'worker');
  const { body: done } = await api.call('GET', `/tasks/${accepted.task.id}?wait=60`);
  assert.equal(done.task.taskStatus, 'FINISHED');
  assert.equal((await worker.call('GET', '/health/ready')).status, 200);
  assert.equal((await worker.call('GET', '/projects')).status, 404, 'a worker accepts no requests');
});

test('other processes continue the tasks of a killed process (§3.3)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const victim = await startProcess(store);
  const group = await victim.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const body = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
  const { body: project } = await victim.call('POST', '/management/projects', { body });
  const path = `/products?projectId=${project.id}`;
  await victim.call('POST', path, { body: productsOf('first') });
  const other = await startProcess(store);

  const release = await store.lockCatalog(project.id);
  const { body: accepted } = await victim.call('POST', path, { body: productsOf('A') });
  const isClaimed = `select 1 from task where project_id = ${project.id} and lease_until is not null and finish_time is null`;
  const url = store.settings.RELATA_DATABASE_URL ?? '';
  await untilHolds('its claim', async () => (await query(url, isClaimed)).length > 0, 30_000);
  await victim.kill();
  const killedAt = performance.now();
  await release();
  const { body: done } = await other.call('GET', `/tasks/${accepted.task.id}?wait=60`);
  const seconds = (performance.now() - killedAt) / 1_000;
  assert.equal(done.task.taskStatus, 'FINISHED');
  t.diagnostic(`the task of the killed process ended after ${seconds.toFixed(1)} s`);
  assert.ok(seconds < 15, `it took ${seconds} s`);
});

test('a list of links survives the process that was running its task (§12.8)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const url = `${store.settings.RELATA_DATABASE_URL}`;
  const [first, second] = [await startProcess(store), await startProcess(store)];
  const projectId = await makeProject(first);
  const relations = `/management/projects/${projectId}/relations`;
  const listed = { name: 'Listed', tag: 'listed', kind: 'links' };
  const { body: relation } = await first.call('POST', relations, { body: listed });
  const path = `${relations}/${relation.id}/links`;
  const put = async (service: ServiceProcess, lines: number) => {
    const body = Array.from(
      { length: lines },
      (_, index) => `{"source":"S${index}","targets":["T${index}"]}\n`,
    ).join('');
    const response = await fetch(`${service.address}${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/x-ndjson' },
      body,
    });
    const answer = (await response.json()) as { task: { id: string } };
    assert.equal(response.status, 200, JSON.stringify(answer));
    return answer.task.id;
  };
  const ask = async <Row>(sql: string) => (await query<Record<string, unknown>>(url, sql)) as Row[];
  const owner = async (id: string) =>
    (await ask<{ owner: string }>(`select leased_by as owner from task where id = '${id}'`))[0]?.owner;
  const untilWaiting = (count: number) =>
    untilHolds(`${count} waiting`, async () => (await listWaiting(store)).length === count, 60_000);

  // This process must not claim the task first.
  second.pause();
  // Three pieces or more. The first one waits for this lock.
  const { release } = await store.holdBack(projectId, async () => {});
  const id = await put(first, 30_000);
  await untilWaiting(1);
  const former = await owner(id);
  first.pause();
  for (const pid of await listWaiting(store)) await ask(`select pg_terminate_backend(${pid})`);
  second.continue();
  await untilHolds('the other process has the task', async () => (await owner(id)) !== former, 60_000);
  await untilWaiting(1);
  // The process detects that it lost its task, and removes its rows after the other process's first piece.
  first.continue();
  await untilWaiting(2);
  await release();

  const { body: done } = await second.call('GET', `/tasks/${id}?wait=60`);
  assert.equal(done.task.taskStatus, 'FINISHED', JSON.stringify(done.task));
  const { text } = await second.call('GET', path);
  assert.equal(text.split('\n').length - 1, 30_000);
  const { body: again } = await second.call('GET', `/tasks/${await put(second, 1)}?wait=60`);
  assert.equal(again.task.taskStatus, 'FINISHED', JSON.stringify(again.task));
  await untilHolds(
    'no link of the removed list is left',
    async () =>
      (await ask('select from relation_link where build_id not in (select id from relation_build) limit 1'))
        .length === 0,
    30_000,
  );
});

for (const hangsIn of ['statement', 'copy'] as const) {
  test(
    `a process that hangs within a transaction, at a ${hangsIn}, does not block others (§3.3)`,
    onlyShared,
    async (t) => {
      const store = await createTestStore(t);
      const seconds = await passOverHung({ direct: store, used: store, hangsIn });
      t.diagnostic(`the task of the process that hangs ended after ${seconds.toFixed(1)} s`);
      // Within 15 s, on an otherwise idle machine.
      assert.ok(seconds < 30, `it took ${seconds} s`);
    },
  );
}

test(
  'a process that hangs during its heartbeat is removed with its database sessions (§3.3)',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const url = store.settings.RELATA_DATABASE_URL ?? '';
    const hung = new pg.Client({ connectionString: url, application_name: 'relata 00000000000000aa' });
    hung.on('error', () => {});
    t.after(() => hung.end().catch(() => {}));
    await hung.connect();
    await query(url, "insert into upload_process (id, seen_at) values ('00000000000000aa', 1)");
    await hung.query("begin; update upload_process set seen_at = 2 where id = '00000000000000aa'");
    await startTestService(t, { store });
    await untilHolds(
      'removal',
      async () => (await query(url, "select from upload_process where id = '00000000000000aa'")).length === 0,
      30_000,
    );
    await assert.rejects(hung.query('commit'));
  },
);

const newest = readMigrations('postgres').at(-1)?.version ?? 0;

/** The migrations of a newer program. */
const newer = (...later: Pick<Migration, 'isCompatible'>[]): Migration[] => [
  ...readMigrations('postgres'),
  ...later.map((migration, index) => ({
    ...migration,
    version: newest + 1 + index,
    sql: `create table later_${index} (id bigint);\n`,
  })),
];

test(
  'a start that would migrate the database is refused while an older program runs on it',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const [older, worker] = [await startProcess(store), await startProcess(store, {}, 'worker')];
    const postgres = openPostgres({
      url: `${store.settings.RELATA_DATABASE_URL}`,
      connections: 1,
      prepares: false,
    });
    t.after(() => postgres.close());
    const isOlder = `${hostname()} pid \\d+ \\(schema ${newest}, last seen \\d+ s ago\\)`;
    await assert.rejects(
      migratePostgres(postgres, newer({ isCompatible: false })),
      new RegExp(
        `from schema ${newest} to ${newest + 1}, .*: ${isOlder}; ${isOlder}. Stop all older processes`,
      ),
    );
    const projectId = await makeProject(older);
    await migratePostgres(postgres, newer({ isCompatible: true }));
    await older.call('POST', `/products?projectId=${projectId}`, { body: productsOf('A') });
    await assert.rejects(
      migratePostgres(postgres, newer({ isCompatible: true }, { isCompatible: false })),
      new RegExp(`from schema ${newest + 1} to ${newest + 2}, .*: ${isOlder}; ${isOlder}.`),
    );
    assert.equal((await older.call('GET', '/health/ready')).status, 200, 'the first one was compatible');
    await worker.stop();
    await older.kill();
    await migratePostgres(postgres, newer({ isCompatible: true }, { isCompatible: false }));
  },
);

test(
  'a start that would migrate detects a program of version 0.1, which does not record its processes',
  onlyShared,
  async (t) => {
    const database = await createDatabase(await findServer(), { isEmpty: true });
    t.after(database.drop);
    const postgres = openPostgres({ url: database.url, connections: 1, prepares: false });
    t.after(() => postgres.close());
    await migratePostgres(postgres, readMigrations('postgres').slice(0, 21));
    // Each process of that version does this every five seconds.
    const beat = () =>
      postgres.run('update service set beat_at = (extract(epoch from clock_timestamp()) * 1000)::bigint');
    await beat();
    const timer = setInterval(() => void beat().catch(() => {}), 1_000);
    const refused = migratePostgres(postgres);
    await assert
      .rejects(
        refused,
        /an older one still runs on it: a process of version 0\.1 \(schema 21, last seen \d+ s ago\)/,
      )
      .finally(() => clearInterval(timer));
    // The service detects its end in time.
    await migratePostgres(postgres);
  },
);

test(
  'a process whose schema was upgraded is not ready, refuses writes and runs no task (§10.3, §10.4)',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const [api, worker] = [await startProcess(store, {}, 'api'), await startProcess(store, {}, 'worker')];
    const projectId = await makeProject(api);
    const path = `/products?projectId=${projectId}`;
    const ask = async (sql: string) =>
      (await query<{ value: string }>(`${store.settings.RELATA_DATABASE_URL}`, sql))[0]?.value;
    const first = await api.call('POST', path, { body: productsOf('A') });
    await api.call('GET', `/tasks/${first.body.task.id}?wait=60`);
    worker.pause();
    const { body: waiting } = await api.call('POST', path, { body: productsOf('B') });
    await store.change('update service set schema_version = schema_version + 1');
    const isMoved = async (process: ServiceProcess) => {
      const { status, body } = await process.call('GET', '/health/ready');
      assert.ok(status === 200 || body.reason === 'schema_moved', JSON.stringify(body));
      return status === 503;
    };
    await untilHolds('the api process is not ready', () => isMoved(api), 60_000);
    for (const [method, where, body] of [
      ['POST', path, productsOf('C')],
      ['POST', '/management/project-groups', { name: 'Group' }],
      ['POST', `/products/batch/initiate?projectId=${projectId}`, undefined],
    ] as const) {
      const refused = await api.call(method, where, { body });
      assert.equal(refused.status, 503, `${method} ${where}: ${refused.text}`);
      assert.equal(refused.body.reason, 'schema_moved');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      assert.match(refused.body.details.join(), /schema \d+, this program knows \d+: stop it/);
    }
    const answer = await api.call(
      'GET',
      `/product-service/products-by-sku?projectId=${projectId}&identifiers=A`,
    );
    assert.equal(answer.body.products.length, 1, 'lookups continue');

    // This is the state after the machine hung: the process checked the schema some seconds ago, so its version is
    // outdated.
    const isSilent = `select (not exists (select from upload_process
      where takes_batches = 0 and seen_at > extract(epoch from clock_timestamp()) * 1000 - 12000))::text as value`;
    await untilHolds('the worker hangs', async () => (await ask(isSilent)) === 'true', 60_000);
    worker.continue();
    await untilHolds('the worker is not ready', () => isMoved(worker), 60_000);
    const owner = `select coalesce(leased_by, 'none') as value from task where id = '${waiting.task.id}'`;
    assert.equal(await ask(owner), 'none');

    await store.change('update service set schema_version = schema_version - 1');
    await untilHolds('the api process is ready', async () => !(await isMoved(api)), 60_000);
    const { body: done } = await api.call('GET', `/tasks/${waiting.task.id}?wait=60`);
    assert.equal(done.task.taskStatus, 'FINISHED');
  },
);

let durable: Promise<PostgresServer> | undefined;
after(async () => (await durable)?.stop());

/** A server of the file, which its tests may stop and suspend. */
const startDurable = () => (durable ??= startPostgres({ isDurable: true }));

/** Seconds without a database. The full 30 s would take too long in every run. */
const AWAY_S = Number(process.env.RELATA_TEST_AWAY_S ?? 8);

test(
  `requests get 503 while the database is unreachable for ${AWAY_S} s, and everything resumes afterwards`,
  onlyShared,
  async (t) => {
    const server = await startDurable();
    const database = await createDatabase(server.url);
    const store = postgresStoreOn(database, '/nonexistent');
    const service = await startTestService(t, { store: { ...store, remove: async () => {} } });
    const { projectId } = service;
    await service.loadCatalog([{ identifier: 'A' }]);
    const update = (identifier: string) =>
      service.call('POST', `/products?projectId=${projectId}`, { body: productsOf(identifier) });
    const before = await Promise.all(Array.from({ length: 20 }, (_, index) => update(`B${index}`)));
    await server.halt();

    try {
      const until = performance.now() + AWAY_S * 1_000;
      while (performance.now() < until) {
        const refused = await Promise.all([
          update('C'),
          service.call('GET', `/product-service/products-by-sku?projectId=${projectId}&identifiers=A`),
          service.call('GET', '/health/ready'),
        ]);
        for (const { status, headers, body } of refused) {
          assert.equal(status, 503, JSON.stringify(body));
          assert.ok(Number(headers.get('retry-after')) >= 1);
        }
        assert.equal((await service.call('GET', '/health/live')).status, 200);
        await delay(250);
      }
    } finally {
      await server.start();
    }

    await untilHolds(
      'readiness',
      async () => (await service.call('GET', '/health/ready')).status === 200,
      30_000,
    );
    for (const { body } of before) assert.equal((await service.ended(body.task.id)).taskStatus, 'FINISHED');
    const { body } = await update('D');
    assert.equal((await service.ended(body.task.id)).taskStatus, 'FINISHED');
    assert.equal(
      (await service.lookUp(['A', 'B0', 'B19', 'C', 'D'])).length,
      4,
      'refused requests stored nothing',
    );
  },
);

test(
  'requests that wait for a hanging database are soon answered 503 (§10.4 rule 5)',
  onlyShared,
  async (t) => {
    const server = await startDurable();
    // This also runs if the test fails. Otherwise no service could stop, and no other test could use the server.
    t.after(() => server.continue());
    const database = await createDatabase(server.url);
    const store = postgresStoreOn(database, '/nonexistent');
    const service = await startTestService(t, { store: { ...store, remove: async () => {} } });
    const { projectId } = service;
    await service.loadCatalog([{ identifier: 'A' }]);
    const lookUp = () =>
      service.call('GET', `/product-service/products-by-sku?projectId=${projectId}&identifiers=A`);
    const body = productsOf('B');
    server.pause();
    for (let round = 1; round <= 2; round += 1) {
      const begunAt = performance.now();
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, lookUp),
        service.call('POST', `/products?projectId=${projectId}`, { body }),
        service.call('GET', `/tasks?projectId=${projectId}`),
      ]);
      const seconds = (performance.now() - begunAt) / 1_000;
      t.diagnostic(`round ${round}: answered after ${seconds.toFixed(1)} s`);
      for (const { status, headers } of answers) {
        assert.equal(status, 503);
        assert.ok(Number(headers.get('retry-after')) >= 1);
      }
      // The service would abort a statement after 70 s.
      assert.ok(seconds < 50, `it took ${seconds} s`);
    }
    server.continue();
    await untilHolds(
      'readiness',
      async () => (await service.call('GET', '/health/ready')).status === 200,
      30_000,
    );
    assert.equal((await lookUp()).status, 200);
    assert.equal((await service.call('POST', `/products?projectId=${projectId}`, { body })).status, 200);
  },
);

test('a slow statement is not interrupted while the database answers others', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const postgres = openPostgres({
    url: `${store.settings.RELATA_DATABASE_URL}`,
    connections: 1,
    prepares: true,
  });
  t.after(() => postgres.close());
  // Longer than the limit for a hanging database.
  assert.equal((await postgres.rows('select pg_sleep(10)')).length, 1);
});
