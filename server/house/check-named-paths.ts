/**
 * Checks that each repository file that a comment or a page names exists: `node server/house/check-named-paths.ts
 * [FOLDER]`, part of `npm run house`. The name of a file, or the end of its path such as `kernel/clock.ts`, is enough.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reportBreaches } from './report-breaches.ts';

/** A name or path of a repository file in a text. Patterns such as `<type>.ts` and `*-store.ts` do not match. */
const NAMED = /(?<![\w<>*/.@{}$-])((?:[\w.-]+\/)*[\w-][\w.-]*\.(?:ts|tsx|md))(?![\w/*-])/g;
const COMMENT = /\/\*\*?[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g;
/** Excluded: pages about former states, and the test that plants a violation of this rule. */
const LEFT_OUT = /^CHANGELOG\.md$|^bench\/RESULTS\.md$|\/architecture\.test\.ts$/;
/** Names that pages use for any file, for a file that no room has, or for a generated file. */
const NOT_OURS = /(?:^|\/)(?:[xX][.-][\w.-]+|FILE\.ts|index\.ts|THIRD-PARTY-LICENCES\.md)$/;

/** @returns the breaches of the rule, a line each */
function listBreaches(root: string, files: readonly string[]): string[] {
  const byName = Map.groupBy(files, (file) => basename(file));
  const exists = (named: string) => {
    const path = named.replace(/^(?:\.\.?\/)+/, '');
    return (byName.get(basename(path)) ?? []).some((file) => file === path || file.endsWith(`/${path}`));
  };
  return files
    .filter((file) => /\.(?:tsx?|md)$/.test(file) && !LEFT_OUT.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const parts = file.endsWith('.md') ? [text] : (text.match(COMMENT) ?? []);
      const named = parts.flatMap((part) => [...part.matchAll(NAMED)].map(([, name = '']) => name));
      return [...new Set(named)]
        .filter((name) => !NOT_OURS.test(name) && !exists(name))
        .map((name) => `${file} names ${name}, which does not exist`);
    });
}

const [root = fileURLToPath(new URL('../..', import.meta.url))] = process.argv.slice(2);
const files = globSync(
  ['*.md', '{bench,client,clients,console,deploy,docs,examples,package,server,site}/**/*.{ts,tsx,md}'],
  { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] },
);
reportBreaches('named-files-exist', listBreaches(root, files));
