import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { dataFolderAt } from '../folder/folder.ts';
import { hasNewest } from '../migrations/migrations.ts';
import { renderFor, type Sql } from '../programs/programs.ts';
import { CatalogFile } from './catalog-file.ts';
import { findOtherOwnerOf, readInstallation } from './catalog-owner.ts';
import { createMarkMoves, type MarkMoves, openDamageMarks } from './file-check.ts';
import { KEEP_LOG, onceByText } from './open-sqlite.ts';
import { shareOfFile } from './page-cache.ts';

/** Whether another service writes the files; this may change while the service runs. */
export type Follows = Int32Array<SharedArrayBuffer>;

export const createFollows = (isFollowing = false): Follows =>
  new Int32Array(new SharedArrayBuffer(4)).fill(Number(isFollowing));

/** The limit of open files per thread: enough for a busy installation, and few enough for memory and file handles. */
const OPEN_CATALOGS = 64;

/** How the catalog files of a thread are opened. */
interface CatalogFilesOptions {
  readonly markMoves?: MarkMoves;
  /** Another thread copies the logs and then writes them back. */
  readonly keepsLog?: boolean;
  /** Not 0 if this service writes nothing here. */
  readonly follows?: Follows;
}

/** The catalog files of one thread. When too many are open, the least recently used one is closed. */
export class CatalogFiles {
  private readonly folder: string;
  private readonly keepsLog: boolean;
  private readonly follows: Follows;
  private readonly marks: ReturnType<typeof openDamageMarks>;
  private readonly files = new BoundedMap<number, CatalogFile>({
    most: OPEN_CATALOGS,
    onEvict: ({ database }) => database.close(),
  });
  private control: ReturnType<typeof openControlReader>;

  constructor(
    folder: string,
    { markMoves = createMarkMoves(), keepsLog = false, follows = createFollows() }: CatalogFilesOptions = {},
  ) {
    this.folder = folder;
    this.keepsLog = keepsLog;
    this.follows = follows;
    this.marks = openDamageMarks(folder, markMoves);
    this.control = openControlReader(folder);
  }

  pathOf(projectId: number): string {
    return join(this.folder, `${projectId}.db`);
  }

  /** @throws storage_full, storage_failed, catalog_damaged, catalog_foreign */
  open(projectId: number): CatalogFile {
    const { files } = this;
    this.marks.refuse(projectId);
    if (files.peek(projectId)?.isReadOnly) this.close(projectId);
    const openFile = files.peek(projectId);
    const file = openFile ?? this.openNew(projectId);
    // Set at each use, so that the map closes the least recently used file.
    files.set(projectId, file);
    if (openFile === undefined) this.sharePages();
    return file;
  }

  private openNew(projectId: number): CatalogFile {
    const isFollowing = Atomics.load(this.follows, 0) === 1;
    const ownPath = this.pathOf(projectId);
    const path = isFollowing && !isReady(ownPath) ? ':memory:' : ownPath;
    const { control } = this;
    const installation = control.findInstallation();
    const file = new CatalogFile(path, { readControl: control.readFor(projectId), projectId, installation });
    // An empty database in memory counts as read-only, so that the next use opens the file if it exists by then.
    file.isReadOnly = path === ':memory:';
    if (this.keepsLog) file.database.exec(KEEP_LOG);
    return file;
  }

  close(projectId: number): void {
    this.files.peek(projectId)?.database.close();
    this.files.delete(projectId);
    this.sharePages();
  }

  closeAll(): void {
    for (const projectId of [...this.files.keys()]) this.close(projectId);
    this.control.close();
    this.control = openControlReader(this.folder);
  }

  /** Limits the page cache of each file. Statements run only when the share moves to another step. */
  private sharePages(): void {
    const kib = shareOfFile(this.files.size);
    for (const projectId of this.files.keys()) this.files.peek(projectId)?.pages.limit(kib);
  }

  /** Keeps a file of another owner, because it contains no products of the removed project. */
  remove(projectId: number): void {
    this.close(projectId);
    const path = this.pathOf(projectId);
    const installation = this.control.findInstallation();
    const owner = installation === undefined ? undefined : { installation, projectId };
    if (owner !== undefined && findOtherOwnerOf(path, owner) !== undefined) return;
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    this.marks.remove(projectId);
  }
}

/**
 * Whether the writing service has created the file; a service that follows may not create it.
 * @throws not_ready until the writer has migrated it to the newest schema
 */
function isReady(path: string): boolean {
  if (!existsSync(path)) return false;
  using file = new DatabaseSync(path, { readOnly: true });
  if (!hasNewest(file, 'catalog')) throw new ServiceError('not_ready');
  return true;
}

/** Reads committed rows of the control database beside the folder of catalogs. It is opened at the first read. */
function openControlReader(folder: string) {
  const path = dataFolderAt(dirname(folder)).control;
  let database: DatabaseSync | undefined;
  let installation: string | undefined;
  const open = () => {
    database ??= new DatabaseSync(path, { readOnly: true });
    return database;
  };
  const prepare = onceByText((text) => open().prepare(text));
  return {
    /** @returns undefined without a control database, or on a standby whose writer has not recorded it yet */
    findInstallation(): string | undefined {
      if (installation === undefined && existsSync(path)) installation = readInstallation(open());
      return installation;
    },
    readFor: (projectId: number) => (statement: Sql) => {
      // Catalogs can be opened without a control database.
      if (database === undefined && !existsSync(path)) return [];
      const { text, values } = renderFor('sqlite', statement, projectId);
      return prepare(text).all(...(values as SQLInputValue[]));
    },
    close: () => database?.close(),
  };
}
