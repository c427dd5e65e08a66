/** A list of products with its filters, columns and order, by a name. */
export interface SavedView {
  readonly name: string;
  /** What stands behind the `?` of its address. */
  readonly query: string;
}

/** More is no help to find one. */
const MOST = 50;

/** @returns what a browser has kept, as far as it can be read */
export const readViews = (text: string | null): readonly SavedView[] => readList(text)?.filter(isView) ?? [];

function isView(one: unknown): one is SavedView {
  if (typeof one !== 'object' || one === null) return false;
  const { name, query } = one as Record<string, unknown>;
  return typeof name === 'string' && typeof query === 'string';
}

/** One of the same name is replaced; the oldest makes room. */
export const withView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] =>
  [...withoutView(views, view.name), view].slice(-MOST);

export const withoutView = (views: readonly SavedView[], name: string): readonly SavedView[] =>
  views.filter((one) => one.name !== name);

/** @returns the views with another name of an attribute: in columns, in the order and in what they are narrowed by */
export const withRenamed = (views: readonly SavedView[], from: string, to: string): readonly SavedView[] =>
  views.map(({ name, query }) => {
    const parts = new URLSearchParams(query);
    const rename = (part: string, change: (text: string) => string) => {
      const text = parts.get(part);
      if (text) parts.set(part, change(text));
    };
    rename('columns', (text) => renameColumns(text, from, to));
    rename('sort', (text) => (text.replace(/:desc$/, '') === from ? text.replace(from, () => to) : text));
    rename('where', (text) =>
      text.replaceAll(`"attribute":${JSON.stringify(from)}`, () => `"attribute":${JSON.stringify(to)}`),
    );
    return { name, query: parts.toString() };
  });

/** @returns columns of an address or a browser with another name of an attribute */
export const renameColumns = (text: string, from: string, to: string): string =>
  text.replaceAll(JSON.stringify(`:${from}`), () => JSON.stringify(`:${to}`));

/** @returns the list that an address or a browser has; undefined where it was cut short, or written by hand */
export function readList(text: string | null): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text ?? '');
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
