import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A statement that a program sent, with the loops of its plan that are refused. PostgreSQL makes a plan only on
 * request.
 */
export type SeenStatement =
  | { readonly engine: 'sqlite'; readonly sql: string; readonly refused: readonly string[] }
  | { readonly engine: 'postgres'; readonly sql: string };

const WATCH = fileURLToPath(new URL('./watch-statements.ts', import.meta.url));

/** The environment of a program whose statements are written to a folder, with those of the programs that it starts. */
export const watching = (folder: string): Readonly<Record<string, string>> => ({
  STATEMENTS_FOLDER: folder,
  NODE_OPTIONS: `--import=${WATCH}`,
});

/** @returns each statement once */
export async function readSeen(folder: string): Promise<SeenStatement[]> {
  const seen = new Map<string, SeenStatement>();
  for (const name of await readdir(folder)) {
    const lines = (await readFile(join(folder, name), 'utf8')).split('\n').slice(0, -1);
    for (const line of lines) {
      const statement = JSON.parse(line) as SeenStatement;
      seen.set(`${statement.engine} ${statement.sql}`, statement);
    }
  }
  return [...seen.values()];
}
