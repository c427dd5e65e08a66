/** A named list of products with its filters, columns and order. */
export interface SavedView {
  readonly name: string;
  /** The part of its address after the `?`. */
  readonly query: string;
}

/** In a longer list, a view would be hard to find. */
const MOST = 50;

/** @returns the views that a browser has stored, as far as they can be read */
export const readViews = (text: string | null): readonly SavedView[] => readList(text)?.filter(isView) ?? [];

function isView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null) return false;
  const { name, query } = value as Record<string, unknown>;
  return typeof name === 'string' && typeof query === 'string';
}

/** Replaces a view of the same name. If the list is full, the oldest view is removed. */
export const withView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] =>
  [...withoutView(views, view.name), view].slice(-MOST);

export const withoutView = (views: readonly SavedView[], name: string): readonly SavedView[] =>
  views.filter((view) => view.name !== name);

/** @returns the views with an attribute renamed in columns, order and filters */
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

/** @returns stored columns with an attribute renamed */
export const renameColumns = (text: string, from: string, to: string): string =>
  text.replaceAll(JSON.stringify(`:${from}`), () => JSON.stringify(`:${to}`));

/** @returns the list of an address or a browser; undefined if it was cut short or mistyped */
export function readList(text: string | null): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text ?? '');
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
