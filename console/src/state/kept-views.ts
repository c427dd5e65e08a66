import { readViews, renameColumns, withRenamed } from '../rules/saved-views.ts';

/** Where a browser keeps the views and the columns of a project. */
export const viewsOf = (projectId: number) => `relata-views-${projectId}`;
export const columnsOf = (projectId: number) => `relata-columns-${projectId}`;

/** Views and columns that this browser keeps of a project follow the new name of an attribute. */
export function renameInBrowser(projectId: number, from: string, to: string): void {
  const views = readViews(localStorage.getItem(viewsOf(projectId)));
  localStorage.setItem(viewsOf(projectId), JSON.stringify(withRenamed(views, from, to)));
  const columns = localStorage.getItem(columnsOf(projectId));
  if (columns) localStorage.setItem(columnsOf(projectId), renameColumns(columns, from, to));
}
