/** @returns the list that an address or a browser has; undefined where it was cut short, or written by hand */
export function readList(text: string | null): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(text ?? '');
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
