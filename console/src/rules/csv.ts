import type { Language } from '../languages/text.ts';

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

const SEPARATORS: Readonly<Record<Language, string>> = { en: ',', de: ';' };

/** Where a comma is the decimal sign, spreadsheets split a line at semicolons. */
export const separatorOf = (language: Language): string => SEPARATORS[language];

export const toCsvLine = (values: readonly unknown[], separator: string): string =>
  `${values.map(toCsvCell).join(separator)}\r\n`;
