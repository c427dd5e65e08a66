import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestStore } from './test-store.ts';

/** The version before a migration, and what takes the migration back, where both stores have it in the same words. */
interface Step {
  readonly catalog: number;
  readonly postgres: number;
  readonly undo: string | { readonly sqlite: string; readonly postgres: string };
}

/** Newest first. */
const STEPS = {
  aliases: {
    ...{ catalog: 5, postgres: 6 },
    undo: {
      sqlite: `delete from meta where name = 'unit_aliases';`,
      postgres: 'alter table catalog drop column unit_aliases;',
    },
  },
  types: {
    ...{ catalog: 4, postgres: 5 },
    undo: 'alter table attribute drop column reason; alter table attribute drop column typing;',
  },
  links: {
    ...{ catalog: 3, postgres: 4 },
    undo: `drop table relation_link; drop table relation_link_source;
      alter table relation_build drop column kind;`,
  },
  answers: {
    ...{ catalog: 2, postgres: 3 },
    undo: `drop table past_ontology; alter table document rename column former_answer to answer;
      alter table staged_product rename column gains_facts to ontology_revision;`,
  },
  paths: { ...{ catalog: 1, postgres: 1 }, undo: 'drop table category_path;' },
} satisfies Record<string, Step>;

/** Of PostgreSQL alone, the newest: a file makes its own when somebody searches. */
const SEARCH = 'drop table search_document; drop table search_walk;';

/** Of PostgreSQL alone, between the answers and the paths. */
const MARKS = `drop table upload_process;
  alter table full_update drop column uploads_under_way, drop column batch_at;`;

/** Of PostgreSQL; the embedded store has these tables beside its catalogs. */
const CHANNELS = 'drop table channel; drop table channel_build; drop table channel_snapshot;';

export interface Earlier {
  /** The migration that is taken back, with all that came after it. */
  readonly before: keyof typeof STEPS;
  /** What the earlier version had stored. */
  readonly stored?: string;
}

/** Makes the store of a service that stopped one of an earlier version, to be upgraded. */
export async function takeBack(
  store: TestStore,
  projectId: number,
  { before, stored = '' }: Earlier,
): Promise<void> {
  const names = Object.keys(STEPS) as (keyof typeof STEPS)[];
  const engine = store.kind === 'postgres' ? 'postgres' : 'sqlite';
  const steps: Step[] = names.slice(0, names.indexOf(before) + 1).map((name) => STEPS[name]);
  const undo = steps.map(({ undo }) => (typeof undo === 'string' ? undo : undo[engine]));
  const { catalog, postgres } = STEPS[before];
  if (store.kind === 'postgres') {
    const marks = before === 'paths' ? MARKS : '';
    await store.change(
      `${CHANNELS} ${SEARCH} ${undo.join('')} ${marks} ${stored} update service set schema_version = ${postgres}`,
    );
    return;
  }
  const file = new DatabaseSync(join(store.dataDir, 'catalogs', `${projectId}.db`));
  file.exec(`${undo.join('')} ${stored} pragma user_version = ${catalog}`);
  file.close();
}
