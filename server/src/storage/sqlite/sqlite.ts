/**
 * The door of SQLite: how a file is opened, the control database and the catalog files.
 */
export { CatalogFile, type CatalogFiles, createCatalogFiles } from './catalog-files.ts';
export { CONTROL_PRAGMAS, openControlDatabase } from './control-database.ts';
export {
  checkSqliteFile,
  createMarkMoves,
  DamageMarks,
  findDamage,
  listMarked,
  type MarkMoves,
} from './file-check.ts';
export { openSqlite } from './open-sqlite.ts';
export {
  closeUnused,
  copyFrames,
  findWalEnd,
  openKept,
  WalAppender,
  type WalEnd,
  WalReader,
} from './wal-frames.ts';
