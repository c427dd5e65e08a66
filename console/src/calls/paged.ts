/** A page of the console, identified by its address. */
export interface Place {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const LISTS = [
  ...['', 'products', 'ontology', 'relations', 'suggestions', 'pipelines', 'channels', 'updates', 'events'],
  ...['api-access', 'settings'],
];
const WITH_ONES = ['products', 'relations', 'pipelines', 'channels', 'updates', 'events'];

/** Whether a page shows the data of a call. A page with only a form, such as a new relation, does not. */
export function hasPageCalls({ parts: [first, id, list = '', itemId, act] }: Place): boolean {
  if (first !== 'projects' || id === undefined || itemId === 'new' || act !== undefined) return false;
  return (itemId === undefined ? LISTS : WITH_ONES).includes(list);
}

/** Whether the page's calls name relations, which have to be read first. */
export const needsRelations = ({ parts: [, , list, itemId] }: Place): boolean =>
  (list === 'products' || list === 'relations') && itemId !== undefined;
