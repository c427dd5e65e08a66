/**
 * The door of SQLite: how a file is opened, the control database and the catalog files.
 */
export { CatalogFile, type CatalogFiles, createCatalogFiles } from './catalog-files.ts';
export { CONTROL_PRAGMAS, openControlDatabase } from './control-database.ts';
export { createMarkMoves, DamageMarks, listMarked, type MarkMoves } from './damage-marks.ts';
export { checkSqliteFile, type FileCheck, findDamage } from './file-check.ts';
export { openSqlite } from './open-sqlite.ts';
