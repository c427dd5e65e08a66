// runs: postgres deep
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createDatabase } from '../../../test/support/postgres/test-database.ts';
import { until } from '../../../test/support/task-process.ts';
import { startTestService } from '../../../test/support/test-service.ts';
import { findServer, postgresStoreOn } from '../../../test/support/test-store.ts';
import type { CatalogStore } from '../catalog.ts';

const LEASES_LOST = "update task set leased_by = 'another', lease_until = 0 where leased_by is not null";

/** Starts two services on one database. The first runs no tasks, and its writes of the ontology wait for the test. */
async function startTwo(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'relata-test-'));
  const store = postgresStoreOn(await createDatabase(await findServer()), dataDir);
  t.after(store.remove);
  const gate = Promise.withResolvers<void>();
  store.onRemove(async () => gate.resolve());
  const stored = {
    arrived: 0,
    pass: Promise.resolve(),
    close() {
      stored.pass = gate.promise;
      return gate.resolve;
    },
  };
  const replaceOntology =
    (real: CatalogStore): CatalogStore['replaceOntology'] =>
    async (...change) => {
      stored.arrived += 1;
      await stored.pass;
      return real.replaceOntology(...change);
    };
  const replace = { store: (real: CatalogStore) => ({ ...real, replaceOntology: replaceOntology(real) }) };
  const second = await startTestService(t, { store });
  const first = await startTestService(t, { store, replace, role: 'api' });
  const { projectId } = first;
  await first.loadCatalog([{ identifier: 'A', name: 'A', attributes: [{ key: 'Width', value: '10 cm' }] }]);
  const path = `/management/projects/${projectId}/ontology`;
  const put = (service: typeof first, name: string) => {
    const attributes = [{ name, type: 'TEXT_ATTRIBUTE', synonyms: ['Width'] }];
    return service.call('PUT', path, { body: { mode: 'own', attributes } });
  };
  const listOpen = async () => {
    const { body } = await second.call('GET', `/tasks?projectId=${projectId}`);
    const tasks = body.tasks as { name: string; taskStatus: string; finishTime: number | null }[];
    return tasks.filter((task) => task.finishTime === null);
  };
  const readFacts = async () => JSON.stringify(await second.lookUp(['A'], projectId));
  return { store, first, second, stored, put, listOpen, readFacts };
}

test('a re-extraction in any process waits until its ontology is stored', async (t) => {
  const { first, stored, put, listOpen, readFacts, ...rest } = await startTwo(t);
  const open = stored.close();
  const putting = put(first, 'Breadth');
  await until('it is to be stored', () => stored.arrived === 1);
  assert.deepEqual(
    (await listOpen()).map(({ name, taskStatus }) => [name, taskStatus]),
    [['re-extraction', 'PENDING']],
  );
  // Simulates a first process that hung for long: the second process runs the re-extraction with the present
  // ontology.
  await rest.store.change(LEASES_LOST);
  await until('it ran too early', async () => (await listOpen()).length === 0);
  assert.doesNotMatch(await readFacts(), /Breadth/);
  open();
  assert.equal((await putting).status, 200);
  await until('another has run', async () => (await listOpen()).length === 0);
  assert.match(await readFacts(), /Breadth/);
});

test('facts follow the later of two concurrent changes of the ontology', async (t) => {
  const { first, second, put, listOpen, readFacts } = await startTwo(t);
  for (let round = 1; round <= 5; round += 1) {
    const answers = await Promise.all([put(first, `First ${round}`), put(second, `Second ${round}`)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    await until('both were followed', async () => (await listOpen()).length === 0);
    const { body } = await second.call('GET', `/management/projects/${first.projectId}/ontology`);
    const [{ name }] = body.attributes;
    assert.match(await readFacts(), new RegExp(name));
  }
});
