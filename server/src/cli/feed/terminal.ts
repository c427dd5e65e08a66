import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks questions and writes output on a terminal. */

export const isInteractive = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** @returns the text that a person types */
export async function ask(question: string): Promise<string> {
  using prompt = createInterface({ input: process.stdin, output: process.stderr });
  return (await prompt.question(question)).trim();
}

export const confirm = async (question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await ask(`${question} [y/N] `));

/** Reads a text without echo, or the first line of a pipe. */
export async function askSecret(question: string): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  using prompt = createInterface({ input: process.stdin, output: silent, terminal: process.stdin.isTTY });
  const typed = await prompt.question('');
  if (process.stdin.isTTY) process.stderr.write('\n');
  return typed.trim();
}

/** @param rows rows of equal length, the headings first. @returns the rows as aligned columns */
export function writeTable(rows: readonly (readonly string[])[]): string {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const print = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** @param noun the singular of a noun whose plural ends in -s */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

export const formatCount = (count: number): string => count.toLocaleString('en-US');
