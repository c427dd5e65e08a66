// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KyselyPlugin, QueryId } from 'kysely';
import type { Database } from '../../src/storage/storage.ts';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/test-service.ts';
import { createTestStore, type TestStore, testedStore } from '../support/test-store.ts';

/** More catalogs than the service keeps open. */
const IDLE = 70;
/** More than one page of the schedule. */
const MANY = 600;

/** Reads that the service needs to find channels with work to do. */
interface Seen {
  /** The number of reads of due channels. */
  rounds: number;
  /** The number of channel rows read. */
  rows: number;
  /** Projects whose catalog version was read. */
  readonly versions: number[];
}

/** Counts rows of channels in answers of the control database. */
class ChannelRows implements KyselyPlugin {
  private readonly seen: Seen;
  private readonly ofChannels = new WeakSet<QueryId>();
  constructor(seen: Seen) {
    this.seen = seen;
  }
  transformQuery: KyselyPlugin['transformQuery'] = ({ node, queryId }) => {
    const text = JSON.stringify(node);
    const isRead = node.kind === 'SelectQueryNode' || node.kind === 'RawNode';
    if (!isRead || !text.includes('"name":"channel"')) return node;
    this.ofChannels.add(queryId);
    if (text.includes('"name":"next_build_at"') && /"operator":"<="| <= \(select /.test(text))
      this.seen.rounds += 1;
    return node;
  };
  transformResult: KyselyPlugin['transformResult'] = async ({ result, queryId }) => {
    if (this.ofChannels.has(queryId)) this.seen.rows += result.rows.length;
    return result;
  };
}

function countReads(): { seen: Seen; replace: NonNullable<TestServiceOptions['replace']> } {
  const seen: Seen = { rounds: 0, rows: 0, versions: [] };
  const counted = (real: Database): Database => ({
    ...real,
    read: real.read.withPlugin(new ChannelRows(seen)),
  });
  return {
    seen,
    replace: {
      storage: (real) => ({ ...real, database: counted(real.database) }),
      store: (real) => ({
        ...real,
        readVersion(projectId) {
          seen.versions.push(projectId);
          return real.readVersion(projectId);
        },
      }),
    },
  };
}

async function passRounds(seen: Seen, rounds: number): Promise<void> {
  for (const until = seen.rounds + rounds; seen.rounds < until; ) await delay(20);
}

const DEFINITION = {
  name: 'Feed',
  format: { type: 'ndjson' },
  filter: { all: [] },
  relations: [],
  destinations: [],
};
const CHANGE = { type: 'change', minSecondsBetween: 1 };

/** Channels of a catalog without products or changes, which are already built. */
const insertIdle = (store: TestStore, projects: readonly number[], each: number) =>
  store.change(
    `insert into channel (project_id, definition, revision, token, next_build_at, built_version, created_at, updated_at)
     values ${projects
       .flatMap((id) => Array.from({ length: each }, (_, index) => [id, index]))
       .map(
         ([id, index]) =>
           `(${id}, '${JSON.stringify({ ...DEFINITION, trigger: CHANGE })}', 1, 'idle-${id}-${index}', 1, 0, 0, 0)`,
       )
       .join()}`,
  );

const listBuilds = async ({ call }: TestService, projectId: number, channelId: number) =>
  (await call('GET', `/management/projects/${projectId}/channels/${channelId}/builds`)).body.items;

const untilBuilds = async (count: number, list: () => Promise<readonly unknown[]>) => {
  while ((await list()).length < count) await delay(50);
};

test('idle channels cost nothing, and a change reads only its own project (§16.4 rule 2)', async (t) => {
  const { seen, replace } = countReads();
  const service = await startTestService(t, { replace });
  const projects: number[] = [];
  for (let index = 0; index < IDLE; index++) projects.push(await service.createProject(`Idle ${index}`));
  await insertIdle(service.store, projects, 1);
  await passRounds(seen, 2);
  const before = { rows: seen.rows, versions: seen.versions.length };
  await passRounds(seen, 5);
  assert.deepEqual({ rows: seen.rows, versions: seen.versions.length }, before, 'nothing of them is read');

  await service.loadCatalog([sold('A1')], projects[7]);
  const { id } = (await service.call('GET', `/management/projects/${projects[7]}/channels`)).body.items[0];
  await untilBuilds(1, () => listBuilds(service, Number(projects[7]), id));
  assert.deepEqual([...new Set(seen.versions.slice(before.versions))], [projects[7]]);
});

test('a due schedule that is not on the first page of channels still starts in the same round (§16.4 rule 1)', async (t) => {
  const { seen, replace } = countReads();
  const service = await startTestService(t, { replace });
  const project = await service.createProject('Many');
  const trigger = { type: 'schedule', cron: '0 4 1 1 *', timeZone: 'UTC' };
  const body = { ...DEFINITION, trigger };
  const { body: last } = await service.call('POST', `/management/projects/${project}/channels`, { body });
  await insertIdle(service.store, [project], MANY);
  await service.store.change(`update channel set next_build_at = 2 where id = ${last.id}`);
  await passRounds(seen, 4);
  const builds = await listBuilds(service, project, last.id);
  assert.deepEqual(
    builds.map(({ startedBy }: { startedBy: string }) => startedBy),
    ['schedule'],
  );
});

test('a change that no process noticed before it died is noticed by the next process (§16.4 rule 2)', async (t) => {
  const store = await createTestStore(t);
  const first = await startTestService(t, { store });
  const project = await createChannelProject(first);
  await project.load(sold('A1'));
  const channel = await project.create({ ...DEFINITION, trigger: CHANGE });
  await untilBuilds(1, () => listBuilds(first, project.projectId, channel.id));
  await project.update(sold('A2'));
  await untilBuilds(2, () => listBuilds(first, project.projectId, channel.id));
  await first.stop();
  // This is the state after a process died between its commit and the notice of it.
  await store.change(
    `update channel set next_build_at = null, built_version = built_version - 1 where id = ${channel.id}`,
  );
  const second = await startTestService(t, { store });
  await untilBuilds(3, () => listBuilds(second, project.projectId, channel.id));
});

test('a channel that waits for a change is built again when its definition changes (§16.4 rule 2)', async (t) => {
  const { seen, replace } = countReads();
  const service = await startTestService(t, { replace });
  const project = await createChannelProject(service);
  await project.load(sold('A1'));
  const channel = await project.create({ ...DEFINITION, trigger: CHANGE });
  await untilBuilds(1, () => listBuilds(service, project.projectId, channel.id));
  await passRounds(seen, 4);
  const body = { ...DEFINITION, name: 'Other', trigger: CHANGE };
  assert.equal((await project.manage('PUT', `/${channel.id}`, { body })).status, 200);
  await untilBuilds(2, () => listBuilds(service, project.projectId, channel.id));
});

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

test(
  'a change written by one process starts the build in another process (§16.4 rule 2)',
  onlyShared,
  async (t) => {
    const { seen, replace } = countReads();
    const store = await createTestStore(t);
    const api = await startTestService(t, { store, role: 'api' });
    await startTestService(t, { store, replace });
    const project = await createChannelProject(api);
    await project.load(sold('A1'));
    const channel = await project.create({ ...DEFINITION, trigger: CHANGE });
    await untilBuilds(1, () => listBuilds(api, project.projectId, channel.id));
    await passRounds(seen, 4);
    // The api process itself makes this change, because a relation of links needs no task.
    const relation = { kind: 'links', name: 'Goes with', tag: 'set' };
    const path = `/management/projects/${project.projectId}/relations`;
    assert.equal((await api.call('POST', path, { body: relation })).status, 201);
    await untilBuilds(2, () => listBuilds(api, project.projectId, channel.id));
  },
);
