/** Checks that functions fit on a screen: `node server/house/check-function-lengths.ts [FOLDER]`, part of `npm run house`. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { LONG_FUNCTIONS } from './long-functions.ts';
import { reportBreaches } from './report-breaches.ts';
import { visitNodes } from './visit-nodes.ts';

/** A function with more lines needs a reason in the list. */
const LINES = 60;
/** No function may have more lines. */
const MOST_LINES = 100;
/** The most functions that the list may contain. */
const MOST_LISTED = 15;

const SOURCES = ['{server,client,console}/src/**/*.{ts,tsx}', '{package,site}/**/*.ts'];
/** Excluded: tests, and generated files. */
const LEFT_OUT = /\.test\.tsx?$|^client\/src\/(?:wire|choices)\.ts$|(?:^|\/)(?:dist|node_modules)\//;

interface Found {
  /** The file and the name of a function, in the form of the list. */
  readonly function: string;
  readonly lines: number;
}

function listFunctions(root: string, file: string): Found[] {
  const functions: Found[] = [];
  visitNodes(join(root, file), (node, first) => {
    if (!isFunction(node)) return;
    const last = node.getSourceFile().getLineAndCharacterOfPosition(node.end).line + 1;
    functions.push({ function: `${file} ${nameOf(node)}`, lines: last - first + 1 });
  });
  return functions;
}

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;

/** The name of a function, or of the variable or member that it is assigned to. */
function nameOf(node: ts.Node): string {
  const { name } = node as { name?: ts.Node };
  if (name !== undefined) return name.getText();
  const { parent } = node;
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  // A function that another function returns, or that is an argument of a call.
  return ts.isSourceFile(parent) ? 'anonymous' : nameOf(parent);
}

/** @returns the breaches of the rule, a line each */
function listBreaches(root: string): string[] {
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: root })).filter(
    (file) => !LEFT_OUT.test(file),
  );
  const functions = files.sort().flatMap((file) => listFunctions(root, file));
  const long = functions.filter(({ lines }) => lines > LINES);
  const named = new Set(long.map(({ function: name }) => name));
  const breaches = long.flatMap(({ function: name, lines }) => {
    if (lines > MOST_LINES) return `${name} has ${lines} lines, more than ${MOST_LINES}`;
    if (LONG_FUNCTIONS.has(name)) return [];
    return `${name} has ${lines} lines; shorten it to ${LINES}, or give a reason in server/house/long-functions.ts`;
  });
  const ended = [...LONG_FUNCTIONS.keys()].filter((name) => !named.has(name));
  const isListLong = LONG_FUNCTIONS.size > MOST_LISTED;
  return [
    ...breaches,
    ...ended.map((name) => `${name} is listed in server/house/long-functions.ts and is not that long`),
    ...(isListLong ? [`server/house/long-functions.ts names more than ${MOST_LISTED} functions`] : []),
  ];
}

const [root = fileURLToPath(new URL('../..', import.meta.url))] = process.argv.slice(2);
reportBreaches('functions-fit-on-a-screen', listBreaches(root));
