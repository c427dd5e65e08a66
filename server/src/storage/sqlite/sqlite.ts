/** The door of SQLite: how a file is opened, the control database and the catalog files. */

export { CatalogFile, programSessionOf } from './catalog-file.ts';
export { CatalogFiles, createFollows, type Follows } from './catalog-files.ts';
export {
  type CatalogOwner,
  type ForeignCatalog,
  findInstallation,
  findOtherOwner,
  findOtherOwnerOf,
  listForeignCatalogs,
  OWNER_ENTRIES,
  readInstallation,
  recordOwner,
  refuseStrayCatalogs,
} from './catalog-owner.ts';
export { CONTROL_PRAGMAS, openControlDatabase } from './control-database.ts';
export {
  checkSqliteFile,
  createMarkMoves,
  findDamage,
  listMarked,
  type MarkMoves,
  openDamageMarks,
} from './file-check.ts';
export { findForeignSchema, findForeignSchemaIn } from './foreign-schema.ts';
export { openSqlite } from './open-sqlite.ts';
export {
  closeUnused,
  copyFrames,
  findWalEnd,
  openOnce,
  WalAppender,
  type WalEnd,
  WalReader,
} from './wal-frames.ts';
