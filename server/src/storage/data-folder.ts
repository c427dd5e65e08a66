import { join } from 'node:path';

/** Paths below the data folder. A backup has the same shape. */
export interface DataFolder {
  readonly root: string;
  readonly control: string;
  readonly catalogs: string;
  readonly payloads: string;
}

export function dataFolderAt(root: string): DataFolder {
  return {
    root,
    control: join(root, 'control.db'),
    catalogs: join(root, 'catalogs'),
    payloads: join(root, 'payloads'),
  };
}

export const catalogPath = (folder: Pick<DataFolder, 'catalogs'>, projectId: number): string =>
  join(folder.catalogs, `${projectId}.db`);
