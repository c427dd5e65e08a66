/**
 * Checks the log lines of the service: `node server/house/check-log-messages.ts [FOLDER]`, part of `npm run house`.
 * A message is a constant text, and the values are fields, so that lines can be searched by both.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { reportBreaches } from './report-breaches.ts';
import { visitNodes } from './visit-nodes.ts';

const LOGGERS: ReadonlySet<string> = new Set(['log', 'logger']);
const LEVELS: ReadonlySet<string> = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
/** Functions that log a text of their caller. The check applies to the calls of these functions instead. */
const FORWARDERS: ReadonlyMap<string, { readonly facts: number; readonly message: number }> = new Map([
  ['logTrouble', { facts: 2, message: 1 }],
]);
/** The field of a thing has the name of the thing, such as `project`, and not `projectId`. */
const ID_FIELD = /^(?!requestId$)\w+Ids?$/;

interface LogCall {
  readonly message: ts.Expression | undefined;
  readonly facts: ts.Expression | undefined;
}

function findLogCall(node: ts.Node): LogCall | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const { expression, arguments: sent } = node;
  const forwarder = ts.isIdentifier(expression) ? FORWARDERS.get(expression.text) : undefined;
  if (forwarder !== undefined) return { message: sent[forwarder.message], facts: sent[forwarder.facts] };
  if (!ts.isPropertyAccessExpression(expression) || !LEVELS.has(expression.name.text)) return undefined;
  if (!LOGGERS.has(lastNameOf(expression.expression))) return undefined;
  return sent.length === 1 ? { message: sent[0], facts: undefined } : { message: sent[1], facts: sent[0] };
}

function lastNameOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : '';
}

/** Finds the declaration of a name in the nearest block around a node, or in its parameters. */
function findDeclaration(name: ts.Identifier): ts.Node | undefined {
  for (let scope: ts.Node | undefined = name.parent; scope !== undefined; scope = scope.parent) {
    const declared = listDeclared(scope).find(
      (declaration) => ts.isIdentifier(declaration.name) && declaration.name.text === name.text,
    );
    if (declared !== undefined) return declared;
  }
  return undefined;
}

function listDeclared(scope: ts.Node): (ts.VariableDeclaration | ts.ParameterDeclaration)[] {
  if (ts.isFunctionLike(scope)) return [...scope.parameters];
  if (!ts.isBlock(scope) && !ts.isSourceFile(scope)) return [];
  const lists = scope.statements.filter(ts.isVariableStatement).map(({ declarationList }) => declarationList);
  return lists
    .filter(({ flags }) => (flags & ts.NodeFlags.Const) !== 0)
    .flatMap(({ declarations }) => [...declarations]);
}

/** @returns the value of an expression, without `as const` and through a `const` of the same file */
function resolve(expression: ts.Expression): ts.Expression | undefined {
  if (ts.isAsExpression(expression) || ts.isParenthesizedExpression(expression))
    return resolve(expression.expression);
  if (!ts.isIdentifier(expression)) return expression;
  const declaration = findDeclaration(expression);
  return declaration !== undefined && ts.isVariableDeclaration(declaration) && declaration.initializer
    ? resolve(declaration.initializer)
    : undefined;
}

function isConstantText(expression: ts.Expression): boolean {
  const value = resolve(expression);
  if (value === undefined) return isForwarded(expression);
  if (ts.isConditionalExpression(value))
    return isConstantText(value.whenTrue) && isConstantText(value.whenFalse);
  if (ts.isPropertyAccessExpression(value) || ts.isElementAccessExpression(value))
    return isConstantTable(value.expression);
  return ts.isStringLiteralLike(value);
}

/** Whether all members of an object are constant texts, or objects of constant texts. */
function isConstantTable(expression: ts.Expression): boolean {
  const table = resolve(expression);
  if (table === undefined) return false;
  if (ts.isPropertyAccessExpression(table) || ts.isElementAccessExpression(table))
    return isConstantTable(table.expression);
  return (
    ts.isObjectLiteralExpression(table) &&
    table.properties.every(
      (member) =>
        ts.isPropertyAssignment(member) &&
        (ts.isStringLiteralLike(member.initializer) || isConstantTable(member.initializer)),
    )
  );
}

/** Whether a message is a parameter of a function whose calls are checked instead. */
function isForwarded(expression: ts.Expression): boolean {
  const declaration = ts.isIdentifier(expression) ? findDeclaration(expression) : undefined;
  const owner = declaration !== undefined && ts.isParameter(declaration) ? declaration.parent : undefined;
  return owner !== undefined && ts.isFunctionDeclaration(owner) && FORWARDERS.has(owner.name?.text ?? '');
}

/** @returns the fields of a log line that are named like the id of a thing */
function listIdFields(facts: ts.Expression | undefined): string[] {
  const value = facts && resolve(facts);
  if (value === undefined || !ts.isObjectLiteralExpression(value)) return [];
  return value.properties.map((field) => field.name?.getText() ?? '').filter((name) => ID_FIELD.test(name));
}

function listFileBreaches(folder: string, file: string): string[] {
  const breaches: string[] = [];
  visitNodes(join(folder, file), (node, line) => {
    const call = findLogCall(node);
    if (call === undefined) return;
    if (call.message === undefined || !isConstantText(call.message))
      breaches.push(`${file}:${line} logs a message that is not a constant text; log its values as fields`);
    for (const field of listIdFields(call.facts))
      breaches.push(`${file}:${line} logs the field ${field}; name it ${field.replace(/Ids?$/, '')}`);
  });
  return breaches;
}

/** @returns the breaches of the rule, a line each */
function listBreaches(folder: string): string[] {
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'));
  return files.sort().flatMap((file) => listFileBreaches(folder, file));
}

const [folder = fileURLToPath(new URL('../src', import.meta.url))] = process.argv.slice(2);
reportBreaches('log-messages-are-constant', listBreaches(folder));
