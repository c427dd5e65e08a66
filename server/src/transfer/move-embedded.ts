import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CatalogFile,
  CONTROL_PRAGMAS,
  catalogPath,
  createPayloadFiles,
  type DataFolder,
  findMoveIn,
  hasProgress,
  MOVE_ROW as MOVE,
  MOVE_PROGRESS,
  makeFolders,
  migrate,
  openSqlite,
  SERVICE,
  translateSqliteError,
} from '../storage/storage.ts';
import { readMetaRows, writeMetaRows, writeSequence } from './move-catalog-row.ts';
import type { Counters, MovedPayload, MoveEnd, Progress, Step, Unit, UnitSize } from './move-ends.ts';
import { CATALOG_ROW, type MovedColumn, type MovedTable } from './move-layout.ts';
import {
  type MovedRow,
  PAGE_BYTES,
  PAGE_ROWS,
  type Page,
  readPlace,
  readValue,
  sizeOf,
  writePlace,
} from './move-rows.ts';
import { listOwnedPayloads } from './owned-payloads.ts';

const quoted = (name: string) => `"${name}"`;
const listed = (columns: readonly MovedColumn[]) => columns.map(({ name }) => quoted(name)).join(', ');
const isOfMeta = ({ name }: MovedTable) => name === CATALOG_ROW;

const CREATE_PROGRESS = `create table if not exists ${MOVE_PROGRESS} (
  project_id integer not null, table_name text not null, row_count integer not null, place text, is_done integer not null,
  primary key (project_id, table_name)) without rowid`;

/** A data folder; its files are made and brought to the newest schema as they are opened. */
export class EmbeddedEnd implements MoveEnd {
  readonly name: string;
  private readonly folder: DataFolder;
  private readonly tables: readonly MovedTable[];
  private readonly control: DatabaseSync;
  private catalog: { projectId: number; file: CatalogFile } | undefined;
  private readonly prepared = new Map<DatabaseSync, Map<string, StatementSync>>();

  constructor(folder: DataFolder, tables: readonly MovedTable[]) {
    this.name = folder.root;
    this.folder = folder;
    this.tables = tables;
    for (const path of [folder.root, folder.catalogs, folder.payloads]) makeFolders(path);
    this.control = openSqlite(folder.control, CONTROL_PRAGMAS);
    migrate(this.control, 'control');
  }

  async readIdentity(): Promise<string | undefined> {
    const account = this.control
      .prepare('select id, name, created_at as createdAt from account order by id limit 1')
      .get();
    return account && JSON.stringify([account.id, account.name, account.createdAt]);
  }

  async measure(): Promise<UnitSize[]> {
    const units = this.measureFile(SERVICE);
    for (const projectId of this.listCatalogs()) units.push(...this.measureFile(projectId));
    return units;
  }

  async read(unit: Unit, after: MovedRow | undefined): Promise<Page | undefined> {
    const { table, projectId } = unit;
    if (isOfMeta(table)) return after === undefined ? this.readMeta(unit) : undefined;
    const key = table.keys.embedded;
    const places = key.map(() => '?').join(', ');
    const statement = this.prepare(
      projectId,
      `select ${listed(table.columns)} from ${quoted(table.name)}
       ${after === undefined ? '' : `where (${listed(key)}) > (${places})`} order by ${listed(key)}`,
    );
    const rows: MovedRow[] = [];
    let bytes = 0;
    for (const found of statement.iterate(...((after ?? []) as SQLInputValue[])) as Iterable<unknown>) {
      const row = table.columns.map((column, at) => readValue((found as unknown[])[at] ?? null, column));
      rows.push(row);
      bytes += sizeOf(row);
      if (bytes >= PAGE_BYTES || rows.length >= PAGE_ROWS) break;
    }
    return pageOf(table, rows);
  }

  async readCounters(): Promise<Counters> {
    const rows = this.control.prepare('select name, seq from sqlite_sequence').all();
    return new Map(rows.map(({ name, seq }) => [String(name), Number(seq)]));
  }

  async listPayloads(): Promise<MovedPayload[]> {
    return listOwnedPayloads(this.control).flatMap(({ projectId, name }) => {
      const path = join(this.folder.payloads, name);
      return existsSync(path) ? { projectId, name, bytes: statSync(path).size } : [];
    });
  }

  async readPayload({ projectId, name }: MovedPayload): Promise<Uint8Array> {
    return createPayloadFiles(this.folder.payloads).read(projectId, name);
  }

  async writePayload({ projectId, name }: MovedPayload, bytes: Uint8Array): Promise<void> {
    await createPayloadFiles(this.folder.payloads).write(projectId, name, bytes);
  }

  async findMove() {
    return findMoveIn(this.control);
  }

  async beginMove(identity: string): Promise<void> {
    this.transaction(this.control, () => {
      this.control.exec(CREATE_PROGRESS);
      this.control
        .prepare(`insert into ${MOVE_PROGRESS} values (?, ?, 0, ?, 0)`)
        .run(SERVICE, MOVE, identity);
    });
  }

  async findProgress({ table, projectId }: Unit): Promise<Progress | undefined> {
    if (!hasProgress(this.open(projectId))) return undefined;
    const row = this.open(projectId)
      .prepare(
        `select row_count as rows, place, is_done as isDone from ${MOVE_PROGRESS} where project_id = ? and table_name = ?`,
      )
      .get(projectId, table.name);
    return (
      row && {
        rows: Number(row.rows),
        place: row.place === null ? undefined : readPlace(String(row.place)),
        isDone: row.isDone === 1,
      }
    );
  }

  async write(unit: Unit, rows: readonly MovedRow[], { after }: Step): Promise<void> {
    const { table, projectId } = unit;
    const database = this.open(projectId);
    this.transaction(database, () => {
      database.exec(CREATE_PROGRESS);
      if (isOfMeta(table)) writeMetaRows(database, table, rows);
      else this.insert(unit, rows);
      const place = after.place === undefined ? null : writePlace(after.place);
      database
        .prepare(`insert or replace into ${MOVE_PROGRESS} values (?, ?, ?, ?, ?)`)
        .run(projectId, table.name, after.rows, place, after.isDone ? 1 : 0);
    });
  }

  async writeCounters(counters: Counters): Promise<void> {
    this.transaction(this.control, () => {
      for (const [table, last] of counters) writeSequence(this.control, table, last);
    });
  }

  async settle(): Promise<void> {}

  /** The control database says first that the rest is done, and goes last: whatever ends this in between can go on. */
  async endMove(): Promise<void> {
    this.control.prepare(`update ${MOVE_PROGRESS} set is_done = 1 where table_name = ?`).run(MOVE);
    for (const projectId of this.listCatalogs()) {
      this.open(projectId).exec(`drop table if exists ${MOVE_PROGRESS}`);
    }
    this.control.exec(`drop table ${MOVE_PROGRESS}`);
  }

  async close(): Promise<void> {
    this.closeCatalog();
    this.control.close();
  }

  private listCatalogs(): number[] {
    return readdirSync(this.folder.catalogs)
      .flatMap((name) => /^([1-9]\d*)\.db$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => one - other);
  }

  private measureFile(projectId: number): UnitSize[] {
    const database = this.open(projectId);
    const units: UnitSize[] = [];
    for (const table of this.tables) {
      if (table.isOfCatalog === (projectId === SERVICE)) continue;
      const { rows, bytes } = isOfMeta(table)
        ? this.measureMeta({ table, projectId })
        : (database
            .prepare(
              `select count(*) as rows, coalesce(sum(${sizeExpression(table)}), 0) as bytes from ${quoted(table.name)}`,
            )
            .get() as { rows: number; bytes: number });
      if (rows > 0) units.push({ table, projectId, rows, bytes });
    }
    return units;
  }

  private readMeta({ table, projectId }: Unit): Page | undefined {
    return pageOf(table, readMetaRows(this.open(projectId), table));
  }

  private measureMeta(unit: Unit): { rows: number; bytes: number } {
    const rows = this.readMeta(unit)?.rows ?? [];
    return { rows: rows.length, bytes: rows.reduce((sum, row) => sum + sizeOf(row), 0) };
  }

  private insert({ table, projectId }: Unit, rows: readonly MovedRow[]): void {
    const places = table.columns.map(() => '?').join(', ');
    const statement = this.prepare(
      projectId,
      `insert into ${quoted(table.name)} (${listed(table.columns)}) values (${places})`,
    );
    for (const row of rows) {
      statement.run(
        ...row.map((value, at) => toSqlite(value, table.columns[at]?.isBlob ?? false) as SQLInputValue),
      );
    }
  }

  private open(projectId: number): DatabaseSync {
    if (projectId === SERVICE) return this.control;
    if (this.catalog?.projectId !== projectId) {
      this.closeCatalog();
      this.catalog = { projectId, file: new CatalogFile(catalogPath(this.folder, projectId)) };
    }
    return this.catalog.file.database;
  }

  private closeCatalog(): void {
    if (this.catalog === undefined) return;
    this.prepared.delete(this.catalog.file.database);
    this.catalog.file.database.close();
    this.catalog = undefined;
  }

  /** Prepared once, with rows as arrays. */
  private prepare(projectId: number, sql: string): StatementSync {
    const database = this.open(projectId);
    const known = this.prepared.get(database) ?? new Map<string, StatementSync>();
    this.prepared.set(database, known);
    const statement = known.get(sql) ?? database.prepare(sql);
    statement.setReturnArrays(true);
    known.set(sql, statement);
    return statement;
  }

  private transaction(database: DatabaseSync, work: () => void): void {
    database.exec('begin immediate');
    try {
      work();
      database.exec('commit');
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw translateSqliteError(error);
    }
  }
}

/** Octets are counted without reading the pages that hold a long value. */
function sizeExpression({ columns }: MovedTable): string {
  return columns
    .map(({ name, kind }) =>
      kind === 'text' || kind === 'bytes' ? `coalesce(octet_length(${quoted(name)}), 0)` : '8',
    )
    .join(' + ');
}

function pageOf(table: MovedTable, rows: readonly MovedRow[]): Page | undefined {
  const last = rows.at(-1);
  return (
    last && {
      rows,
      end: table.keys.embedded.map((column) => last[table.columns.indexOf(column)] ?? null),
    }
  );
}

function toSqlite(value: MovedRow[number], isBlob: boolean): MovedRow[number] {
  return isBlob && typeof value === 'string' ? Buffer.from(value) : value;
}
