import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type Hang, passOverHung } from '../../server/test/support/postgres/hung-process.ts';
import { postgresStoreOn, type TestStore } from '../../server/test/support/test-store.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';
import { describePostgres, openPostgresServer } from './postgres-server.ts';

/** Source: docs/operating/postgresql.md, "When something fails". */
const LONGEST_S = 15;
const PLACES = { statement: 'between two statements', copy: 'within a COPY' } as const;

/** The wait for tasks whose process hangs during a write while it holds the lock of their project. */
export const hungProcess: Measurement = {
  name: 'postgres-hung',
  title: 'PostgreSQL: one of two processes hangs (SIGSTOP) while it writes',
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const at of ['statement', 'copy'] as const) {
      const seconds: number[] = [];
      for (let round = 1; round <= bench.sizes.rounds; round += 1) {
        bench.say(`a process hangs ${PLACES[at]}, round ${round}`);
        seconds.push(await hangOnce(bench, at));
      }
      figures.push({
        name: `until the other one has ended its task, hung ${PLACES[at]}`,
        spread: spreadOf(seconds),
        unit: 's',
        target: { kind: 'at most', value: LONGEST_S },
      });
    }
    return figures;
  },
};

async function hangOnce(bench: Bench, at: Hang['hangsIn']): Promise<number> {
  const database = await (await openPostgresServer(bench)).createDatabase();
  const store = postgresStoreOn(database, mkdtempSync(join(bench.folder, 'hung-')));
  const used: TestStore = {
    ...store,
    // A hung process would survive an aborted measurement.
    onRemove(stop) {
      store.onRemove(stop);
      bench.stopAtEnd(async () => void (await stop()));
    },
  };
  try {
    return await passOverHung({ direct: store, used, hangsIn: at });
  } finally {
    await store.remove();
  }
}
