import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { catalogPath, type DataFolder, listCatalogs, makeStoreFolders } from '../storage/folder/folder.ts';
import { migrate } from '../storage/migrations/migrations.ts';
import { createPayloadFiles } from '../storage/payloads/payloads.ts';
import { performNow, SERVICE, type SqlValue } from '../storage/programs/programs.ts';
import {
  CatalogFile,
  CONTROL_PRAGMAS,
  openSqlite,
  programSessionOf,
  readInstallation,
  refuseStrayCatalogs,
} from '../storage/sqlite/sqlite.ts';
import { findMove, MOVE_PROGRESS, MOVE_ROW, translateSqliteError } from '../storage/storage.ts';
import {
  type Counters,
  CREATE_PROGRESS,
  type FoundMove,
  type MoveDriver,
  type MoveTransaction,
  type Unit,
} from './move-driver.ts';
import { listed, type MovedRow, quoted, showCatalogRow } from './move-tables.ts';

/** Opens a data folder. Opening a file creates it if needed and migrates it to the newest schema. */
export function openEmbeddedDriver(folder: DataFolder): MoveDriver {
  refuseStrayCatalogs(folder);
  makeStoreFolders(folder);
  const control = openSqlite(folder.control, CONTROL_PRAGMAS);
  migrate(control, 'control');
  return new EmbeddedDriver(folder, control);
}

/** A data folder as one end of a move. One of its catalogs is open at a time. */
class EmbeddedDriver implements MoveDriver {
  readonly engine = 'embedded';
  readonly name: string;
  readonly payloads: MoveDriver['payloads'];
  private readonly folder: DataFolder;
  private readonly control: DatabaseSync;
  private readonly installation: string | undefined;
  private catalog: { projectId: number; database: DatabaseSync } | undefined;

  constructor(folder: DataFolder, control: DatabaseSync) {
    this.folder = folder;
    this.control = control;
    this.name = folder.root;
    this.payloads = createPayloadFiles(folder.payloads);
    this.installation = readInstallation(control);
  }

  async findPayloadBytes(_projectId: number, name: string): Promise<number | undefined> {
    return statSync(join(this.folder.payloads, name), { throwIfNoEntry: false })?.size;
  }

  async listProjects(): Promise<readonly number[]> {
    return [SERVICE, ...listCatalogs(this.folder)];
  }

  open(projectId: number): MoveTransaction {
    return sessionOf(this.openDatabase(projectId));
  }

  /** The work may wait within the transaction, because only the move uses the file. */
  async transaction<Result>(
    projectId: number,
    work: (tx: MoveTransaction) => Promise<Result>,
  ): Promise<Result> {
    const database = this.openDatabase(projectId);
    database.exec('begin immediate');
    try {
      if (projectId !== SERVICE) database.exec(CREATE_PROGRESS);
      const result = await work(sessionOf(database));
      database.exec('commit');
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw translateSqliteError(error);
    }
  }

  async readCounters(): Promise<Counters> {
    const rows = this.control.prepare('select name, seq from sqlite_sequence').all();
    return new Map(rows.map(({ name, seq }) => [String(name), Number(seq)]));
  }

  writeCounters(counters: Counters): Promise<void> {
    const { control } = this;
    return this.transaction(SERVICE, async () => {
      for (const [table, last] of counters) {
        // New numbers follow the last assigned number, even if its row has been deleted.
        control.prepare('delete from sqlite_sequence where name = ?').run(table);
        if (last > 0)
          control.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, last);
      }
    });
  }

  async findMove(): Promise<FoundMove | undefined> {
    return performNow(findMove(), programSessionOf(this.control));
  }

  async settle(): Promise<void> {}

  /** Marks the move as compared first and changes the control database last, so an interrupted end can be resumed. */
  async endMove(): Promise<void> {
    const { control, folder } = this;
    control.prepare(`update ${MOVE_PROGRESS} set is_done = 1 where table_name = ?`).run(MOVE_ROW);
    for (const projectId of listCatalogs(folder))
      this.openDatabase(projectId).exec(`drop table if exists ${MOVE_PROGRESS}`);
    control.exec(`drop table ${MOVE_PROGRESS}`);
  }

  async close(): Promise<void> {
    this.catalog?.database.close();
    this.control.close();
  }

  private openDatabase(projectId: number): DatabaseSync {
    if (projectId === SERVICE) return this.control;
    if (this.catalog?.projectId !== projectId) {
      this.catalog?.database.close();
      const owner = { projectId, installation: this.installation };
      const { database } = new CatalogFile(catalogPath(this.folder, projectId), owner);
      spreadRuns(database);
      showCatalogRow(database);
      this.catalog = { projectId, database };
    }
    return this.catalog.database;
  }
}

/**
 * Converts runs of members into single rows, as PostgreSQL has them. A list without runs is valid and gets new runs.
 */
function spreadRuns(file: DatabaseSync): void {
  if (file.prepare('select 1 from relation_run limit 1').get() === undefined) return;
  file.exec(`begin immediate;
    create temp table spread as select * from relation_entry where run is not null;
    delete from relation_member where run is not null;
    delete from relation_run;
    delete from relation_dropped_run;
    delete from relation_list;
    insert into relation_member (${MEMBER_COLUMNS}) select ${MEMBER_COLUMNS} from spread;
    drop table spread;
    commit`);
}

const MEMBER_COLUMNS =
  'build_id, side, match_key, rank, product_id, document_id, group_identifier, c1, c2, c3, c4, c5, c6, c7, c8';

function sessionOf(database: DatabaseSync): MoveTransaction {
  return {
    rows: async <Row>(sql: string, values?: readonly SqlValue[]) =>
      database.prepare(sql).all(named(values)) as Row[],
    run: async (sql, values) => Number(database.prepare(sql).run(named(values)).changes),
    async insert({ table }: Unit, rows: readonly MovedRow[]) {
      const placeholders = table.columns.map(() => '?').join(', ');
      const statement = database.prepare(
        `insert into ${quoted(table.name)} (${listed(table.columns)}) values (${placeholders})`,
      );
      const toStored = (value: MovedRow[number], index: number) =>
        table.columns[index]?.isBlob && typeof value === 'string' ? Buffer.from(value) : value;
      for (const row of rows) statement.run(...row.map(toStored));
    },
  };
}

const named = (values: readonly SqlValue[] = []) =>
  Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value as SQLInputValue]));
