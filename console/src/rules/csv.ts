import { type Language, presentLanguage } from '../languages/text.ts';

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

/** Where a comma is the decimal sign, spreadsheets split a line at semicolons. */
const SEPARATORS: Readonly<Record<Language, string>> = { en: ',', de: ';' };

export function toCsvLine(values: readonly unknown[]): string {
  return `${values.map(toCsvCell).join(SEPARATORS[presentLanguage()])}\r\n`;
}

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
