import { SERVICE } from '../storage/programs/programs.ts';
import { MOVE_PROGRESS, MOVE_ROW } from '../storage/storage.ts';
import {
  type Counters,
  CREATE_PROGRESS,
  type FoundMove,
  type MoveDriver,
  type MovedPayload,
  type MoveTransaction,
  type Progress,
  type Unit,
  type UnitSize,
} from './move-driver.ts';
import {
  listed,
  type MovedRow,
  type MovedTable,
  quoted,
  readKey,
  readValue,
  writeKey,
} from './move-tables.ts';
import { OWNING_ROWS, type OwningRow, ownedPayloads } from './owned-payloads.ts';

/**
 * The size of a page, which is one transaction: small enough for memory, and large enough for few waits for the disk.
 */
const PAGE_BYTES = 4 * 1024 * 1024;
const PAGE_ROWS = 5_000;

/** A page of rows in the order of the key, and the key of its last row, after which the next page begins. */
interface MovedPage {
  readonly rows: readonly MovedRow[];
  readonly end: MovedRow;
}

/** A store as one end of a move. A move reads one end, writes the other, and finally reads both again. */
export class MoveEnd {
  private readonly driver: MoveDriver;
  private readonly tables: readonly MovedTable[];

  constructor(driver: MoveDriver, tables: readonly MovedTable[]) {
    this.driver = driver;
    this.tables = tables;
  }

  /** The name for messages, without a password. */
  get name(): string {
    return this.driver.name;
  }

  /** @returns the identity that distinguishes stores; undefined for an empty store */
  async readIdentity(): Promise<string | undefined> {
    const [account] = await this.driver
      .open(SERVICE)
      .rows<{ id: number; name: string; createdAt: number }>(
        'select id, name, created_at as "createdAt" from account order by id limit 1',
      );
    return account && JSON.stringify([account.id, account.name, account.createdAt]);
  }

  /**
   * @returns every table with rows, of the service and of each catalog, ordered by project so that its file stays open
   */
  async measure(): Promise<UnitSize[]> {
    const { driver, tables } = this;
    const units: UnitSize[] = [];
    for (const projectId of await driver.listProjects())
      for (const table of tables.filter((candidate) => hasTable(driver, projectId, candidate)))
        units.push(...(await measureTable(driver, projectId, table)));
    return units.sort((left, right) => left.projectId - right.projectId);
  }

  /**
   * Reads the lengths of the next rows first, and then only as many rows as fit into a page. Reading all rows and
   * stopping in the middle could need more memory than the process has.
   * @param after the key of the last row of the previous page
   * @returns the next page in the order of the key; undefined at the end
   */
  async read({ table, projectId }: Unit, after: MovedRow | undefined): Promise<MovedPage | undefined> {
    const { driver } = this;
    const key = table.keys[driver.engine];
    // A table without a key has one row per catalog.
    if (after !== undefined && key.length === 0) return undefined;
    const values = [...(hasProjectColumn(driver, table) ? [projectId] : []), ...(after ?? [])];
    const from = fromPlace(driver, table, after !== undefined);
    const session = driver.open(projectId);
    const sizes = await session.rows<{ bytes: number }>(
      `select ${sizeExpression(table)} as bytes ${from} limit ${PAGE_ROWS}`,
      values,
    );
    const selected = await session.rows<Record<string, unknown>>(
      `select ${listed(table.columns)} ${from} limit ${countFitting(sizes)}`,
      values,
    );
    const rows = selected.map((row) => table.columns.map((column) => readValue(row[column.name], column)));
    const last = rows.at(-1);
    return last && { rows, end: key.map((column) => last[table.columns.indexOf(column)] ?? null) };
  }

  /** @returns the payloads that tasks, full updates, runs and channels still need */
  async listPayloads(): Promise<MovedPayload[]> {
    const { driver } = this;
    const present: MovedPayload[] = [];
    for (const owned of ownedPayloads(await driver.open(SERVICE).rows<OwningRow>(OWNING_ROWS))) {
      const bytes = await driver.findPayloadBytes(owned.projectId, owned.name);
      if (bytes !== undefined) present.push({ ...owned, bytes });
    }
    return present;
  }

  readPayload({ projectId, name }: MovedPayload): Promise<Uint8Array> {
    return this.driver.payloads.read(projectId, name);
  }

  async writePayload({ projectId, name }: MovedPayload, bytes: Uint8Array): Promise<void> {
    const { payloads } = this.driver;
    await payloads.remove(projectId, name);
    await payloads.write(projectId, name, bytes);
  }

  /** @returns the identity of the source, and whether only the end of the move is missing */
  findMove(): Promise<FoundMove | undefined> {
    return this.driver.findMove();
  }

  /** Marks the store as the target of a move. No service can use it until `endMove`. */
  beginMove(identity: string): Promise<number> {
    return this.driver.transaction(SERVICE, async (tx) => {
      await tx.run(CREATE_PROGRESS);
      const insert = `insert into ${MOVE_PROGRESS} values ($1, $2, 0, $3, 0)`;
      return tx.run(insert, [SERVICE, MOVE_ROW, identity]);
    });
  }

  findProgress({ table, projectId }: Unit): Promise<Progress | undefined> {
    return this.driver.transaction(projectId, async (tx) => {
      const [row] = await tx.rows<{ rows: number; place: string | null; isDone: number }>(
        `select row_count as rows, place, is_done as "isDone" from ${MOVE_PROGRESS}
         where project_id = $1 and table_name = $2`,
        [projectId, table.name],
      );
      if (row === undefined) return undefined;
      const lastKey = row.place === null ? undefined : readKey(row.place);
      return { rows: row.rows, lastKey, isDone: row.isDone === 1 };
    });
  }

  /** Writes rows and the unit's progress in one transaction. @throws Error if another process has written in between */
  write(unit: Unit, rows: readonly MovedRow[], step: Step): Promise<void> {
    return this.driver.transaction(unit.projectId, async (tx) => {
      await advance(tx, unit, step);
      if (rows.length > 0) await tx.insert(unit, rows);
    });
  }

  readCounters(): Promise<Counters> {
    return this.driver.readCounters();
  }

  writeCounters(counters: Counters): Promise<void> {
    return this.driver.writeCounters(counters);
  }

  /** Is called once all rows are copied, before the comparison. */
  settle(): Promise<void> {
    return this.driver.settle();
  }

  /** Removes all traces of the move. Afterwards the store can be served. */
  endMove(): Promise<void> {
    return this.driver.endMove();
  }

  close(): Promise<void> {
    return this.driver.close();
  }
}

/** A database has the rows of all projects; a catalog file has only those of its project. */
const hasProjectColumn = ({ engine }: MoveDriver, { isOfCatalog }: MovedTable): boolean =>
  isOfCatalog && engine === 'postgres';

const hasTable = ({ engine }: MoveDriver, projectId: number, { isOfCatalog }: MovedTable): boolean =>
  engine === 'postgres' || isOfCatalog === (projectId !== SERVICE);

async function measureTable(driver: MoveDriver, projectId: number, table: MovedTable): Promise<UnitSize[]> {
  const project = hasProjectColumn(driver, table) ? 'project_id' : `cast(${projectId} as bigint)`;
  const sizes = await driver.open(projectId).rows<Omit<UnitSize, 'table'>>(
    `select ${project} as "projectId", count(*) as rows, cast(sum(${sizeExpression(table)}) as bigint) as bytes
     from ${quoted(table.name)} group by 1 order by 1`,
  );
  return sizes.map((size) => ({ table, ...size }));
}

/** Selects a project's rows after a key, in the order of the key, for which every engine has an index. */
function fromPlace(driver: MoveDriver, table: MovedTable, isBehind: boolean): string {
  const key = table.keys[driver.engine];
  const isOfProject = hasProjectColumn(driver, table);
  const placeholders = key.map((_, index) => `$${index + (isOfProject ? 2 : 1)}`);
  const conditions = [
    ...(isOfProject ? ['project_id = $1'] : []),
    ...(isBehind ? [`(${listed(key)}) > (${placeholders.join(', ')})`] : []),
  ];
  return [
    `from ${quoted(table.name)}`,
    ...(conditions.length > 0 ? [`where ${conditions.join(' and ')}`] : []),
    ...(key.length > 0 ? [`order by ${listed(key)}`] : []),
  ].join(' ');
}

export interface Step {
  readonly before: Progress | undefined;
  readonly after: Progress;
}

async function advance(tx: MoveTransaction, { table, projectId }: Unit, { before, after }: Step) {
  const keyText = after.lastKey === undefined ? null : writeKey(after.lastKey);
  const changed = await tx.run(
    `insert into ${MOVE_PROGRESS} as known (project_id, table_name, row_count, place, is_done) values ($1, $2, $3, $4, $5)
     on conflict (project_id, table_name) do update
       set row_count = excluded.row_count, place = excluded.place, is_done = excluded.is_done
       where known.row_count = $6 and known.is_done = 0`,
    [projectId, table.name, after.rows, keyText, after.isDone ? 1 : 0, before?.rows ?? 0],
  );
  if (changed !== 1) throw new Error('Another process is moving a store to the same target');
}

/** Uses octet lengths, which an engine determines without reading the pages of a long value. */
function sizeExpression({ columns }: MovedTable): string {
  return columns
    .map(({ name, kind }) =>
      kind === 'text' || kind === 'bytes' ? `coalesce(octet_length(${quoted(name)}), 0)` : '8',
    )
    .join(' + ');
}

/** @returns how many rows fit into a page, and at least one if there are rows */
function countFitting(sizes: readonly { readonly bytes: number }[]): number {
  let bytes = 0;
  const end = sizes.findIndex((size) => {
    bytes += size.bytes;
    return bytes >= PAGE_BYTES;
  });
  return end < 0 ? sizes.length : end + 1;
}
