import type { Language } from '../languages/text.ts';

/** Some spreadsheets treat the full-width signs of East Asian keyboards like the usual ones. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;

/**
 * A cell that every spreadsheet can read. One that begins like a formula gets an apostrophe, so that product
 * data is never evaluated.
 */
export function toCsvCell(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value);
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",;\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

const SEPARATORS: Readonly<Record<Language, string>> = { en: ',', de: ';' };

/** Where the decimal separator is a comma, spreadsheets split lines at semicolons. */
export const separatorOf = (language: Language): string => SEPARATORS[language];

export const toCsvLine = (values: readonly unknown[], separator: string): string =>
  `${values.map(toCsvCell).join(separator)}\r\n`;
