/** The door of the folder: the paths of a data folder, who may read them, and how a file is written durably. */

export {
  catalogPath,
  type DataFolder,
  dataFolderAt,
  existingDataFolder,
  listCatalogs,
  lockDataFolder,
  makeDataFolder,
  makeStoreFolders,
  refuseFilled,
} from './data-folder.ts';
export { makeFolders, openNow, syncFolder, syncFolderNow, writeOwnFile } from './durable-files.ts';
export { listExposedPaths, tightenDataFolder } from './file-rights.ts';
export { findLastBackup, recordBackup } from './last-backup.ts';
