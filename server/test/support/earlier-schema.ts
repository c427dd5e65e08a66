import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestStore } from './test-store.ts';

/** The versions before a migration, and the SQL that undoes it, which is the same for both stores. */
interface Step {
  readonly catalog: number;
  readonly postgres: number;
  /** `isOwn`: rows have their project, as in PostgreSQL. */
  readonly undo: (isOwn: boolean) => string;
}

/** Newest first. */
const STEPS = {
  reach: {
    catalog: 17,
    postgres: 28,
    undo: (isOwn) => (isOwn ? '' : 'alter table relation_member drop column others;'),
  },
  droppedRuns: {
    catalog: 15,
    postgres: 28,
    undo: (isOwn) =>
      isOwn
        ? ''
        : `drop trigger relation_run_of_member; drop table relation_dropped_run;
          create trigger relation_run_of_member after delete on relation_member when old.run is not null begin
            delete from relation_run where id = old.run; end;
          alter table relation_list drop column gone;`,
  },
  quantities: { catalog: 14, postgres: 27, undo: () => 'alter table relation_link drop column quantity;' },
  runs: {
    catalog: 13,
    postgres: 26,
    undo: (isOwn) =>
      isOwn
        ? ''
        : `drop view relation_entry; drop trigger relation_run_of_member; drop trigger relation_list_of_build;
          drop table relation_list; drop table relation_run; drop index relation_member_least;
          drop index relation_member_most; alter table relation_member drop column run;
          alter table relation_member drop column least; alter table relation_member drop column most;`,
  },
  tables: { catalog: 12, postgres: 25, undo: () => 'drop table value_table;' },
  oneIndex: {
    catalog: 10,
    postgres: 23,
    undo: (isOwn) => {
      const [column, key] = isOwn ? ['project_id bigint not null,', 'project_id,'] : ['', ''];
      return `create table category_document (${column} path_key bigint not null, document_id bigint not null,
          primary key (${key} path_key, document_id));
        create table category_path (${column} path_key bigint not null, path text not null, primary key (${key} path_key));
        create table category_walk (${column} id bigint not null, last_document bigint not null, walked bigint not null,
          primary key (${key} id));`;
    },
  },
  commits: {
    catalog: 9,
    postgres: 19,
    undo: () =>
      ['kind', 'author', 'catalog_version', 'created', 'changed', 'deleted']
        .map((column) => `alter table undo_log drop column ${column};`)
        .join(' '),
  },
  events: { catalog: 7, postgres: 11, undo: () => 'drop table catalog_event;' },
  batches: {
    catalog: 6,
    postgres: 7,
    undo: (own) => {
      const [column, key] = own ? ['project_id bigint not null,', 'project_id,'] : ['', ''];
      const same = own ? 'p.project_id = b.project_id' : 'true';
      return `alter table staged_batch rename to later_batch;
        create table staged_batch (${column} full_update_id bigint not null, batch bigint not null,
          observed text not null, extracted_by text not null, report text not null,
          primary key (${key} full_update_id, batch));
        create table staged_product (${column} full_update_id bigint not null, identifier text not null,
          batch bigint not null, document_id bigint not null, is_fresh bigint not null, product_id bigint not null,
          is_reserved bigint not null, hash ${own ? 'bytea' : 'blob'} not null, gains_facts bigint not null,
          primary key (${key} full_update_id, identifier));
        insert into staged_batch select ${key} full_update_id, batch, observed, extracted_by, report from later_batch;
        insert into staged_product select ${own ? 'b.project_id,' : ''} b.full_update_id, p.identifier, b.batch,
          p.document_id, 0, p.id, 0, p.hash, 0 from later_batch b join product p on ${same};
        insert into staged_product select ${own ? 'b.project_id,' : ''} b.full_update_id, 'fresh ' || p.id, b.batch,
          p.id, 1, p.product_id, 1, p.raw${own ? '::bytea' : ''}, 0 from later_batch b join document p on ${same}
          and p.id >= b.first_document and p.id < b.first_document + b.created + b.changed;
        drop table later_batch; drop table undo_created;
        alter table garbage_document add column identifier text not null default '';
        ${own ? 'create table committed_full_update (project_id bigint, full_update_id bigint);' : ''}`;
    },
  },
  aliases: {
    catalog: 5,
    postgres: 6,
    undo: (isOwn) =>
      isOwn
        ? 'alter table catalog drop column unit_aliases;'
        : `delete from meta where name = 'unit_aliases';`,
  },
  types: {
    catalog: 4,
    postgres: 5,
    undo: () => 'alter table attribute drop column reason; alter table attribute drop column typing;',
  },
  links: {
    catalog: 3,
    postgres: 4,
    undo: () => `drop table relation_link; drop table relation_link_source;
      alter table relation_build drop column kind;`,
  },
  answers: {
    catalog: 2,
    postgres: 3,
    undo: () => `drop table past_ontology; alter table document rename column former_answer to answer;
      alter table staged_product rename column gains_facts to ontology_revision;`,
  },
  paths: { catalog: 1, postgres: 1, undo: () => 'drop table category_path;' },
} satisfies Record<string, Step>;

/** Only on PostgreSQL, and the newest: the embedded store builds its search file on the first search. */
const SEARCH = 'drop table search_word; drop table search_entry; drop table search_progress;';
const SEARCH_ALL = `${SEARCH} drop table search_document; drop table search_walk;`;
const SEARCH_SINCE = 9;

/** The service's own tables, which the embedded store has in another file. */
const ARRIVING = `drop table arriving_batch;
  alter table full_update add column uploads_under_way bigint not null default 0;`;

/** The owners of full updates, which the embedded store has in another file. */
const OWNERS = `alter table full_update drop column opened_by, drop column replaced_by, drop column batch_count,
    drop column product_count;
  alter table full_update_batch drop column digest;`;

/** PostgreSQL only, between the answers and the paths. */
const MARKS = `drop table upload_process;
  alter table full_update drop column uploads_under_way, drop column batch_at;`;

/** Only on PostgreSQL. A stopped program no longer renews its heartbeat. */
const PROCESSES = `alter table upload_process drop column schema_version, drop column place, drop column takes_batches;
  alter table service drop column compatible_from, drop column compatible_to; update service set beat_at = 0;`;

/** The service's own tables, which only PostgreSQL has next to the catalogs. */
const SECRETS = 'alter table pipeline drop column secrets;';
/** The embedded store has tasks in another file. */
const TRACES = 'alter table task drop column traceparent;';
/** PostgreSQL only; the embedded store has these tables next to its catalogs. */
const CHANNELS = 'drop table channel; drop table channel_build; drop table channel_snapshot;';
const DISMISSALS = 'drop table dismissed_suggestion;';
/** Tables that the embedded store has in another file. */
const EVENTS = ['service_event', 'webhook_endpoint', 'webhook_message', 'webhook_delivery', 'webhook_queue']
  .map((table) => `drop table ${table};`)
  .join(' ');
/** The users of the console. */
const USERS = `alter table console_session drop column address, drop column user_agent;
  alter table console_user drop column issuer, drop column subject, drop column roles,
    drop column passkeys;
  drop table passkey; drop table passkey_challenge;
  alter table invitation drop column roles;`;

export interface Earlier {
  /** The migration to undo, with all later ones. */
  readonly before: keyof typeof STEPS;
  /** SQL for the content that the earlier version had stored. */
  readonly stored?: string;
}

/** Turns the store of a stopped service into one of an earlier version, to test the upgrade. */
export async function takeBack(
  store: TestStore,
  projectId: number,
  { before, stored = '' }: Earlier,
): Promise<void> {
  const names = Object.keys(STEPS) as (keyof typeof STEPS)[];
  const undo = names
    .slice(0, names.indexOf(before) + 1)
    .map((name) => STEPS[name].undo(store.kind === 'postgres'));
  const { catalog, postgres } = STEPS[before];
  if (store.kind === 'postgres') {
    const marks = before === 'paths' ? MARKS : '';
    const search = postgres < SEARCH_SINCE ? SEARCH_ALL : SEARCH;
    await store.change(
      `${ARRIVING} ${OWNERS} ${PROCESSES} ${TRACES} ${USERS} ${EVENTS} ${search} ${SECRETS} ${CHANNELS} ${DISMISSALS} ${undo.join('')} ${marks} ${stored} update service set schema_version = ${postgres}`,
    );
    return;
  }
  const file = new DatabaseSync(join(store.dataDir, 'catalogs', `${projectId}.db`));
  file.exec(`${undo.join('')} ${stored} pragma user_version = ${catalog}`);
  file.close();
}
