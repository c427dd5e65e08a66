/** Checks that only listed places parse JSON: `node server/house/check-json-parses.ts [FOLDER]`, part of `npm run house`. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { PLACES } from './json-parses.ts';
import { reportBreaches } from './report-breaches.ts';
import { visitNodes } from './visit-nodes.ts';

/** @returns the lines in which a file parses JSON, or uses the parser under another name */
function listParses(file: string): number[] {
  const lines: number[] = [];
  visitNodes(file, (node, line) => {
    if (isParse(node)) lines.push(line);
  });
  return lines;
}

/** `JSON` in any use except `JSON.stringify(…)`, and the body of an answer that `fetch` parses. */
function isParse(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return node.expression.name.text === 'json' && node.arguments.length === 0;
  if (!ts.isIdentifier(node) || node.text !== 'JSON') return false;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node || parent.name.text !== 'stringify';
  // The name of a type or a member does not count as the parser.
  return !ts.isTypeNode(parent) && !(ts.isPropertyAssignment(parent) && parent.name === node);
}

/** @returns the breaches of the rule, a line each */
function listBreaches(folder: string): string[] {
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));
  const present = new Set(files);
  const excess = files.flatMap((file) => {
    const lines = listParses(join(folder, file));
    const most = PLACES.get(file) ?? 0;
    if (lines.length === most) return [];
    return [
      `${file} parses JSON in ${lines.length} places (lines ${lines.join(', ')}), and server/house/json-parses.ts lists ${most}`,
    ];
  });
  const missing = [...PLACES.keys()].filter((file) => !present.has(file));
  return [
    ...excess,
    ...missing.map((file) => `${file} is listed in server/house/json-parses.ts and is not there`),
  ];
}

const [folder = fileURLToPath(new URL('../src', import.meta.url))] = process.argv.slice(2);
reportBreaches('no-json-parse-on-the-serving-thread', listBreaches(folder));
