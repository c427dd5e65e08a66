/** Some spreadsheets take the wide signs of East Asian keyboards for the narrow ones. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;

/**
 * A cell as every spreadsheet reads it. One that begins like a formula gets an apostrophe, so that product data is
 * never computed.
 */
export function toCsvCell(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value);
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",;\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export function toCsvLine(values: readonly unknown[]): string {
  return `${values.map(toCsvCell).join(',')}\r\n`;
}

/** Offers a file for saving; its content is never opened as a page. */
export function saveFile(name: string, parts: readonly BlobPart[], type = 'text/csv'): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
