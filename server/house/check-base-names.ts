/** Checks that no two files share a base name: `node server/house/check-base-names.ts [FOLDER]`, part of `npm run house`. */
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reportBreaches } from './report-breaches.ts';

/** The doors of the rooms of an engine. They are named after the engine. */
const ENGINE_DOORS: ReadonlySet<string> = new Set(['sqlite.ts', 'postgres.ts']);

/** Twins of the two engines count as one file: `store/sqlite/x.ts` and `store/postgres/x.ts`. */
const toPlace = (file: string) => file.replace(/(^|\/)(?:sqlite|postgres)\//, '$1ENGINE/');

/** @returns the breaches of the rule, a line each */
function listBreaches(folder: string): string[] {
  const files = globSync('**/*.ts', { cwd: folder }).sort();
  const byName = Map.groupBy(files, (file) => basename(file));
  return [...byName].flatMap(([name, sharing]) => {
    const isUnique = new Set(sharing.map(toPlace)).size === 1;
    return isUnique || ENGINE_DOORS.has(name) ? [] : `${sharing.join(' and ')} share a name`;
  });
}

const [folder = fileURLToPath(new URL('../src', import.meta.url))] = process.argv.slice(2);
reportBreaches('base-names-are-unique', listBreaches(folder));
