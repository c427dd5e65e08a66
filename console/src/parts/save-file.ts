/** Without a byte order mark, Excel does not read a file as UTF-8. */
const MARK = '\ufeff';

export const saveTable = (name: string, lines: readonly BlobPart[]): void =>
  saveFile(name, [MARK, ...lines], 'text/csv');

/** Offers a file for saving; its content is never opened as a page. */
export function saveFile(name: string, parts: readonly BlobPart[], type: string): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
