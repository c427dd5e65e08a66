/** Where a page is, by its address. */
export interface Place {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const LISTS = [
  ...['', 'products', 'ontology', 'relations', 'suggestions', 'pipelines', 'channels', 'updates', 'events'],
  ...['api-access', 'settings'],
];
const WITH_ONES = ['products', 'relations', 'pipelines', 'channels', 'updates', 'events'];

/** Whether a page shows what a call gives: not where something new is made, or a form is filled. */
export function hasPageCalls({ parts: [first, id, list = '', one, act] }: Place): boolean {
  if (first !== 'projects' || id === undefined || one === 'new' || act !== undefined) return false;
  return (one === undefined ? LISTS : WITH_ONES).includes(list);
}

/** Whether the calls of the page name relations, which have to be read first. */
export const needsRelations = ({ parts: [, , list, one] }: Place): boolean =>
  (list === 'products' || list === 'relations') && one !== undefined;
